// SPDX-License-Identifier: Apache-2.0
// The rows of materialized attention's map: softmax, and its gradient. A warp takes a row.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/kernel/columns.hpp>
#include <slicesort/detail/kernel/grid.hpp>
#include <slicesort/detail/kernel/store.hpp>
#include <slicesort/detail/softmax_attention/kernel/gemm.hpp>
#include <slicesort/detail/softmax_attention/kernel/mask.hpp>
#include <slicesort/detail/softmax_attention/kernel/softmax.hpp>
#include <slicesort/detail/softmax_attention/kernel/tile.hpp>
#include <slicesort/detail/softmax_attention/problem.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// The rows of the maps of some heads of a sample, and which of them a warp takes.
struct map_rows {
  index_t sample, first_head, heads, queries, keys;

  static constexpr int rows_of_block = 4;
  SLICESORT_HD index_t blocks() const { return heads * divide_up(queries, rows_of_block); }

  struct position {
    index_t head, row;  // of those heads
    bool inside;
  };
  SLICESORT_HD position at(index_t block, int rank) const {
    index_t const tiles = divide_up(queries, rows_of_block);
    index_t const row = block % tiles * rows_of_block + rank / 32;
    return {block / tiles, row, row < queries};
  }
};

template <class Mask, class T>
struct softmax_rows_body {
  static constexpr int max_threads = 32 * map_rows::rows_of_block;
  using A = detail::accumulator_t<T>;

  Mask mask;
  A scale{};
  map_rows rows{};
  A const* products{};  // [heads, queries, keys]; the weights may lie in the same place
  head_matrices<T> weights{};
  tensor4<T const> bias{};
  detail::attention_lengths lengths{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    map_rows::position const at = rows.at(block.index(), block.rank());
    int const lane = block.rank() % 32;
    constexpr A none = least_score<A>;
    bool const valid = at.inside && at.row < rows_of(lengths.queries, rows.sample, rows.queries);
    index_t const keys = rows_of(lengths.keys, rows.sample, rows.keys);
    auto const& own = mask_of(mask, head_index{rows.sample, rows.first_head + at.head});
    key_range const range = valid ? detail::range_of_keys(own, at.row, keys) : key_range{0, 0};
    A const* const mine = products + (at.head * rows.queries + at.row) * rows.keys;
    auto const score_of = [&](index_t key) {
      if (key < range.first || key >= range.last || !detail::allows_key(own, at.row, key))
        return none;
      A more(0);
      if (bias.data() != nullptr)
        more = static_cast<A>(bias(rows.sample, rows.first_head + at.head, at.row, key));
      return block.multiply_add(mine[key], scale, more);
    };
    A const factor = factor_of<T>(A(1));

    A max = none, sum(0);
    for (index_t key = lane; key < range.last; key += 32) {
      A const one = score_of(key);
      if (one == none) continue;
      if (one > max) {
        sum = sum * exp_of<T>(block, max - one, factor) + A(1);
        max = one;
      } else {
        sum += exp_of<T>(block, one - max, factor);
      }
    }
    A const row_max = block.template reduce<32>(max, [](A a, A b) { return a > b ? a : b; });
    A const base = row_max == none ? A(0) : row_max;
    sum = block.template reduce<32>(sum * exp_of<T>(block, max - base, factor),
                                    [](A a, A b) { return a + b; });
    if (!at.inside) return;
    A const inv_sum = sum > A(0) ? A(1) / sum : sum - sum;  // or NaN
    for (index_t key = lane; key < rows.keys; key += 32) {
      A const one = score_of(key);
      weights.data[at.head * weights.head_stride + at.row * weights.row_stride +
                   key * weights.column_stride] =
          static_cast<T>(one == none ? A(0) : exp_of<T>(block, one - base, factor) * inv_sum);
    }
  }
};

// Turns gradients of weights into gradients of scores.
template <class T>
struct dscore_rows_body {
  static constexpr int max_threads = 32 * map_rows::rows_of_block;
  using A = detail::accumulator_t<T>;

  map_rows rows;
  head_matrices<T const> weights;
  A const* dweights;  // [heads, queries, keys]; the dscores may lie in the same place
  T* dscores;
  query_stats<A> const* stats;  // of the first of the heads
  tensor4<T> dbias;
  grad_mode mode;

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    map_rows::position const at = rows.at(block.index(), block.rank());
    if (!at.inside) return;
    index_t const row = at.head * rows.queries + at.row;
    A const delta = stats[row].delta;
    for (index_t key = block.rank() % 32; key < rows.keys; key += 32) {
      A const weight =
          static_cast<A>(weights.data[at.head * weights.head_stride + at.row * weights.row_stride +
                                      key * weights.column_stride]);
      index_t const i = row * rows.keys + key;
      // An element without a weight may be past a length, and hold anything.
      A const dscore = weight == A(0) ? A(0) : weight * (dweights[i] - delta);
      dscores[i] = static_cast<T>(dscore);
      if (dbias.data() != nullptr && (mode == grad_mode::overwrite || dscore != A(0)))
        store_or_accumulate_sum(mode, dbias(rows.sample, rows.first_head + at.head, at.row, key),
                                dscore);
    }
  }
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
