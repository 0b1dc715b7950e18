// SPDX-License-Identifier: Apache-2.0
// linear_attention gives the same bits for any number of threads, executor, split of the batch and
// heads, set of requested gradients, and device. Its workspace does not grow with the square of the
// length.
#define SLICESORT_TEST_EVERY_BACKEND
#include "oracle.hpp"
#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

// Returns the rows of sample b and head h of a tensor.
template <class T>
std::vector<T> head_of(std::vector<T> const& tensor, extents4 e, index_t b, index_t h) {
  if (tensor.empty()) return tensor;
  auto const first = tensor.begin() + static_cast<std::ptrdiff_t>(linear_size::at(e, b, h, 0, 0));
  return std::vector<T>(first, first + static_cast<std::ptrdiff_t>(e.length * e.channels));
}
// Returns a problem with one head of one sample.
template <class T>
linear_problem<T> head_of(linear_problem<T> const& problem, index_t b, index_t h) {
  linear_problem<T> head = problem;
  head.size.batch = head.size.heads = 1;
  head.q = head_of(problem.q, problem.size.q(), b, h);
  head.k = head_of(problem.k, problem.size.k(), b, h);
  head.v = head_of(problem.v, problem.size.v(), b, h);
  head.w = head_of(problem.w, problem.w_shape(), 0, problem.shared_w ? 0 : h);
  head.dy = head_of(problem.dy, problem.size.y(), b, h);
  head.dq = head_of(problem.dq, problem.size.q(), b, h);
  head.dk = head_of(problem.dk, problem.size.k(), b, h);
  head.dv = head_of(problem.dv, problem.size.v(), b, h);
  head.dw = head_of(problem.dw, problem.w_shape(), 0, problem.shared_w ? 0 : h);
  if (!problem.lengths.empty()) head.lengths = {problem.valid_keys(b)};
  if (!problem.query_lengths.empty()) head.query_lengths = {problem.valid_queries(b)};
  return head;
}

constexpr linear_size sizes[] = {
    {2, 3, 40, 40, 5, 9}, {1, 1, 200, 200, 8, 5}, {3, 1, 17, 17, 17, 33}};

// Calls f(problem) for every feature, alternately causal and noncausal.
template <class T, class F>
void for_each_problem(std::uint64_t seed, F const& f) {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (linear_size size : sizes) {
      ++seed;
      f(random_linear<T>(size, feature, seed % divisor_kinds, seed % 2 == 0, seed));
    }
}

}  // namespace

// Grouped heads read k, v and w as if these were repeated, with the same bits of y and dq. The
// gradients that a group shares are sums over its queries, in another order than those of repeated
// heads.
TEST_CASE_TEMPLATE("grouped heads", T, float, bfloat16) {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (linear_size size :
         {linear_size{2, 4, 70, 70, 5, 9, 6, 2}, linear_size{1, 3, 9, 9, 8, 5, 6, 3}}) {
      bool const causal = (feature + static_cast<std::size_t>(size.group)) % 2 == 0;
      auto p = random_linear<T>(size, feature, 0, causal, 300 + feature);
      p.gradients = linear_all_gradients;
      linear_problem<T> repeated = p;
      repeated.size.group = 1;
      auto const repeat = [&](std::vector<T> const& values, extents4 e) {
        std::vector<T> heads;
        for (index_t b = 0; b < e.batch; ++b)
          for (index_t h = 0; h < size.heads; ++h) {
            auto const head = head_of(values, e, b, h / size.group);
            heads.insert(heads.end(), head.begin(), head.end());
          }
        return heads;
      };
      repeated.k = repeat(p.k, size.k()), repeated.v = repeat(p.v, size.v());
      repeated.dk = repeat(p.dk, size.k()), repeated.dv = repeat(p.dv, size.v());
      if (uses_w(p.feature) && !p.shared_w)
        repeated.w = repeat(p.w, p.w_shape()), repeated.dw = repeat(p.dw, p.w_shape());
      auto const expected = compute_expected(p);
      auto const reference = run_linear(p, ss::exec::host{});
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(p.describe());
        CAPTURE(describe_exec(exec));
        auto const results = run_linear(p, exec);
        auto const separate = run_linear(repeated, exec);
        CHECK(check_linear(p, expected, results) == "");
        CHECK(same_bits(results.y, separate.y));
        CHECK(same_bits(results.dq, separate.dq));
        CHECK(same_results(results, reference));
      });
      if (!testing(backend_kind::host)) continue;
      for (unsigned threads : {2u, 5u})
        CHECK(same_results(run_linear(p, ss::exec::host{threads}), reference));
    }
}

