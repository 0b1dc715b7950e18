// SPDX-License-Identifier: Apache-2.0
// softmax_attention gives the same bits for every thread count, executor, instruction set and split
// of the batch and heads. Every device gives results within the bounds. Memory is linear in the
// length.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"
#include "support/executors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace support;

namespace {

// Extracts one head of one sample as a problem.
template <class T>
attention_problem<T> head_of(attention_problem<T> const& p, index_t b, index_t h) {
  attention_problem<T> head = p;
  head.size.batch = head.size.heads = 1;
  auto const slice = [&](std::vector<T> const& whole, extents4 e) {
    if (whole.empty()) return whole;
    auto const first =
        whole.begin() + static_cast<std::ptrdiff_t>(attention_size::offset_of(e, b, h, 0, 0));
    return std::vector<T>(first, first + static_cast<std::ptrdiff_t>(e.length * e.channels));
  };
  head.q = slice(p.q, p.size.q());
  head.k = slice(p.k, p.size.k());
  head.v = slice(p.v, p.size.v());
  head.bias = slice(p.bias, p.size.pairs());
  head.dy = slice(p.dy, p.size.y());
  head.dq = slice(p.dq, p.size.q());
  head.dk = slice(p.dk, p.size.k());
  head.dv = slice(p.dv, p.size.v());
  head.dbias = slice(p.dbias, p.size.pairs());
  if (!p.lengths.empty()) head.lengths = {p.valid_keys(b)};
  if (!p.query_lengths.empty()) head.query_lengths = {p.valid_queries(b)};
  return head;
}
template <class T, class State>
attention_results<T, State> head_of(attention_results<T, State> const& r, attention_size s,
                                    index_t state_channels, index_t b, index_t h) {
  auto const slice = [&](auto const& whole, extents4 e) {
    auto const first =
        whole.begin() + static_cast<std::ptrdiff_t>(attention_size::offset_of(e, b, h, 0, 0));
    return std::decay_t<decltype(whole)>(
        first, first + static_cast<std::ptrdiff_t>(e.length * e.channels));
  };
  return {slice(r.y, s.y()),
          slice(r.dq, s.q()),
          slice(r.dk, s.k()),
          slice(r.dv, s.v()),
          slice(r.dbias, s.pairs()),
          slice(r.state, {s.batch, s.heads, s.queries, state_channels}),
          ""};
}

// Calls f(algorithm) for both algorithms.
template <class F>
void for_each_algorithm(F const& f) {
  f(ss::streaming{});
  f(ss::materialized<>{});
}

constexpr attention_size sizes[] = {
    {2, 3, 40, 35, 8, 9}, {1, 1, 150, 131, 16, 5}, {3, 1, 17, 70, 33, 32}};

}  // namespace

TEST_CASE_TEMPLATE("same bits for every thread count, executor and instruction set" *
                       doctest::skip(!testing(backend_kind::host)),
                   T, float, double, float16, bfloat16) {
  std::uint64_t seed = 60;
  for (attention_size size : sizes)
    for (int i = 0; i < 2; ++i) {
      auto const p = random_attention<T>(size, ++seed);
      for_each_algorithm([&](auto algorithm) {
        auto const expected = run_attention(p, ss::exec::host{}, algorithm);
        auto const check = [&](any_exec const& exec) {
          CAPTURE(p.describe());
          CAPTURE(describe_exec(exec));
          CHECK(same_results(run_attention(p, exec, algorithm), expected));
        };
        for (unsigned threads : {1u, 2u, 3u, 4u, 33u}) check(ss::exec::host{threads});
        for (ss::isa set : available_isas()) check(ss::exec::host{2, set});
        for (auto schedule :
             {test_executor::schedule::forwards, test_executor::schedule::backwards,
              test_executor::schedule::scattered, test_executor::schedule::threads}) {
          test_executor executor{schedule};
          check(any_exec(executor, 5));
        }
      });
    }
}

