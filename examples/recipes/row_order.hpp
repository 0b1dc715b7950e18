// SPDX-License-Identifier: Apache-2.0
// The order of the rows of every head by their hash: finds it, moves rows by it, and masks pairs of
// sorted rows. For reformer.
#pragma once

#include "support.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/matmul.hpp>
#include <slicesort/max_exchange.hpp>
#include <slicesort/options.hpp>
#include <slicesort/permute.hpp>
#include <slicesort/policies/mask.hpp>
#include <slicesort/slicing_sort.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace recipes {

using row_number = std::int32_t;

// Mask of sorted rows: valid keys of a chunk and the one before and, if causal, none that is later
// in the sequence. Every head of every sample counts as a head, because a mask knows no samples.
struct sorted_pairs {
  struct valid_rows {
    index_t count;
    row_number const* order;  // null if not causal

    RECIPES_HD ss::key_range range(index_t query, index_t) const {
      return {0, query < count ? count : 0};
    }
    RECIPES_HD bool allows(index_t query, index_t key) const {
      return order == nullptr || order[key] <= order[query];
    }
    RECIPES_HD bool covers(index_t, index_t last_query, index_t, index_t last_key) const {
      return order == nullptr && last_query <= count && last_key <= count;
    }
    std::uint64_t query_bits(index_t first_query, index_t key) const {
      index_t const queries = key < count ? std::min<index_t>(count - first_query, 64) : 0;
      if (order == nullptr && queries > 0) return ~std::uint64_t{} >> (64 - queries);
      std::uint64_t bits = 0;
      for (index_t i = 0; i < queries; ++i)
        bits |= std::uint64_t{allows(first_query + i, key)} << i;
      return bits;
    }
  };
  index_t chunk;
  tensor4<row_number> order;
  bool causal;
  ss::row_lengths lengths;

  RECIPES_HD ss::mask::both<ss::mask::chunk_back, valid_rows> for_head(index_t h) const {
    extents4 const e = order.extents();
    index_t const count =
        lengths.lengths.data() == nullptr ? e.length : lengths.lengths(h / e.heads);
    return {{chunk, true, count}, {count, causal ? order.data() + h * e.length : nullptr}};
  }
  char const* validate(index_t keys) const { return ss::mask::chunk_back{chunk}.validate(keys); }
};

template <class Exec>
class row_order {
 public:
  row_order(Exec const& exec, memory<Exec>& owner, extents4 x, ss::row_lengths lengths)
      : exec_(exec),
        rows_(owner.template tensor<row_number>({x.batch, x.heads, x.length, 1})),
        lengths_(lengths) {}

  // [batch, heads, length, 1]; row n of a sorted head is row rows()(b, h, n, 0) of the sequence.
  tensor4<row_number> rows() const { return rows_; }

  // Sorts the valid rows by bucket, and by position within a bucket. The bucket of a row is the
  // first maximum of its scores, which are `rotation x` [1, 1, buckets / 2, channels], and their
  // negatives.
  template <class T>
  void sort_by_bucket(tensor4<T const> x, tensor4<T const> rotation) {
    memory<Exec> temporary(exec_);
    extents4 const e = x.extents();
    index_t const half = rotation.extents().length;
    auto const scores = temporary.template tensor<T>({e.batch, e.heads, 2 * half, e.length});
    auto const half_of_scores = [&](index_t first) {
      return tensor4<T>(scores.data() + first * e.length, {e.batch, e.heads, half, e.length},
                        scores.strides());
    };
    ss::matmul{1.0}.forward(exec_, rotation, ss::transposed(x), half_of_scores(0),
                            temporary.workspace());
    ss::matmul{-1.0}.forward(exec_, rotation, ss::transposed(x), half_of_scores(half),
                             temporary.workspace());
    auto const buckets = temporary.template tensor<std::uint16_t>({e.batch, e.heads, 1, e.length});
    for (index_t h = 0; h < e.heads; ++h)
      ss::max_exchange{}.forward(exec_, head(scores, h), head(scores, h), head(buckets, h));
    // Small integers have the order of the float16 numbers with the same bits.
    tensor4<ss::float16> const keys(reinterpret_cast<ss::float16*>(buckets.data()),
                                    rows_.extents());
    ss::slicing_sort<>{}.forward(exec_, heads_as_channels(keys), heads_as_channels(keys),
                                 heads_as_channels(rows_), temporary.workspace(), lengths_);
  }

  // Returns the rows of x in this order.
  template <class U>
  tensor4<std::remove_const_t<U>> sorted(memory<Exec>& owner, tensor4<U> x) const {
    auto const result = owner.template tensor<std::remove_const_t<U>>(x.extents());
    for (index_t h = 0; h < x.extents().heads; ++h)
      ss::permute{}.forward(exec_, head(x, h), rows_of(h, x.extents().channels), head(result, h),
                            owner.workspace(), lengths_);
    return result;
  }
  // Writes or adds sorted rows in the order of the sequence.
  template <class U>
  void restore(memory<Exec>& owner, tensor4<U> x, tensor4<U> result,
               ss::grad_mode mode = ss::grad_mode::overwrite) const {
    for (index_t h = 0; h < x.extents().heads; ++h)
      ss::permute{}.backward(exec_, head(x, h), rows_of(h, x.extents().channels), head(result, h),
                             owner.workspace(), {mode, lengths_});
  }

 private:
  tensor3<row_number const> rows_of(index_t h, index_t channels) const {
    auto const rows = head(rows_, h);
    extents3 const e = rows.extents();
    return {rows.data(), {e.batch, e.length, channels}, {rows.strides().batch, 1, 0}};
  }
  // A tensor with one channel as [batch, length, heads].
  template <class U>
  static tensor3<U> heads_as_channels(tensor4<U> x) {
    extents4 const e = x.extents();
    return {x.data(), {e.batch, e.length, e.heads}, {e.heads * e.length, 1, e.length}};
  }

  Exec exec_;
  tensor4<row_number> rows_;
  ss::row_lengths lengths_;
};

}  // namespace recipes
