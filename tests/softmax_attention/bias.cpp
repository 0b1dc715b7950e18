// SPDX-License-Identifier: Apache-2.0
// A bias of any supported shape gives the same bits as a dense one. Its gradients, of any shape,
// and dropout match the oracle on every backend.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

// Expands the bias to one value per pair of query and key.
template <class T>
attention_problem<T> with_dense_bias(attention_problem<T> const& p) {
  auto dense = p;
  dense.bias_layout = {};
  dense.bias.clear();
  for (index_t b = 0; b < p.size.batch; ++b)
    for (index_t h = 0; h < p.size.heads; ++h)
      for (index_t i = 0; i < p.size.queries; ++i)
        for (index_t j = 0; j < p.size.keys; ++j)
          dense.bias.push_back(p.bias[p.bias_layout.offset_of(p.size, b, h, i, j)]);
  return dense;
}

// Bits of the layout of the bias.
enum bias_bit : unsigned { shares_samples = 1, shares_heads = 2, is_relative = 4, bias_cases = 8 };

// Returns a problem with lengths, a mask, and a bias of the given layout.
template <class T>
attention_problem<T> biased_problem(attention_size size, unsigned bias_bits, std::uint64_t seed) {
  auto p = random_attention<T>(size, seed, mask_kind_of(seed));
  p.shared_bias = false;
  p.bias_layout = {(bias_bits & shares_samples) != 0, (bias_bits & shares_heads) != 0,
                   (bias_bits & is_relative) != 0};
  p.bias.resize(1);
  draw_bias(p, seed + 7);
  return p;
}

// Sizes around the query and key tiles of the host and of kernels.
attention_size const sizes[] = {{2, 3, 9, 11, 5, 7},    {1, 2, 1, 40, 4, 4},  {2, 1, 65, 1, 3, 2},
                                {1, 2, 50, 140, 8, 5},  {2, 2, 97, 33, 4, 9}, {1, 1, 0, 7, 3, 3},
                                {1, 1, 130, 130, 16, 8}};

}  // namespace

TEST_CASE_TEMPLATE("every bias shape has the same bits as a dense bias", T, float, double, float16,
                   bfloat16) {
  std::uint64_t seed = 300 + sizeof(T);
  for (attention_size const& size : sizes)
    for (unsigned bias_bits = 1; bias_bits < bias_cases; ++bias_bits, ++seed) {
      // Distributes the bias shapes over types, so that each size and each type covers every shape.
      if (!full_suite() && (bias_bits + seed / 7 + sizeof(T) / 4) % 2 == 0) continue;
      auto const p = biased_problem<T>(size, bias_bits, seed);
      auto const dense = with_dense_bias(p);
      CAPTURE(p.describe());
      for_each_backend_once(seed, [&](any_exec const& exec) {
        CAPTURE(describe_exec(exec));
        auto const compare = [&](auto algorithm) {
          auto const actual = run_attention(p, exec, algorithm);
          CHECK(actual.wrong == "");
          CHECK(same_results(actual, run_attention(dense, exec, algorithm)));
        };
        compare(ss::streaming{});
        compare(ss::materialized<>{});
      });
    }
}

// With sparse masks, kernels gather non-adjacent keys.
TEST_CASE("sparse masks with a relative bias") {
  ss::mask::bigbird mask;
  mask.block = 16;
  mask.random = 1;
  mask.seed = 3;
  mask.keys = 200;
  attention_size const size{1, 2, 200, 200, 8, 8};
  auto p = biased_problem<float>(size, shares_samples | is_relative, 700);
  p.lengths.clear(), p.query_lengths.clear();
  ss::softmax_attention<ss::mask::bigbird> const op(mask);
  ss::exec::host const exec;
  CHECK(
      same_results(run_operator(op, p, exec, {}), run_operator(op, with_dense_bias(p), exec, {})));
}