TEST_CASE_TEMPLATE("one head at a time, and repeated calls", T, float, double, float16) {
  std::uint64_t seed = 80;
  for (attention_size size :
       {attention_size{2, 3, 40, 35, 8, 9}, attention_size{3, 1, 17, 70, 5, 6}}) {
    auto p = random_attention<T>(size, ++seed);
    p.lengths = size.batch == 2 ? std::vector<index_t>{30, 35} : std::vector<index_t>{70, 0, 9};
    for_each_algorithm([&](auto algorithm) {
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(p.describe());
        CAPTURE(describe_exec(exec));
        auto const whole = run_attention(p, exec, algorithm);
        CHECK(same_results(whole, run_attention(p, exec, algorithm)));
        index_t const state_channels = p.op(algorithm).saved_extents(size.q(), size.v()).channels;
        for (index_t b = 0; b < size.batch; ++b)
          for (index_t h = 0; h < size.heads; ++h)
            CHECK(same_results(run_attention(head_of(p, b, h), exec, algorithm),
                               head_of(whole, size, state_channels, b, h)));
      });
    });
  }
}

// Grouped heads read k and v as if these were repeated, and sum the gradients in a fixed order.
TEST_CASE_TEMPLATE("grouped heads", T, float, double, bfloat16) {
  std::uint64_t seed = 100;
  for (attention_size size :
       {attention_size{2, 4, 40, 35, 8, 9, 2}, attention_size{1, 6, 17, 70, 33, 32, 6}}) {
    auto const check_algorithm = [&](auto algorithm) {
      auto const p = random_attention<T>(size, ++seed);
      attention_problem<T> repeated = p;
      repeated.size.group = 1;
      auto const repeat = [&](std::vector<T>& values, extents4 grouped) {
        std::vector<T> const heads = values;
        auto const elements = static_cast<std::ptrdiff_t>(grouped.length * grouped.channels);
        values.clear();
        for (index_t b = 0; b < size.batch; ++b)
          for (index_t h = 0; h < size.heads; ++h) {
            auto const first =
                heads.begin() + static_cast<std::ptrdiff_t>(
                                    attention_size::offset_of(grouped, b, h / size.group, 0, 0));
            values.insert(values.end(), first, first + elements);
          }
      };
      repeat(repeated.k, size.k()), repeat(repeated.dk, size.k());
      repeat(repeated.v, size.v()), repeat(repeated.dv, size.v());
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CAPTURE(p.describe());
        CAPTURE(describe_exec(exec));
        auto const grouped = run_attention(p, exec, algorithm),
                   separate = run_attention(repeated, exec, algorithm);
        CHECK(same_bits(grouped.y, separate.y));
        CHECK(same_bits(grouped.state, separate.state));
        CHECK(same_bits(grouped.dq, separate.dq));
        CHECK(same_bits(grouped.dbias, separate.dbias));
      });
      if (!testing(backend_kind::host)) return;
      auto const expected = run_attention(p, ss::exec::host{}, algorithm);
      for (unsigned threads : {2u, 5u})
        CHECK(same_results(run_attention(p, ss::exec::host{threads}, algorithm), expected));
      if (uses_native_products<T>(algorithm, ss::exec::host{})) {
        solved_attention<T> const solved(p);
        CHECK(check_attention(solved, ss::exec::host{2}, algorithm) == "");
      } else {
        for (ss::isa set : available_isas())
          CHECK(same_results(run_attention(p, ss::exec::host{2, set}, algorithm), expected));
      }
    };
    check_algorithm(ss::streaming{});
    check_algorithm(ss::streaming{ss::products::native});
    check_algorithm(ss::materialized<>{});
  }
}

TEST_CASE_TEMPLATE("every device and tuning of the kernels" *
                       doctest::skip(!testing(backend_kind::blocks)),
                   T, float, float16) {
  std::uint64_t seed = 120;
  for (any_exec const exec : block_execs()) {
    solved_attention<T> const solved(random_attention<T>({1, 2, 70, 67, 24, 17}, ++seed));
    CHECK(check_attention(solved, exec) == "");
  }
}

