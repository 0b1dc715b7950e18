// SPDX-License-Identifier: Apache-2.0
// Row kernels of materialized attention: softmax, dropout, and their gradients. Each warp computes
// one row.
#pragma once

#include <slicesort/detail/attention/device/mask.hpp>
#include <slicesort/detail/attention/device/tile.hpp>
#include <slicesort/detail/attention/dropout.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/softmax_attention/device/gemm.hpp>
#include <slicesort/detail/softmax_attention/device/softmax.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/policies/mask_protocol.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Several heads of a sample whose score matrices are in memory at once, and the distribution of
// their rows among warps.
struct head_chunk {
  index_t sample, first_head, heads, queries, keys, heads_per_sample;

  static constexpr int rows_per_block = 4;
  SLICESORT_HD index_t blocks() const { return heads * divide_up(queries, rows_per_block); }

  SLICESORT_HD index_t flat_head(index_t head) const {
    return sample * heads_per_sample + first_head + head;
  }
  struct position {
    index_t head, row;
    bool has_row;
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
  SLICESORT_HD keep_row(dropout_config const& dropout, head_chunk const& chunk, index_t head,
                        index_t row)
      : drop_(dropout),
        counter_(dropout.seed_of(chunk.sample, chunk.first_head + head) +
                 counter_step * static_cast<std::uint64_t>(row * chunk.keys + 1)) {}
  SLICESORT_HD bool operator()(index_t key) const {
    return drop_.keeps(counter_ + counter_step * static_cast<std::uint64_t>(key));
  }

 private:
  dropout_config const& drop_;
  std::uint64_t const counter_;  // hash input of key 0
};

template <class Mask, class T>
struct softmax_rows_kernel {
  static constexpr int max_threads = 32 * head_chunk::rows_per_block;
  using A = accumulator_t<T>;

  Mask mask;
  A scale{};
  head_chunk chunk{};
  A const* scores{};  // [heads, queries, keys]; may alias the weights
  head_matrices<T> weights{};
  T* dropped{};  // [heads, queries, keys]: weights after dropout, if any; may alias `scores`
  dropout_config dropout{};
  tensor4<T const> bias{};
  attention_lengths lengths{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    head_chunk::position const pos = chunk.position_of(block.index(), block.rank());
    int const lane = block.rank() % 32;
    A const masked = minus_infinity<A>();
    bool const valid =
        pos.has_row && pos.row < valid_rows(lengths.queries, chunk.sample, chunk.queries);
    index_t const keys = valid_rows(lengths.keys, chunk.sample, chunk.keys);
    auto const& head_mask = mask_of(mask, head_index{chunk.sample, chunk.first_head + pos.head});
    key_range const range = valid ? clamped_key_range(head_mask, pos.row, keys) : key_range{0, 0};
    A const* const row_scores = scores + (pos.head * chunk.queries + pos.row) * chunk.keys;
    auto const score_of = [&](index_t key) {
      if (key < range.first || key >= range.last || !allows_key(head_mask, pos.row, key))
        return masked;
      A bias_element(0);
      if (bias.data() != nullptr)
        bias_element =
            static_cast<A>(bias(chunk.sample, chunk.first_head + pos.head, pos.row, key));
      return block.multiply_add(row_scores[key], scale, bias_element);
    };
    A const exp_factor = exp_factor_of<T>(A(1));

    A max = masked, sum(0);
    for (index_t key = lane; key < range.last; key += 32) {
      A const score = score_of(key);
      if (score == masked) continue;
      if (score > max) {
        sum = sum * exp_scaled<T>(block, max - score, exp_factor) + A(1);
        max = score;
      } else {
        sum += exp_scaled<T>(block, score - max, exp_factor);
      }
    }
    A const row_max = block.template reduce<32>(max, [](A a, A b) { return a > b ? a : b; });
    A const base = row_max == masked ? A(0) : row_max;
    sum = block.template reduce<32>(sum * exp_scaled<T>(block, max - base, exp_factor),
                                    [](A a, A b) { return a + b; });
    if (!pos.has_row) return;
    A const inv_sum = sum > A(0) ? A(1) / sum : sum - sum;  // 0, or NaN if the sum is NaN
    keep_row const keep(dropout, chunk, pos.head, pos.row);
    for (index_t key = lane; key < chunk.keys; key += 32) {
      A const score = score_of(key);
      auto const weight = static_cast<T>(
          score == masked ? A(0) : exp_scaled<T>(block, score - base, exp_factor) * inv_sum);
      weights(pos.head, pos.row, key) = weight;
      if (dropout.is_enabled())
        dropped[(pos.head * chunk.queries + pos.row) * chunk.keys + key] =
            keep(key) ? weight : static_cast<T>(0.0f);
    }
  }
};

// Applies dropout to saved weights.
template <class T>
struct drop_rows_kernel {
  static constexpr int max_threads = 32 * head_chunk::rows_per_block;

