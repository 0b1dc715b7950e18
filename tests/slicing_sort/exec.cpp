// SPDX-License-Identifier: Apache-2.0
// slicing_sort returns the same bits for any number of threads, any executor, any instruction set,
// any tuning of the kernels and any split of the batch. Its workspace may be at any address and
// have any contents.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"
#include "support/executors.hpp"

#include <doctest/doctest.h>

using namespace support;

TEST_CASE_TEMPLATE("same bits for any number of threads", T, float, float16) {
  auto const p = make_mixed_problem<T>({5, 90, 37}, all_kinds, 1, irregular);
  auto const with_lengths =
      make_mixed_problem<T>({5, 90, 37}, all_kinds, 1, irregular, {90, 0, 5, 89, 64});
  for (ss::isa set : portable_and_best_isa())
    for (unsigned threads : {1u, 2u, 3u, 8u, 33u})
      for (auto const* problem : {&p, &with_lengths}) {
        ss::exec::host const exec{threads, set};
        CHECK(check_saved<T, std::uint16_t>(*problem, exec, pattern_order{problem->order}) == "");
        CHECK(check_not_saved(*problem, exec, pattern_order{problem->order}) == "");
      }
}

TEST_CASE("any number of threads that share few long columns, also above the radix threshold") {
  auto const networks = make_mixed_problem<float>({1, 16397, 7}, all_kinds, 1, irregular),
             radix = make_mixed_problem<float>({2, 65541, 3}, all_kinds, 1, irregular);
  for (unsigned threads : {2u, 5u}) {
    any_exec const exec(ss::exec::host{threads});
    CHECK(check_saved<float, std::uint16_t>(networks, exec, pattern_order{irregular}) == "");
    CHECK(check_saved<float, std::uint32_t>(radix, exec, pattern_order{irregular}) == "");
  }
}

TEST_CASE("a user-defined executor, with its threads in any order") {
  auto const p = make_mixed_problem<float>({3, 70, 65}, all_kinds, 2, irregular);
  for (auto schedule : {test_executor::schedule::forwards, test_executor::schedule::backwards,
                        test_executor::schedule::scattered, test_executor::schedule::threads})
    for (unsigned parts : {1u, 2u, 3u, 16u}) {
      test_executor executor{schedule};
      any_exec const exec(executor, parts);
      CHECK(check_saved<float, std::uint32_t>(p, exec, pattern_order{p.order}) == "");
    }
}

TEST_CASE("an executor's own concurrency is the default number of parts") {
  executor_of_four four;
  test_executor unknown;
  CHECK(ss::exec::host_on<executor_of_four>(four).threads == 4);
  CHECK(ss::exec::host_on<test_executor>(unknown).threads ==
        std::max(1u, std::thread::hardware_concurrency()));
}

TEST_CASE("every thread of exec::host runs once") {
  for (unsigned threads : {0u, 1u, 2u, 9u}) {
    std::vector<int> runs(threads);
    ss::exec::host{}.parallel_for(threads, [&](unsigned thread) { ++runs[thread]; });
    CHECK(runs == std::vector<int>(threads, 1));
  }
}