// Heads are slices of `[batch, length, heads * channels]`, the output of projections.
TEST_CASE_TEMPLATE("heads as slices of one tensor", T, float, bfloat16) {
  attention_size const size{2, 3, 11, 13, 4, 5};
  auto const p = normal_attention<T>(size, {mask_kind::causal, 2, 0}, 140);
  auto const joined_extents = [](extents4 e) {
    return extents3{e.batch, e.length, e.heads * e.channels};
  };
  auto const join_heads = [&](std::vector<T> const& values, extents4 e) {
    tensor<T> t(joined_extents(e));
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t h = 0; h < e.heads; ++h)
        for (index_t i = 0; i < e.length; ++i)
          for (index_t c = 0; c < e.channels; ++c)
            t(b, i, h * e.channels + c) = values[attention_size::offset_of(e, b, h, i, c)];
    return t;
  };
  tensor<T> const q = join_heads(p.q, size.q()), k = join_heads(p.k, size.k()),
                  v = join_heads(p.v, size.v()), dy = join_heads(p.dy, size.y());
  for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
    CAPTURE(describe_exec(exec));
    for_each_algorithm([&](auto algorithm) {
      tensor<T> y(joined_extents(size.y())), dq(joined_extents(size.q())),
          dk(joined_extents(size.k())), dv(joined_extents(size.v()));
      auto const op = p.op(algorithm);
      using State = attention_state_of<decltype(algorithm), T>;
      extents4 const saved = op.saved_extents(size.q(), size.v());
      std::vector<State> state(static_cast<std::size_t>(saved.size()));
      guarded_workspace scratch(op.template workspace_bytes<T>(exec, size.q(), size.v()));
      auto const split_input = [](auto const& t) { return ss::split_heads(t.view(), 3); };
      auto const split_output = [](tensor<T>& t) { return ss::split_heads(t.view(), 3); };
      op.forward(exec, {split_input(q), split_input(k), split_input(v)}, split_output(y),
                 {tensor4<State>(state.data(), saved)}, scratch.get());
      op.backward(exec, split_input(dy), {split_input(q), split_input(k), split_input(v)},
                  split_output(y), {tensor4<State>(state.data(), saved)},
                  {split_output(dq), split_output(dk), split_output(dv)}, scratch.get());
      auto const expected = run_operator(op, p, exec, memory_layout{});
      CHECK(same_bits(y.elements(), join_heads(expected.y, size.y()).elements()));
      CHECK(same_bits(dq.elements(), join_heads(expected.dq, size.q()).elements()));
      CHECK(same_bits(dk.elements(), join_heads(expected.dk, size.k()).elements()));
      CHECK(same_bits(dv.elements(), join_heads(expected.dv, size.v()).elements()));
    });
  });
}

TEST_CASE("memory") {
  ss::softmax_attention<pattern_mask> const op;
  ss::softmax_attention<pattern_mask, ss::materialized<>> const materialized;
  auto const q = [](index_t n) { return extents4{2, 4, n, 64}; };
  for_each_backend_once(1, [&](any_exec const& exec) {
    // The workspace and state of streaming are linear in the length.
    auto const bytes = [&](index_t n) {
      return op.template workspace_bytes<float>(exec, q(n), q(n));
    };
    CHECK(bytes(1 << 17) <= 2 * bytes(1 << 16) + (1 << 22));
    CHECK(bytes(1 << 16) <= std::size_t{2} * 4 * (1 << 16) * 64 * 4 * 4);
  });
  for (extents4 empty : {extents4{0, 4, 9, 8}, extents4{2, 0, 9, 8}})
    CHECK(op.template workspace_bytes<float>(ss::exec::host{2}, empty, empty) == 0);
  CHECK(op.template workspace_bytes<float>(ss::exec::host{2}, q(999), q(999)) >=
        op.template workspace_bytes<float>(ss::exec::host{1}, q(999), q(999)));
  CHECK(op.saved_extents(q(100), {2, 4, 70, 32}) == extents4{2, 4, 100, 2});
  CHECK(materialized.saved_extents(q(100), {2, 4, 70, 32}) == extents4{2, 4, 100, 70});
  CHECK(op.scale(64) == 0.125);
  CHECK(ss::softmax_attention<>{ss::mask::full{}, 3.0}.scale(64) == 3);
}
