// SPDX-License-Identifier: Apache-2.0
// csp gives the same bits for any number of threads, any executor, any instruction set and any
// split of the batch. Its workspace may be at any address and have any contents. Also tests long
// groups.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace support;

TEST_CASE_TEMPLATE("same bits for any number of threads", T, float, float16) {
  std::vector<index_t> const lengths{90, 0, 5, 89, 64};
  for (index_t group : {1, 2, 7, 90})
    for (index_t reference : {no_reference, index_t{36}}) {
      auto const p = make_mixed_csp<T>({5, 90, 37}, group, reference, 1);
      auto const with_lengths = make_mixed_csp<T>({5, 90, 37}, group, reference, 2, lengths);
      for (ss::isa set : portable_and_best_isa())
        for (unsigned threads : {1u, 2u, 5u, 33u}) {
          CHECK(check_csp(p, ss::exec::host{threads, set}) == "");
          CHECK(check_csp(with_lengths, ss::exec::host{threads, set}) == "");
        }
    }
}

TEST_CASE("a user-defined executor, with its threads in any order") {
  for (index_t reference : {no_reference, index_t{3}}) {
    auto const p = make_mixed_csp<float>({3, 70, 65}, 5, reference, 2);
    for (auto schedule : {test_executor::schedule::forwards, test_executor::schedule::backwards,
                          test_executor::schedule::scattered, test_executor::schedule::threads})
      for (unsigned threads : {1u, 2u, 3u, 16u}) {
        test_executor executor{schedule};
        CHECK(check_csp(p, any_exec(executor, threads)) == "");
      }
  }
}

TEST_CASE_TEMPLATE("a split of the batch changes nothing", T, float, double) {
  index_t const n = 45, c = 13;
  std::vector<index_t> const lengths = {45, 7, 0, 44, 45, 30};
  for (index_t group : {2, 8})
    for (index_t reference : {no_reference, index_t{0}}) {
      auto const p = make_mixed_csp<T>({6, n, c}, group, reference, 12, lengths);
      for (index_t chunk : {1, 2, 5})
        for_each_backend_once(static_cast<std::uint64_t>(chunk), [&](any_exec const& exec) {
          tensor<T> y(p.extents()), dx(p.extents());
          for (index_t first = 0; first < 6; first += chunk) {
            extents3 const e{std::min(chunk, 6 - first), n, c};
            auto const slice_of = [&](auto& t) {
              auto const view = t.view();
              return tensor3<typename decltype(view)::element_type>(view.data() + first * n * c, e);
            };
            csp_runner(p)(exec, slice_of(p.x), slice_of(y), slice_of(p.dy), slice_of(dx),
                          ss::tensor1<index_t const>(lengths.data() + first, e.batch));
          }
          CHECK(difference("y", y, p.y) == "");
          CHECK(difference("dx", dx, p.dx) == "");
        });
    }
}

TEST_CASE("every tuning of the kernels" * doctest::skip(!testing(backend_kind::blocks))) {
  std::uint64_t seed = 0;
  for (index_t n : {1, 31, 64, 129, 700})
    for (any_exec const exec : block_execs()) {
      index_t const groups[] = {2, 5, 33, n, 1};
      ++seed;
      auto const lengths = std::vector<index_t>{n, n / 2};
      CHECK(check_csp(
                make_mixed_csp<float>({2, n, 11}, groups[seed % 5], no_reference, seed, lengths),
                exec) == "");
      CHECK(check_csp(make_mixed_csp<float>({2, n, 11}, groups[(seed + 2) % 5], 3, seed, lengths),
                      exec) == "");
    }
}

