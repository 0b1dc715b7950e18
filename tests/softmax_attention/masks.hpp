// SPDX-License-Identifier: Apache-2.0
// Attention with the library's masks, both ranges and sparse ones, compared with the oracle;
// problems with bias layouts and with dropout.
#pragma once

#include "check.hpp"
#include "problem.hpp"
#include "support/executors.hpp"

#include <slicesort/policies/mask.hpp>
#include <slicesort/softmax_attention.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace support {

// Calls f(mask) for six masks.
template <class F>
void for_each_library_mask(index_t keys, F const& f) {
  namespace mask = ss::mask;
  f(mask::full{});
  f(mask::causal{2});
  f(mask::window{20, 9});
  f(mask::both<mask::causal, mask::fixed>{mask::causal{}, mask::fixed{16, 3}});
  mask::bigbird blocks{16, 3, 1, 1, 7};
  blocks.keys = keys;
  f(blocks);
  f(mask::either<mask::globals, mask::window>{mask::globals{3}, mask::window{7, 8}});
}

// Returns the problem with a mask of the library.
template <class Mask, class T>
attention_problem<T> with_mask(attention_problem<T> p, Mask const& mask) {
  index_t const keys = p.size.keys;
  p.is_visible = [mask, keys](index_t sample, index_t head, index_t i, index_t j) {
    auto const is_visible = [&](auto const& head_mask) {
      ss::key_range const range = ss::detail::clamped_key_range(head_mask, i, keys);
      return range.first <= j && j < range.last && ss::detail::allows_key(head_mask, i, j);
    };
    return is_visible(ss::detail::mask_of_head(mask, sample, head));
  };
  return p;
}

// Returns a problem with a bias and a gradient of the given layouts (bits of bias_layout_bit).
template <class T>
attention_problem<T> problem_with_bias_layouts(attention_size size, unsigned layout_bits,
                                               std::uint64_t seed) {
  auto p = with_bias_layouts(normal_attention<T>(size, {}, seed, seed % 4 != 3), layout_bits, seed);
  if (seed % 2 == 0) {
    p.lengths = {size.keys - 3, size.keys / 2};
    p.query_lengths = {size.queries, size.queries - 5};
  }
  if (seed % 3 == 0) p.mode = ss::grad_mode::accumulate;
  return p;
}

// Returns a problem with dropout.
template <class T>
attention_problem<T> problem_with_dropout(attention_size size, std::uint64_t seed, double rate) {
  auto p = normal_attention<T>(size, {}, seed, seed % 2 == 0);
  p.dropout = {rate, seed * 77};
  if (seed % 4 < 2) {
    p.bias_layout = {seed % 8 < 4, false, true};
    p.dbias_layout = {false, seed % 8 == 1, true};
    draw_bias(p, seed);
  } else {
    p.lengths = {size.keys / 2, size.keys - 1};
    p.query_lengths = {size.queries - 3, size.queries};
    p.dbias_layout.shares_samples = seed % 8 == 3;
    draw_bias(p, seed);
  }
  if (seed % 3 == 0) p.mode = ss::grad_mode::accumulate;
  return p;
}

// Runs a problem with a mask on the host, since kernels are not compiled for these masks.
template <class Mask, class Algorithm, class T, class Exec>
auto run_with_mask(Mask const& mask, attention_problem<T> const& p, Exec const& exec,
                   Algorithm algorithm, memory_layout layout = {}) {
  return run_operator(ss::softmax_attention<Mask, Algorithm>(mask, p.scale, algorithm), p, exec,
                      layout);
}
// Checks a problem with a mask for both algorithms.
template <class Mask, class T>
std::string check_with_mask(Mask const& mask, attention_problem<T> const& problem,
                            ss::exec::host const& exec, memory_layout layout = {}) {
  solved_attention<T> const solved(with_mask(problem, mask));
  std::string error;
  auto const check = [&](auto algorithm) {
    if (error.empty())
      error = check_results(solved, exec, algorithm,
                            run_with_mask(mask, solved.problem, exec, algorithm, layout), layout);
  };
  check(ss::streaming{});
  check(ss::materialized<>{});
  return error;
}

// Runs several thread counts, an executor and all instruction sets. Returns descriptions of the
// policies whose bits differ from those of one thread.
template <class T, class Algorithm>
std::string find_policies_changing_bits(attention_problem<T> const& p, Algorithm const& algorithm,
                                        std::vector<unsigned> const& thread_counts = {3}) {
  auto const serial = run_attention(p, ss::exec::host{}, algorithm);
  test_executor executor{test_executor::schedule::scattered};
  std::vector<any_exec> policies{any_exec(executor, 5)};
  for (unsigned threads : thread_counts) policies.emplace_back(ss::exec::host{threads});
  for (ss::isa set : available_isas()) policies.emplace_back(ss::exec::host{2, set});
  std::string changed;
  for (any_exec const& exec : policies)
    if (!same_results(run_attention(p, exec, algorithm), serial)) changed += describe(exec) + " ";
  return changed;
}

}  // namespace support