TEST_CASE_TEMPLATE("a split of the batch changes nothing", T, float, double) {
  index_t const n = 45, c = 13;
  std::vector<index_t> const lengths = {45, 7, 0, 44, 45, 30};
  auto const p = make_mixed_problem<T>({6, n, c}, all_kinds, 12, zigzag, lengths);
  ss::slicing_sort<pattern_order> const op(pattern_order{zigzag});
  auto const check_split = [&](any_exec const& exec, index_t samples) {
    tensor<T> y(p.x.extents()), dx(p.x.extents());
    tensor<std::uint16_t> perm(p.x.extents());
    for (index_t first = 0; first < 6; first += samples) {
      extents3 const e{std::min(samples, 6 - first), n, c};
      auto const slice = [&](auto& t) {
        auto const view = t.view();
        return tensor3<typename decltype(view)::element_type>(view.data() + first * n * c, e);
      };
      ss::tensor1<index_t const> const slice_lengths(lengths.data() + first, e.batch);
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, e));
      op.forward(exec, slice(p.x), slice(y), {slice(perm)}, scratch.get(), {slice_lengths});
      op.backward(exec, slice(p.dy), {slice(perm)}, slice(dx), scratch.get(),
                  {ss::grad_mode::overwrite, slice_lengths});
    }
    CHECK(difference("y", y, p.y) == "");
    CHECK(difference("perm", perm, p.perm) == "");
    CHECK(difference("dx", dx, p.dx) == "");
  };
  for (index_t samples : {1, 2, 3, 5})
    for_each_backend_once(static_cast<std::uint64_t>(samples),
                          [&](any_exec const& exec) { check_split(exec, samples); });
}

TEST_CASE("every tuning of the kernels" * doctest::skip(!testing(backend_kind::blocks))) {
  for (index_t n : {1, 31, 33, 64, 129, 1000}) {
    auto const p = make_mixed_problem<float>({2, n, 19}, all_kinds, 4, irregular, {n, n / 2});
    for (any_exec const exec : block_execs()) {
      CHECK(check_saved<float, std::uint16_t>(p, exec, pattern_order{p.order}) == "");
      CHECK(check_not_saved(p, exec, pattern_order{p.order}) == "");
    }
  }
}

TEST_CASE_TEMPLATE("the workspace may be at any address and have any contents", T, float, float16) {
  // Lengths with and without scratch memory.
  for (index_t n : {2, 65, 300, 65540}) {
    extents3 const e{1, n, n > 1000 ? 1 : 33};
    auto const p = make_mixed_problem<T>(e, all_kinds, 3, irregular);
    ss::slicing_sort<pattern_order> const op(pattern_order{irregular});
    auto const check_workspaces = [&](any_exec const& exec, std::size_t offset_step) {
      std::size_t const bytes = op.template workspace_bytes<T>(exec, e);
      for (std::size_t offset = 0; offset < 64; offset += offset_step)
        for (unsigned char fill : std::vector<unsigned char>{0x00, 0xff, 0x7f}) {
          tensor<T> y(e), dx(e);
          tensor<std::uint32_t> perm(e);
          guarded_workspace scratch(bytes, offset, fill);
          op.forward(exec, p.x.view(), y.view(), {perm.view()}, scratch.get());
          op.backward(exec, p.dy.view(), {perm.view()}, dx.view(), scratch.get());
          bool const correct = same_bits(y.elements(), p.y.elements()) &&
                               same_bits(perm.elements(), p.perm.elements()) &&
                               same_bits(dx.elements(), p.dx.elements());
          CAPTURE(n);
          CAPTURE(offset);
          CAPTURE(describe_exec(exec));
          CHECK((correct && scratch.red_zones_intact()));
        }
    };
    if (testing(backend_kind::host))
      for (ss::isa set : available_isas())
        check_workspaces(ss::exec::host{2, set}, n > 1000 ? 21u : 1u);
    for (std::uint64_t i = 0; i < 4 && (n < 1000 || full_suite()); ++i)
      for_each_grid(i, [&](any_exec const& exec) { check_workspaces(exec, 29); });
  }
}

TEST_CASE("empty tensors do nothing; the workspace grows with the threads") {
  ss::slicing_sort<pattern_order> const op;
  for (extents3 e : {extents3{0, 10, 4}, extents3{3, 0, 4}, extents3{3, 10, 0}}) {
    CHECK(check_all_paths(make_mixed_problem<float>(e, all_kinds, 1, up)) == "");
  }
  extents3 const e{4, 1000, 100};
  CHECK(op.workspace_bytes<float>(ss::exec::host{2}, e) >=
        op.workspace_bytes<float>(ss::exec::host{1}, e));
}
