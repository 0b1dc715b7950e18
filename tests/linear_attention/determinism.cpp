// SPDX-License-Identifier: Apache-2.0
// linear_attention gives the same bits for any number of threads, any executor, any split of the
// batch and the heads, any choice of gradients, and on every device; and takes memory that does not
// grow with the square of the length.
#define SLICESORT_TEST_EVERY_BACKEND
#include "oracle.hpp"
#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

// Some rows of heads of a tensor, those of sample b and head h.
template <class T>
std::vector<T> head_of(std::vector<T> const& all, extents4 e, index_t b, index_t h) {
  if (all.empty()) return all;
  auto const first = all.begin() + static_cast<std::ptrdiff_t>(linear_size::at(e, b, h, 0, 0));
  return std::vector<T>(first, first + static_cast<std::ptrdiff_t>(e.length * e.channels));
}
// One head of one sample as a problem of its own.
template <class T>
linear_problem<T> head_of(linear_problem<T> const& p, index_t b, index_t h) {
  linear_problem<T> one = p;
  one.size.batch = one.size.heads = 1;
  one.q = head_of(p.q, p.size.q(), b, h);
  one.k = head_of(p.k, p.size.k(), b, h);
  one.v = head_of(p.v, p.size.v(), b, h);
  one.w = head_of(p.w, p.of_w(), 0, p.shared_w ? 0 : h);
  one.dy = head_of(p.dy, p.size.y(), b, h);
  one.dq = head_of(p.dq, p.size.q(), b, h);
  one.dk = head_of(p.dk, p.size.k(), b, h);
  one.dv = head_of(p.dv, p.size.v(), b, h);
  one.dw = head_of(p.dw, p.of_w(), 0, p.shared_w ? 0 : h);
  if (!p.lengths.empty()) one.lengths = {p.valid_keys(b)};
  if (!p.query_lengths.empty()) one.query_lengths = {p.valid_queries(b)};
  return one;
}

constexpr linear_size sizes[] = {
    {2, 3, 40, 40, 5, 9}, {1, 1, 200, 200, 8, 5}, {3, 1, 17, 17, 17, 33}};

// f(problem) for every feature, in turn causal or not.
template <class T, class F>
void for_each_problem(std::uint64_t seed, F const& f) {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (linear_size size : sizes) {
      ++seed;
      f(any_linear<T>(size, feature, seed % divisor_kinds, seed % 2 == 0, seed));
    }
}

}  // namespace

TEST_CASE_TEMPLATE("any number of threads, any executor, any instruction set", T, float, double,
                   float16, bfloat16) {
  if (!testing(backend_kind::host)) return;
  for_each_problem<T>(60 + sizeof(T), [&](linear_problem<T> const& p) {
    auto const want = run_linear(p, ss::exec::host{});
    auto const check = [&](any_exec const& exec) {
      CAPTURE(p.describe());
      CAPTURE(describe_exec(exec));
      CHECK(same_results(run_linear(p, exec), want));
    };
    for (unsigned threads : {2u, 3u, 33u}) check(ss::exec::host{threads});
    for (ss::isa set : available_isas()) check(ss::exec::host{2, set});
    for (auto how : {test_executor::schedule::backwards, test_executor::schedule::scattered}) {
      test_executor executor{how};
      check(any_exec(executor, 5));
    }
  });
}

// dw is a sum over samples, and over heads that share w; in a problem of one head it is that
// head's.
TEST_CASE_TEMPLATE("samples and heads alone, and twice the same", T, float, double, float16) {
  for_each_problem<T>(160 + sizeof(T), [&](linear_problem<T> p) {
    if (p.size.batch == 1) return;
    p.wanted = 15;
    p.lengths = p.size.batch == 2 ? std::vector<index_t>{30, 40} : std::vector<index_t>{17, 0, 9};
    linear_size const& s = p.size;
    for_each_backend_once(p.number(), [&](any_exec const& exec) {
      CAPTURE(p.describe());
      CAPTURE(describe_exec(exec));
      auto const all = run_linear(p, exec);
      CHECK(same_results(all, run_linear(p, exec)));
      for (index_t b = 0; b < s.batch; ++b)
        for (index_t h = 0; h < s.heads; ++h) {
          auto const one = run_linear(head_of(p, b, h), exec);
          CHECK(same_bits(one.y, head_of(all.y, s.y(), b, h)));
          CHECK(same_bits(one.dq, head_of(all.dq, s.q(), b, h)));
          CHECK(same_bits(one.dk, head_of(all.dk, s.k(), b, h)));
          CHECK(same_bits(one.dv, head_of(all.dv, s.v(), b, h)));
        }
    });
  });
}

TEST_CASE_TEMPLATE("what is asked for besides changes no bit", T, float, double, bfloat16) {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      auto p = any_linear<T>({2, 2, 35, 35, 4, 5}, feature, feature % 2, causal, 300 + feature);
      p.mode = causal ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
      p.wanted = 15;
      for_each_backend_once(p.number(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        auto const all = run_linear(p, exec);
        for (unsigned wanted = 0; wanted < 15; ++wanted) {
          if (!full_suite() && wanted > 2 && wanted != 4 && wanted != 8 && wanted != 3 + feature)
            continue;
          auto part = p;
          part.wanted = wanted;
          CAPTURE(part.describe());
          auto const got = run_linear(part, exec);
          CHECK(got.wrong == "");
          CHECK(same_bits(got.dq, (wanted & linear_dq) != 0 ? all.dq : p.dq));
          CHECK(same_bits(got.dk, (wanted & linear_dk) != 0 ? all.dk : p.dk));
          CHECK(same_bits(got.dv, (wanted & linear_dv) != 0 ? all.dv : p.dv));
          CHECK(same_bits(got.dw, (wanted & linear_dw) != 0 ? all.dw : p.dw));
        }
      });
    }
}

TEST_CASE("every device and tuning of the kernels") {
  if (!testing(backend_kind::blocks)) return;
  std::uint64_t seed = 500;
  for (any_exec const exec : block_execs()) {
    ++seed;
    auto const p =
        any_linear<float>({1, 2, 70, 70, 9, 7}, seed % feature_kinds, 0, seed % 4 < 2, seed);
    CAPTURE(p.describe());
    CAPTURE(describe_exec(exec));
    CHECK(same_results(run_linear(p, exec), run_linear(p, ss::exec::host{})));
  }
}

TEST_CASE("memory") {
  ss::linear_attention<> const op;
  ss::linear_attention<ss::feature::elu_plus_one, ss::divisor::sum_plus,
                       ss::direction::causal> const causal;
  auto const q = [](index_t n) { return extents4{2, 4, n, 64}; };
  for_each_backend_once(1, [&](any_exec const& exec) {
    auto const check = [&](auto const& operation) {
      auto const bytes = [&](index_t n) {
        return operation.template workspace_bytes<float>(exec, q(n), q(n));
      };
      CHECK(bytes(1 << 17) <= 2 * bytes(1 << 16) + (1 << 22));
      // As many numbers as q, k, v and their sums of tiles have, some times.
      CHECK(bytes(1 << 16) <= std::size_t{8} * (1 << 16) * 64 * 4 * 8);
    };
    check(op);
    check(causal);
  });
  for (extents4 none : {extents4{0, 4, 9, 8}, extents4{2, 0, 9, 8}})
    CHECK(op.workspace_bytes<float>(ss::exec::host{2}, none, none) == 0);
  CHECK(op.workspace_bytes<float>(ss::exec::host{2}, q(999), q(999)) >=
        op.workspace_bytes<float>(ss::exec::host{1}, q(999), q(999)));
}
