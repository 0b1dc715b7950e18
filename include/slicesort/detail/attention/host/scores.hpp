// SPDX-License-Identifier: Apache-2.0
// Masked scores of a tile, S = scale * Q K^T + bias. Forward and backward share this code, so the
// recomputed scores match the saved maximum bit for bit.
#pragma once

#include <slicesort/detail/attention/host/gathered_keys.hpp>
#include <slicesort/detail/attention/host/mask_and_head.hpp>
#include <slicesort/detail/attention/host/simd_table.hpp>
#include <slicesort/detail/attention/host/tile.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// Reciprocal of the sum of exponentials; 0 for a query without keys.
template <class A>
A inverse_sum(A row_sum) {
  return row_sum == A(0) ? A(0) : A(1) / row_sum;
}

template <class A>
class attention_scratch {
 public:
  A* scores;  // [key][lane]

  explicit attention_scratch(arena& memory) {
    constexpr std::size_t lanes = tile_queries, tile = lanes * tile_keys;
    scores = memory.take<A>(tile);
    bias_ = memory.take<A>(tile);  // a relative bias uses lanes + rows elements
    first_ = memory.take<lane_uint<A>>(lanes);
    last_ = memory.take<lane_uint<A>>(lanes);
    lane_bits_ = memory.take<std::uint64_t>(tile_keys);
  }

  // Arguments of the product of packed keys [key][channel] and packed queries [channel][lane]. With
  // a bias, `mask_scores` applies the scale.
  template <class T>
  product_params<A> score_product(attention_kernels<T> const& kernels, A scale,
                                  tensor4<T const> bias, lane_range lanes, int rows, A const* keys,
                                  index_t pitch, A const* queries, index_t channels) const {
    return {{keys, pitch, 1},
            {queries + lanes.first, tile_queries},
            {scores + lanes.first, tile_queries},
            {static_cast<int>(padded_rows(rows)), lanes.count(), kernels.packed_width(channels)},
            {false, nullptr, bias.data() != nullptr ? A(1) : scale}};
  }

  // Adds the bias and masks the scores of a tile.
  template <class T>
  void add_bias_and_mask(attention_kernels<T> const& kernels, attention_config const& config,
                         attention_ranges const& ranges, attention_head const& head,
                         tensor4<T const> bias, attention_pairs pairs) const {
    bool const has_bias = bias.data() != nullptr;
    bool const unmasked =
        config.mask.allowed_bits == nullptr && ranges.covers(pairs.key, pairs.key + pairs.keys);
    if (unmasked && !has_bias) return;
    index_t const bias_pitch = has_bias ? load_bias(head, bias, pairs) : 0;
    if (unmasked)
      return mask_scores(kernels, config, head, bias_pitch, {}, pairs.keys, nullptr, true);
    for (int i = 0; i < tile_queries; ++i) {
      auto const row_of = [&](index_t key) {
        return static_cast<lane_uint<A>>(std::clamp<index_t>(key - pairs.key, 0, pairs.keys));
      };
      first_[i] = row_of(ranges.query_ranges[i].first),
      last_[i] = row_of(ranges.query_ranges[i].last);
    }
    if (config.mask.allowed_bits != nullptr)
      config.mask.allowed_bits(config.mask.mask, head, pairs, lane_bits_);
    mask_scores(kernels, config, head, bias_pitch, {}, pairs.keys,
                config.mask.allowed_bits != nullptr ? lane_bits_ : nullptr);
  }
  // Adds the bias and masks the scores of a segment of gathered keys.
  template <class T>
  void add_bias_and_mask(attention_kernels<T> const& kernels, attention_config const& config,
                         gathered_keys const& gathered, gathered_segment segment,
                         attention_head const& head, tensor4<T const> bias, index_t query,
                         int queries) const {
    bool const has_bias = bias.data() != nullptr,
               unmasked = gathered.is_fully_visible(segment, queries);
    if (unmasked && !has_bias) return;
    if (has_bias)
      load_bias(head, bias, segment.lanes, query, queries, segment.keys,
                [&](int j) { return gathered.keys[segment.first + j]; });
    std::fill_n(first_, tile_queries, lane_uint<A>(0));
    std::fill_n(last_, tile_queries, static_cast<lane_uint<A>>(segment.keys));
    mask_scores(kernels, config, head, has_bias ? tile_queries : 0, segment.lanes, segment.keys,
                gathered.query_bits + segment.first, unmasked);
  }

  // Computes the dropout mask of the keys `keys`, or of consecutive keys from `key` on if `keys` is
  // null. Returns null without dropout.
  template <class T>
  std::uint64_t const* compute_keep_mask(attention_kernels<T> const& kernels,
                                         attention_config const& config, attention_head const& head,
                                         index_t query, index_t key, index_t const* keys,
                                         int rows) const {
    if (!config.dropout.is_enabled()) return nullptr;
    kernels.compute_keep_mask(
        make_keep_mask_params(config, head, query, key, keys, rows, lane_bits_));
    return lane_bits_;
  }

 private:
  template <class T>
  void mask_scores(attention_kernels<T> const& kernels, attention_config const& config,
                   attention_head const& head, index_t bias_pitch, lane_range lanes, int rows,
                   std::uint64_t const* allowed_bits, bool unmasked = false) const {
    A const* bias = nullptr;
    if (bias_pitch > 0) bias = bias_;
    if (bias_pitch < 0) bias = bias_ - (rows - 1) * bias_pitch;
    mask_scores_params<A> params{scores,
                                 rows,
                                 {bias, bias_pitch},
                                 config.template scale_of<A>(head),
                                 {first_, last_, allowed_bits, unmasked}};
    params.lanes = lanes;
    kernels.mask_scores(params);
  }
  // Loads the bias of a tile and returns its pitch. A relative bias has pitch -1: row j begins at
  // the second lane of row j + 1.
  template <class T>
  index_t load_bias(attention_head const& head, tensor4<T const> bias,
                    attention_pairs const& pairs) const {
    strides4 const strides = bias.strides();
    if (strides.length != -strides.channels || strides.channels == 0 || pairs.queries == 0) {
      load_bias(head, bias, {}, pairs.query, pairs.queries, pairs.keys,
                [&](int j) { return pairs.key + j; });
      return tile_queries;
    }
    // Spans the last key of the first query to the first key of the last query.
    T const* const last =
        head.at(bias, pairs.query) + (pairs.key + pairs.keys - 1) * strides.channels;
    int const count = pairs.keys + pairs.queries - 1;
    for (int n = 0; n < count; ++n) bias_[n] = static_cast<A>(last[-n * strides.channels]);
    std::fill(bias_ + count, bias_ + pairs.keys + tile_queries - 1, A(0));
    return -1;
  }
  // Loads the bias of the key key_of(j) to row j of the tile.
  template <class T, class F>
  void load_bias(attention_head const& head, tensor4<T const> bias, lane_range lanes, index_t query,
                 int queries, int rows, F const& key_of) const {
    index_t const key_stride = bias.strides().channels;
    if (queries < tile_queries) std::fill_n(bias_, static_cast<index_t>(rows) * tile_queries, A(0));
    for (int i = lanes.first; i < std::min(lanes.last, queries); ++i) {
      T const* const row = head.at(bias, query + i);
      for (int j = 0; j < rows; ++j)
        bias_[j * tile_queries + i] = static_cast<A>(row[key_of(j) * key_stride]);
    }
  }

  A* bias_;                     // [key][lane]
  lane_uint<A>*first_, *last_;  // [lane]: rows of the visible range
  std::uint64_t* lane_bits_;    // [key]: allowed or kept lanes
};

SLICESORT_DETAIL_END
