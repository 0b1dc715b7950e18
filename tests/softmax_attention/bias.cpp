// SPDX-License-Identifier: Apache-2.0
// A bias of any shape that softmax_attention takes gives the bits of the same numbers, one for each
// pair.
#define SLICESORT_TEST_EVERY_BACKEND
#include "check.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace support;

namespace {

// The same problem with a number of the bias for each pair.
template <class T>
attention_problem<T> by_pairs(attention_problem<T> p) {
  auto const given = p.bias;
  bias_form const form = p.form;
  p.form = {};
  p.bias.clear();
  for (index_t b = 0; b < p.size.batch; ++b)
    for (index_t h = 0; h < p.size.heads; ++h)
      for (index_t i = 0; i < p.size.queries; ++i)
        for (index_t j = 0; j < p.size.keys; ++j)
          p.bias.push_back(given[form.at(p.size, b, h, i, j)]);
  return p;
}

// A problem with lengths, a mask, and a bias of form `number` of eight.
template <class T>
attention_problem<T> biased_problem(attention_size size, unsigned number, std::uint64_t seed) {
  auto p = any_attention<T>(size, seed, static_cast<int>(seed % mask_kinds));
  p.shared_bias = false;
  p.form = {(number & 1) != 0, (number & 2) != 0, (number & 4) != 0};
  p.bias.clear();
  random_stream random(seed + 7);
  for (index_t n = 0; n < p.form.extents(size).size(); ++n)
    p.bias.push_back(from_double<T>(random.normal()));
  return p;
}

// The sizes around tiles of queries and keys, of the host and of kernels.
attention_size const sizes[] = {{2, 3, 9, 11, 5, 7},    {1, 2, 1, 40, 4, 4},  {2, 1, 65, 1, 3, 2},
                                {1, 2, 50, 140, 8, 5},  {2, 2, 97, 33, 4, 9}, {1, 1, 0, 7, 3, 3},
                                {1, 1, 130, 130, 16, 8}};

}  // namespace

TEST_CASE_TEMPLATE("the bits of a bias by pairs", T, float, double, float16, bfloat16) {
  std::uint64_t seed = 300 + sizeof(T);
  for (attention_size const& size : sizes)
    for (unsigned number = 1; number < 8; ++number, ++seed) {
      // Types take turns: each size meets every form, and so does each type.
      if (!full_suite() && (number + seed / 7 + sizeof(T) / 4) % 2 == 0) continue;
      auto const p = biased_problem<T>(size, number, seed);
      auto const pairs = by_pairs(p);
      CAPTURE(p.describe());
      for_each_backend_once(seed, [&](auto const& on) {
        CAPTURE(describe_exec(on));
        auto const compare = [&](auto algorithm) {
          auto const got = run_attention(p, on, algorithm);
          CHECK(got.wrong == "");
          CHECK(same_results(got, run_attention(pairs, on, algorithm)));
        };
        compare(ss::streaming{});
        compare(ss::materialized<>{});
      });
    }
}

// Keys that queries gather are no neighbors.
TEST_CASE("sparse masks and a bias by distance") {
  ss::mask::bigbird mask;
  mask.block = 16;
  mask.random = 1;
  mask.seed = 3;
  mask.keys = 200;
  attention_size const size{1, 2, 200, 200, 8, 8};
  auto p = biased_problem<float>(size, 5, 700);
  p.lengths.clear(), p.query_lengths.clear();
  ss::softmax_attention<ss::mask::bigbird> const op(mask);
  ss::exec::host const on;
  CHECK(same_results(run_attention_by(op, p, on, {}), run_attention_by(op, by_pairs(p), on, {})));
}

// Half of the numbers differ from what a bias by distance can be, so the comparison can fail.
TEST_CASE("a bias by distance moves the output") {
  attention_size const size{1, 1, 9, 11, 5, 7};
  auto p = normal_attention<double>(size, {}, 800);
  ss::exec::host const on;
  auto const without = run_attention(p, on, ss::streaming{});
  p.form.relative = true;
  p.bias.assign(19, 0);
  p.bias[3] = 1;  // keys five before their query
  auto const with = run_attention(p, on, ss::streaming{});
  for (index_t i = 0; i < 9; ++i)
    CHECK((with.y[static_cast<std::size_t>(i * 7)] != without.y[static_cast<std::size_t>(i * 7)]) ==
          (i >= 5));
}
