// SPDX-License-Identifier: Apache-2.0
// Row kernels of materialized attention: softmax, dropout, and their gradients. Each warp computes
// one row.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/softmax_attention/device/gemm.hpp>
#include <slicesort/detail/softmax_attention/device/mask.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/device/tile.hpp>
#include <slicesort/detail/softmax_attention/dropout.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Rows of the maps of several heads of a sample, and their distribution among warps.
struct map_rows {
  index_t sample, first_head, heads, queries, keys, heads_per_sample;

  static constexpr int rows_per_block = 4;
  SLICESORT_HD index_t blocks() const { return heads * divide_up(queries, rows_per_block); }

  SLICESORT_HD index_t pair(index_t head) const {
    return sample * heads_per_sample + first_head + head;
  }
  struct position {
    index_t head, row;
    bool inside;
  };
  SLICESORT_HD position position_of(index_t block, int rank) const {
    index_t const tiles = divide_up(queries, rows_per_block);
    index_t const row = block % tiles * rows_per_block + rank / 32;
    return {block / tiles, row, row < queries};
  }
};

// Dropout mask of a row.
class keep_row {
 public:
  SLICESORT_HD keep_row(dropout_config const& drop, map_rows const& rows, index_t head, index_t row)
      : drop_(drop),
        counter_(drop.seed_of(rows.sample, rows.first_head + head) +
                 counter_step * static_cast<std::uint64_t>(row * rows.keys + 1)) {}
  SLICESORT_HD bool operator()(index_t key) const {
    return drop_.keeps(counter_ + counter_step * static_cast<std::uint64_t>(key));
  }

 private:
  dropout_config const& drop_;
  std::uint64_t const counter_;  // hash input of key 0
};

template <class Mask, class T>
struct softmax_rows_kernel {
  static constexpr int max_threads = 32 * map_rows::rows_per_block;
  using A = accumulator_t<T>;

  Mask mask;
  A scale{};
  map_rows rows{};
  A const* products{};  // [heads, queries, keys]; may alias the weights
  head_matrices<T> weights{};
  T* dropped{};  // [heads, queries, keys]: weights after dropout, if any; may alias `products`
  dropout_config drop{};
  tensor4<T const> bias{};
  attention_lengths lengths{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    map_rows::position const pos = rows.position_of(block.index(), block.rank());
    int const lane = block.rank() % 32;
    constexpr A masked = least_score<A>;
    bool const valid =
        pos.inside && pos.row < valid_rows(lengths.queries, rows.sample, rows.queries);
    index_t const keys = valid_rows(lengths.keys, rows.sample, rows.keys);
    auto const& head_mask = mask_of(mask, head_index{rows.sample, rows.first_head + pos.head});
    key_range const range = valid ? range_of_keys(head_mask, pos.row, keys) : key_range{0, 0};
    A const* const row_products = products + (pos.head * rows.queries + pos.row) * rows.keys;
    auto const score_of = [&](index_t key) {
      if (key < range.first || key >= range.last || !allows_key(head_mask, pos.row, key))
        return masked;
      A bias_term(0);
      if (bias.data() != nullptr)
        bias_term = static_cast<A>(bias(rows.sample, rows.first_head + pos.head, pos.row, key));
      return block.multiply_add(row_products[key], scale, bias_term);
    };
    A const factor = factor_of<T>(A(1));

    A max = masked, sum(0);
    for (index_t key = lane; key < range.last; key += 32) {
      A const score = score_of(key);
      if (score == masked) continue;
      if (score > max) {
        sum = sum * exp_of<T>(block, max - score, factor) + A(1);
        max = score;
      } else {
        sum += exp_of<T>(block, score - max, factor);
      }
    }
    A const row_max = block.template reduce<32>(max, [](A a, A b) { return a > b ? a : b; });
    A const base = row_max == masked ? A(0) : row_max;
    sum = block.template reduce<32>(sum * exp_of<T>(block, max - base, factor),
                                    [](A a, A b) { return a + b; });
    if (!pos.inside) return;
    A const inv_sum = sum > A(0) ? A(1) / sum : sum - sum;  // 0, or NaN if the sum is NaN
    keep_row const keep(drop, rows, pos.head, pos.row);
    for (index_t key = lane; key < rows.keys; key += 32) {
      A const score = score_of(key);
      auto const weight =
          static_cast<T>(score == masked ? A(0) : exp_of<T>(block, score - base, factor) * inv_sum);
      weights(pos.head, pos.row, key) = weight;
      if (drop.drops())
        dropped[(pos.head * rows.queries + pos.row) * rows.keys + key] =
            keep(key) ? weight : static_cast<T>(0.0f);
    }
  }
};