TEST_CASE_TEMPLATE("any number of threads, any executor, any instruction set" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, double, float16, bfloat16) {
  for_each_problem<T>(60 + sizeof(T), [&](linear_problem<T> const& problem) {
    auto const expected = run_linear(problem, ss::exec::host{});
    auto const check = [&](any_exec const& exec) {
      CAPTURE(problem.describe());
      CAPTURE(describe_exec(exec));
      CHECK(same_results(run_linear(problem, exec), expected));
    };
    for (unsigned threads : {2u, 3u, 33u}) check(ss::exec::host{threads});
    for (ss::isa set : available_isas()) check(ss::exec::host{2, set});
    for (auto schedule : {test_executor::schedule::backwards, test_executor::schedule::scattered}) {
      test_executor executor{schedule};
      check(any_exec(executor, 5));
    }
  });
}

// dw is a sum over samples, and over heads that share w. A problem with one head yields that head's
// share.
TEST_CASE_TEMPLATE("one head at a time, and repeated calls", T, float, double, float16) {
  for_each_problem<T>(160 + sizeof(T), [&](linear_problem<T> problem) {
    if (problem.size.batch == 1) return;
    problem.gradients = linear_all_gradients;
    problem.lengths =
        problem.size.batch == 2 ? std::vector<index_t>{30, 40} : std::vector<index_t>{17, 0, 9};
    linear_size const& s = problem.size;
    for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
      CAPTURE(problem.describe());
      CAPTURE(describe_exec(exec));
      auto const all_heads = run_linear(problem, exec);
      CHECK(same_results(all_heads, run_linear(problem, exec)));
      for (index_t b = 0; b < s.batch; ++b)
        for (index_t h = 0; h < s.heads; ++h) {
          auto const single_head = run_linear(head_of(problem, b, h), exec);
          CHECK(same_bits(single_head.y, head_of(all_heads.y, s.y(), b, h)));
          CHECK(same_bits(single_head.dq, head_of(all_heads.dq, s.q(), b, h)));
          CHECK(same_bits(single_head.dk, head_of(all_heads.dk, s.k(), b, h)));
          CHECK(same_bits(single_head.dv, head_of(all_heads.dv, s.v(), b, h)));
        }
    });
  });
}

TEST_CASE_TEMPLATE("a gradient does not depend on which others are computed", T, float, double,
                   bfloat16) {
  for (std::size_t feature = 0; feature < feature_kinds; ++feature)
    for (bool causal : {false, true}) {
      auto problem =
          random_linear<T>({2, 2, 35, 35, 4, 5}, feature, feature % 2, causal, 300 + feature);
      problem.mode = causal ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
      problem.gradients = linear_all_gradients;
      for_each_backend_once(problem.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        auto const all_grads = run_linear(problem, exec);
        for (unsigned gradients = 0; gradients < linear_all_gradients; ++gradients) {
          if (!full_suite() && gradients > 2 && gradients != 4 && gradients != 8 &&
              gradients != 3 + feature)
            continue;
          auto partial = problem;
          partial.gradients = gradients;
          CAPTURE(partial.describe());
          auto const actual = run_linear(partial, exec);
          CHECK(actual.wrong == "");
          CHECK(same_bits(actual.dq, (gradients & linear_dq) != 0 ? all_grads.dq : problem.dq));
          CHECK(same_bits(actual.dk, (gradients & linear_dk) != 0 ? all_grads.dk : problem.dk));
          CHECK(same_bits(actual.dv, (gradients & linear_dv) != 0 ? all_grads.dv : problem.dv));
          CHECK(same_bits(actual.dw, (gradients & linear_dw) != 0 ? all_grads.dw : problem.dw));
        }
      });
    }
}

TEST_CASE("every device and tuning of the kernels" *
          doctest::skip(!testing(backend_kind::blocks))) {
  std::uint64_t seed = 500;
  for (any_exec const exec : block_execs()) {
    ++seed;
    auto const problem = random_linear<float>({1, 2, 70, 70, 9, 7}, seed % feature_kinds,
                                              divisor_index::sum_plus, seed % 4 < 2, seed);
    CAPTURE(problem.describe());
    CAPTURE(describe_exec(exec));
    CHECK(same_results(run_linear(problem, exec), run_linear(problem, ss::exec::host{})));
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
      // The bound is a small multiple of the sizes of q, k, v and of the sums per tile.
      CHECK(bytes(1 << 16) <= std::size_t{8} * (1 << 16) * 64 * 4 * 8);
    };
    check(op);
    check(causal);
  });
  for (extents4 empty : {extents4{0, 4, 9, 8}, extents4{2, 0, 9, 8}})
    CHECK(op.workspace_bytes<float>(ss::exec::host{2}, empty, empty) == 0);
  CHECK(op.workspace_bytes<float>(ss::exec::host{2}, q(999), q(999)) >=
        op.workspace_bytes<float>(ss::exec::host{1}, q(999), q(999)));
}