  head_chunk chunk{};
  head_matrices<T const> weights{};
  T* dropped{};  // [heads, queries, keys]
  dropout_config dropout{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    head_chunk::position const pos = chunk.position_of(block.index(), block.rank());
    if (!pos.has_row) return;
    keep_row const keep(dropout, chunk, pos.head, pos.row);
    T* const out = dropped + (pos.head * chunk.queries + pos.row) * chunk.keys;
    for (index_t key = block.rank() % 32; key < chunk.keys; key += 32)
      out[key] = keep(key) ? weights(pos.head, pos.row, key) : static_cast<T>(0.0f);
  }
};

// Computes score gradients from weight gradients as they are read.
template <class T>
struct score_grad_reader {
  using A = accumulator_t<T>;

  head_chunk chunk{};
  head_matrices<T const> weights{};
  A const* dweights{};            // [heads, queries, keys]
  query_stats<A> const* stats{};  // from the first head of the chunk on
  dropout_config dropout{};

  class row_view {
   public:
    SLICESORT_HD row_view(score_grad_reader const& reader, index_t head, index_t row)
        : reader_(reader),
          weights_(&reader.weights(head, row, 0)),
          dweights_(reader.dweights + (head * reader.chunk.queries + row) * reader.chunk.keys),
          delta_(reader.stats[head * reader.chunk.queries + row].delta),
          head_(head),
          row_(row) {}
    // Returns 0 for weight 0: the key may be past a length, where the gradient is uninitialized.
    SLICESORT_HD A operator()(index_t key) const {
      A const weight = static_cast<A>(weights_[key * reader_.weights.column_stride]);
      if (weight == A(0)) return A(0);
      A dweight = dweights_[key];
      if (reader_.dropout.is_enabled())
        dweight = keep_row(reader_.dropout, reader_.chunk, head_, row_)(key)
                      ? dweight * static_cast<A>(reader_.dropout.scale)
                      : A(0);
      return weight * (dweight - delta_);
    }

   private:
    score_grad_reader const& reader_;
    T const* const weights_;
    A const* const dweights_;
    A const delta_;
    index_t const head_, row_;
  };
};

template <class T>
struct score_grad_rows_kernel {
  static constexpr int max_threads = 32 * head_chunk::rows_per_block;
  using A = accumulator_t<T>;

  score_grad_reader<T> reader{};
  T* score_grads{};  // [heads, queries, keys]; may alias dweights
  tensor4<T> dbias{};
  grad_mode mode{};

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    head_chunk const& chunk = reader.chunk;
    head_chunk::position const pos = chunk.position_of(block.index(), block.rank());
    if (!pos.has_row) return;
    typename score_grad_reader<T>::row_view const row(reader, pos.head, pos.row);
    for (index_t key = block.rank() % 32; key < chunk.keys; key += 32) {
      A const score_grad = row(key);
      score_grads[(pos.head * chunk.queries + pos.row) * chunk.keys + key] =
          static_cast<T>(score_grad);
      if (dbias.data() != nullptr && (mode == grad_mode::overwrite || score_grad != A(0)))
        store_or_accumulate_sum(
            mode, dbias(chunk.sample, chunk.first_head + pos.head, pos.row, key), score_grad);
    }
  }
};

SLICESORT_DETAIL_END