// Kernels sum over tiles of pairs for a broadcast gradient, and over tiles along diagonals for a
// relative one. Covers one and several tiles of queries and keys, chunks of channels, and padding
// rows.
TEST_CASE_TEMPLATE("bias gradients of every shape, and dropout", T, float, double, float16,
                   bfloat16) {
  attention_size const shapes[] = {
      {2, 2, 37, 70, 8, 9}, {1, 3, 150, 45, 5, 70}, {2, 2, 20, 133, 70, 3}, {3, 1, 1, 40, 4, 4},
      {1, 2, 70, 1, 3, 5},  {2, 2, 0, 6, 3, 3},     {2, 1, 5, 0, 3, 3},     {0, 2, 3, 4, 3, 3}};
  std::uint64_t seed = 900 + sizeof(T);
  for (attention_size const& size : shapes)
    for (unsigned layout_bits = 0; layout_bits < bias_layout_cases; ++layout_bits, ++seed) {
      bool const large = size.queries * size.keys > 2000;
      if (!full_suite() && seed % (large ? 16 : 5) != 0) continue;
      auto p = random_attention<T>(size, seed, mask_kind_of(seed / 5));
      p.shared_bias = false;
      p = with_bias_layouts(p, layout_bits, seed);
      p.requested |= wants_dbias;
      if (seed % 3 == 0) p.dropout = {seed % 2 == 0 ? 0.3 : 0.9, seed};
      if (seed % 2 == 0) {  // selects a part of the batch and of the heads
        p.dropout.first_sample = 7, p.dropout.first_head = 2;
        p.dropout.heads = size.heads + 5;
      }
      solved_attention<T> const solved(p);
      for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
        CHECK(check_attention(solved, exec) == "");
      });
    }
}

// Masks differ per head, so a sum may include only a few pairs, in tiles that other heads skip.
TEST_CASE_TEMPLATE("bias gradients of every shape, and dropout, with sparse masks", T, float,
                   bfloat16) {
  std::uint64_t seed = 1500 + sizeof(T);
  for (unsigned layout_bits = 0; layout_bits < bias_layout_cases; ++layout_bits, ++seed) {
    if (!full_suite() && seed % 8 != 0) continue;
    auto p = with_bias_layouts(normal_attention<T>({2, 2, 100, 100, 6, 7}, {}, seed, true),
                               layout_bits, seed);
    p.sparse = random_sparse_mask(seed);
    if (seed % 3 == 0) p.dropout = {0.5, seed};
    if (seed % 4 == 0) p.lengths = {60, 100};
    solved_attention<T> const solved(p);
    for_each_backend_once(p.backend_seed(), [&](any_exec const& exec) {
      CHECK(check_attention(solved, exec) == "");
    });
  }
}

// A NaN key affects the queries of its sample, but not bias rows beyond the sample's query length,
// which belong to longer samples.
TEST_CASE("bias rows beyond a sample's query length belong to other samples") {
#if !defined(__FAST_MATH__)
  auto p = normal_attention<float>({2, 1, 40, 60, 4, 5}, {}, 7000);
  p.dbias_layout = {true, true, false};
  p.query_lengths = {21, 40};
  draw_bias(p, 7000);
  p.k[7] = p.v[8] = from_double<float>(std::nan(""));
  auto const check = [&](any_exec const& exec, auto algorithm) {
    CAPTURE(describe_exec(exec));
    auto const actual = run_attention(p, exec, algorithm);
    std::size_t last_nan = 0;
    for (std::size_t n = 0; n < actual.dbias.size(); ++n)
      if (!(actual.dbias[n] == actual.dbias[n])) last_nan = n;
    CHECK(last_nan > 0);
    CHECK(last_nan < 21 * 60);
  };
  for (bool sparse : {false, true}) {
    if (sparse) p.sparse = sparse_mask{};  // blocks of one pair, different per head
    for_each_backend_once(1, [&](any_exec const& exec) {
      check(exec, ss::streaming{});
      check(exec, ss::materialized<>{});
    });
  }
#endif
}

// Checks that a relative bias changes the output, so that the comparisons above are not trivial.
TEST_CASE("a relative bias changes the output") {
  attention_size const size{1, 1, 9, 11, 5, 7};
  auto p = normal_attention<double>(size, {}, 800);
  ss::exec::host const exec;
  auto const without_bias = run_attention(p, exec, ss::streaming{});
  p.bias_layout.is_relative = true;
  p.bias.assign(19, 0);
  p.bias[3] = 1;  // the key five rows before each query
  auto const with_bias = run_attention(p, exec, ss::streaming{});
  for (index_t i = 0; i < 9; ++i)
    CHECK((with_bias.y[static_cast<std::size_t>(i * 7)] !=
           without_bias.y[static_cast<std::size_t>(i * 7)]) == (i >= 5));
}
