// SPDX-License-Identifier: Apache-2.0
// The scores of a tile: S = scale * Q K^T + bias, masked. Forward and backward compute them by the
// same operations, so that the scores from which backward subtracts the saved maximum have the same
// bits.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/math/exponential.hpp>
#include <slicesort/detail/softmax_attention/host/gathered_keys.hpp>
#include <slicesort/detail/softmax_attention/host/kernels.hpp>
#include <slicesort/detail/softmax_attention/host/mask_and_head.hpp>
#include <slicesort/detail/softmax_attention/host/tile.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// -infinity, built from its bits: with -ffast-math the compiler may assume that there is none.
template <class A>
A no_score() {
  return detail::bit_cast<A>(
      static_cast<lane_uint<A>>(~lane_uint<A>{0} << detail::binary_format<A>::fraction_bits));
}
// The factor that normalizes weights; 0 for a query without keys.
template <class A>
A inverse_sum(A row_sum) {
  return row_sum == A(0) ? A(0) : A(1) / row_sum;
}

template <class A>
class attention_scratch {
 public:
  A* scores;  // [key][lane]

  explicit attention_scratch(detail::arena& a) {
    constexpr std::size_t lanes = attention_queries, tile = lanes * attention_keys;
    scores = a.take<A>(tile);
    bias_ = a.take<A>(tile);
    first_ = a.take<lane_uint<A>>(lanes);
    last_ = a.take<lane_uint<A>>(lanes);
    allowed_ = a.take<std::uint64_t>(attention_keys);
  }

  // Computes the scores. `keys` are rows [key][channel], `queries` are lanes [channel][lane], both
  // operands of `use.multiply`.
  template <class T>
  void form(attention_kernels<T> const& use, attention_rule const& rule,
            attention_ranges const& ranges, attention_head const& head, tensor4<T const> bias,
            attention_pairs at, A const* keys, index_t pitch, A const* queries,
            index_t channels) const {
    bool const biased = bias.data() != nullptr;
    multiply(use, rule, biased, {}, at.keys, keys, pitch, queries, channels);
    if (!biased && rule.mask.allowed == nullptr && ranges.covers(at.key, at.key + at.keys)) return;
    if (biased && bias.strides().length == -bias.strides().channels)
      load_relative_bias(head, bias, at);
    else if (biased)
      load_bias(head, bias, {}, at.query, at.queries, at.keys, [&](int j) { return at.key + j; });
    for (int i = 0; i < attention_queries; ++i) {
      auto const row_of = [&](index_t key) {
        return static_cast<lane_uint<A>>(std::clamp<index_t>(key - at.key, 0, at.keys));
      };
      first_[i] = row_of(ranges.of[i].first), last_[i] = row_of(ranges.of[i].last);
    }
    if (rule.mask.allowed != nullptr) rule.mask.allowed(rule.mask.self, head, at, allowed_);
    mask_scores(use, rule, biased, {}, at.keys, rule.mask.allowed != nullptr ? allowed_ : nullptr);
  }

  // Computes the scores of a part of a tile of gathered keys.
  template <class T>
  void form(attention_kernels<T> const& use, attention_rule const& rule,
            gathered_keys const& gathered, gathered_part part, attention_head const& head,
            tensor4<T const> bias, index_t query, int queries, A const* keys, index_t pitch,
            A const* lanes, index_t channels) const {
    bool const biased = bias.data() != nullptr;
    multiply(use, rule, biased, part.lanes, part.keys, keys, pitch, lanes, channels);
    if (!biased && gathered.all_looked_at(part, queries)) return;
    if (biased)
      load_bias(head, bias, part.lanes, query, queries, part.keys,
                [&](int j) { return gathered.keys[part.first + j]; });
    std::fill_n(first_, attention_queries, lane_uint<A>(0));
    std::fill_n(last_, attention_queries, static_cast<lane_uint<A>>(part.keys));
    mask_scores(use, rule, biased, part.lanes, part.keys, gathered.pairs + part.first);
  }

 private:
  template <class T>
  void multiply(attention_kernels<T> const& use, attention_rule const& rule, bool biased,
                lane_range lanes, int rows, A const* keys, index_t pitch, A const* queries,
                index_t channels) const {
    use.multiply({{keys, pitch, 1},
                  {queries + lanes.first, attention_queries},
                  {scores + lanes.first, attention_queries},
                  {static_cast<int>(padded_rows(rows)), lanes.count(), use.words(channels)},
                  {false, nullptr, biased ? A(1) : static_cast<A>(rule.scale)}});
  }
  template <class T>
  void mask_scores(attention_kernels<T> const& use, attention_rule const& rule, bool biased,
                   lane_range lanes, int rows, std::uint64_t const* allowed) const {
    mask_scores_call<A> call{scores,
                             rows,
                             biased ? bias_ : nullptr,
                             static_cast<A>(rule.scale),
                             {first_, last_, allowed}};
    call.lanes = lanes;
    use.mask_scores(call);
  }
  // key_of(j) is the key of row j.
  template <class T, class F>
  void load_bias(attention_head const& head, tensor4<T const> bias, lane_range lanes, index_t query,
                 int queries, int rows, F const& key_of) const {
    index_t const step = bias.strides().channels;
    if (queries < attention_queries)
      std::fill_n(bias_, static_cast<index_t>(rows) * attention_queries, A(0));
    for (int i = lanes.first; i < std::min(lanes.last, queries); ++i) {
      T const* const row = head.at(bias, query + i);
      for (int j = 0; j < rows; ++j)
        bias_[j * attention_queries + i] = static_cast<A>(row[key_of(j) * step]);
    }
  }
  // A bias that is the same along diagonals: all rows are parts of one, from the greatest distance
  // of a key to the least.
  template <class T>
  void load_relative_bias(attention_head const& head, tensor4<T const> bias,
                          attention_pairs at) const {
    index_t const step = bias.strides().channels;
    A along[attention_keys + attention_queries] = {};
    T const* const greatest = head.at(bias, at.query) + (at.key + at.keys - 1) * step;
    for (int n = 0; n < at.keys + at.queries - 1; ++n)
      along[n] = static_cast<A>(greatest[-n * step]);
    for (int j = 0; j < at.keys; ++j)
      std::copy_n(along + at.keys - 1 - j, attention_queries, bias_ + j * attention_queries);
  }

  A* bias_;  // [key][lane]
  lane_uint<A>*first_, *last_;
  std::uint64_t* allowed_;
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