// Applies dropout to saved weights.
template <class T>
struct drop_rows_kernel {
  static constexpr int max_threads = 32 * map_rows::rows_per_block;

  map_rows rows{};
  head_matrices<T const> weights{};
  T* dropped{};  // [heads, queries, keys]
  dropout_config drop{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    map_rows::position const pos = rows.position_of(block.index(), block.rank());
    if (!pos.inside) return;
    keep_row const keep(drop, rows, pos.head, pos.row);
    T* const out = dropped + (pos.head * rows.queries + pos.row) * rows.keys;
    for (index_t key = block.rank() % 32; key < rows.keys; key += 32)
      out[key] = keep(key) ? weights(pos.head, pos.row, key) : static_cast<T>(0.0f);
  }
};

// Computes the gradients of scores from those of the weights.
template <class T>
struct score_grad_map {
  using A = accumulator_t<T>;

  map_rows rows{};
  head_matrices<T const> weights{};
  A const* dweights{};            // [heads, queries, keys]
  query_stats<A> const* stats{};  // from the first head of the chunk on
  dropout_config drop{};

  class row_view {
   public:
    SLICESORT_HD row_view(score_grad_map const& map, index_t head, index_t row)
        : map_(map),
          weights_(&map.weights(head, row, 0)),
          dweights_(map.dweights + (head * map.rows.queries + row) * map.rows.keys),
          delta_(map.stats[head * map.rows.queries + row].delta),
          head_(head),
          row_(row) {}
    // A key of weight 0 may be past a length, with an uninitialized gradient.
    SLICESORT_HD A operator()(index_t key) const {
      A const weight = static_cast<A>(weights_[key * map_.weights.column_stride]);
      if (weight == A(0)) return A(0);
      A dweight = dweights_[key];
      if (map_.drop.drops())
        dweight = keep_row(map_.drop, map_.rows, head_, row_)(key)
                      ? dweight * static_cast<A>(map_.drop.scale)
                      : A(0);
      return weight * (dweight - delta_);
    }

   private:
    score_grad_map const& map_;
    T const* const weights_;
    A const* const dweights_;
    A const delta_;
    index_t const head_, row_;
  };
};

template <class T>
struct score_grad_rows_kernel {
  static constexpr int max_threads = 32 * map_rows::rows_per_block;
  using A = accumulator_t<T>;

  score_grad_map<T> map{};
  T* score_grads{};  // [heads, queries, keys]; may alias dweights
  tensor4<T> dbias{};
  grad_mode mode{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    map_rows const& rows = map.rows;
    map_rows::position const pos = rows.position_of(block.index(), block.rank());
    if (!pos.inside) return;
    typename score_grad_map<T>::row_view const row(map, pos.head, pos.row);
    for (index_t key = block.rank() % 32; key < rows.keys; key += 32) {
      A const score_grad = row(key);
      score_grads[(pos.head * rows.queries + pos.row) * rows.keys + key] =
          static_cast<T>(score_grad);
      if (dbias.data() != nullptr && (mode == grad_mode::overwrite || score_grad != A(0)))
        store_or_accumulate_sum(mode, dbias(rows.sample, rows.first_head + pos.head, pos.row, key),
                                score_grad);
    }
  }
};

SLICESORT_DETAIL_END