TEST_CASE_TEMPLATE("the workspace may be at any address and have any contents", T, float, float16) {
  for (index_t group : {1, 2, 3, 64, 300})
    for (index_t reference : {no_reference, index_t{1}}) {
      auto const p = make_mixed_csp<T>({2, 300, 33}, group, reference, 3);
      with_csp(p, [&](auto const& op) {
        auto const check_every_offset = [&](any_exec const& exec, std::size_t step) {
          std::size_t const bytes = op.template workspace_bytes<T>(exec, p.extents());
          for (std::size_t offset = 0; offset < 64; offset += step)
            for (unsigned char fill : std::vector<unsigned char>{0x00, 0xff, 0x7f}) {
              auto y = garbage_tensor<T>(p.extents()), dx = y;
              guarded_order_buffer order(op.saved_extents(p.extents()),
                                         op.saved_width(p.extents()));
              guarded_workspace scratch(bytes, offset, fill);
              op.forward(exec, p.x.view(), y.view(), {order.view()}, scratch.get());
              op.backward(exec, p.dy.view(), {order.view()}, dx.view(), scratch.get());
              CAPTURE(p.describe());
              CAPTURE(offset);
              CAPTURE(describe_exec(exec));
              CHECK((same_bits(y.elements(), p.y.elements()) &&
                     same_bits(dx.elements(), p.dx.elements()) && scratch.red_zones_intact()));
            }
        };
        if (testing(backend_kind::host))
          for (ss::isa set : available_isas())
            check_every_offset(ss::exec::host{2, set}, full_suite() ? 1 : 9);
        for_each_grid(static_cast<std::uint64_t>(group),
                      [&](any_exec const& exec) { check_every_offset(exec, 61); });
      });
    }
}

TEST_CASE("the workspace grows with the threads, and empty tensors need none") {
  for (index_t group : {1, 2, 9, 1000}) {
    ss::csp<> const op{ss::group_size{group}};
    extents3 const e{4, 1000, 100};
    CHECK(op.workspace_bytes<float>(ss::exec::host{2}, e) >=
          op.workspace_bytes<float>(ss::exec::host{1}, e));
    for (extents3 empty : {extents3{0, 10, 4}, extents3{3, 0, 4}, extents3{3, 10, 0}})
      CHECK(op.workspace_bytes<float>(ss::exec::host{2}, empty) == 0);
  }
}

// Starts no threads, so ThreadSanitizer checks nothing.
TEST_CASE_TEMPLATE("long groups, saved in 16 bits" * doctest::skip(SLICESORT_TEST_TSAN), T, float,
                   double, float16, bfloat16) {
  std::uint64_t seed = 3;
  for (index_t group : {257, 1000, 4096, 4097})
    for (index_t reference : {no_reference, index_t{1}}) {
      ++seed;
      if (!full_suite() && (seed + sizeof(T)) % 3 == 0) continue;
      CHECK(check_everywhere(
                make_mixed_csp<T>({2, 5000, 3}, group, reference, seed, {5000, 4093})) == "");
    }
}

// The host uses radix sort. Orders of groups of 65537 rows or more are saved in 32 bits.
TEST_CASE_TEMPLATE("a group of more than 65536 rows", T, float, bfloat16) {
  for (index_t n : {index_t{65536}, index_t{65541}})
    for (index_t reference : {no_reference, index_t{1}}) {
      if (!full_suite() && n == 65536 && reference == no_reference) continue;
      if (SLICESORT_TEST_TSAN && (n == 65536 || reference == no_reference)) continue;
      auto const seed = static_cast<std::uint64_t>(n + reference);
      auto const p = make_mixed_csp<T>({1, n, 2}, n, reference, seed);
      if (testing(backend_kind::host)) CHECK(check_csp(p, ss::exec::host{2}) == "");
      if (full_suite())
        for_each_grid(seed, [&](any_exec const& exec) { CHECK(check_csp(p, exec) == ""); });
    }
  if (SLICESORT_TEST_TSAN) return;  // the rest starts no threads
  auto const short_last_group = make_mixed_csp<T>({2, 131080, 1}, 65540, 0, 5, {131079, 65539});
  if (testing(backend_kind::host)) CHECK(check_csp(short_last_group, ss::exec::host{1}) == "");
}
