// SPDX-License-Identifier: Apache-2.0
// Weight gradients of sparse_mix on the host: dot products of the rows of two tiles, accumulated
// tile by tile.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/math/rounded.hpp>
#include <slicesort/detail/sparse_mix/host/chain.hpp>
#include <slicesort/detail/sparse_mix/host/ordered_sum.hpp>
#include <slicesort/detail/sparse_mix/host/simd_table.hpp>
#include <slicesort/detail/sparse_mix/host/tile.hpp>
#include <slicesort/detail/sparse_mix/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Accumulates products over the tiles of a sample: in dweights if it has the accumulator's type,
// otherwise in separate sums for each concurrent sample, which the last tile rounds.
template <class T>
class mix_weight_gradient {
 public:
  using A = accumulator_t<T>;

  mix_weight_gradient(arena& memory, mix_shape const& shape, unsigned threads)
      : tiles_per_sample_((shape.extents.channels + mix_columns - 1) / mix_columns),
        concurrent_samples_(std::min(shape.extents.batch, static_cast<index_t>(threads))),
        shape_(shape),
        addition_order_(memory, tiles_per_sample_ > 1 && threads > 1 ? shape.extents.batch : 0,
                        shape.factors),
        sums_(memory.take<A>(
            amount(tiles_per_sample_ > 1 && !sums_in_dweights ? concurrent_samples_ : 0) *
            shape.factors * shape.extents.length * shape.links)) {}

  index_t tiles_per_sample() const { return tiles_per_sample_; }
  void begin_call(tensor_stack<T> dweights, grad_mode mode) {
    dweights_ = dweights;
    mode_ = mode;
    addition_order_.reset();
  }

  // Adds the products of `dz`, the gradient of a factor's output, and `input`, the factor's input.
  // Overwrites both tiles past the valid rows and columns.
  void add_products(mix_chain<T> const& chain, index_t factor, A* dz, A* input) const {
    index_t const sample = chain.chunk().batch, tile = chain.chunk().channel / mix_columns;
    index_t const rows = chain.rows();
    pad_tiles(chain, dz, input);
    wait_for_order(sample, factor, tile);
    // A round processes as many links as fit, then as many rows as fit.
    int const max_dots = chain.call().kernels.max_dots_per_round;
    for (index_t first = 0, links; first < shape_.links; first += links) {
      links = std::min<index_t>(shape_.links - first, max_dots);
      mix_dot_offsets offsets{};
      offsets.rows_per_round = max_dots / links;
      offsets.a_is_one_row = offsets.rows_per_round == 1;
      offsets.dots_per_round = static_cast<int>(offsets.rows_per_round * links);
      index_t distances[mix_max_dots_per_round], row_offsets[mix_max_dots_per_round];
      chain.compute_distances(factor, first, static_cast<int>(links), distances);
      for_each_row_span(
          distances, static_cast<int>(links), rows, row_offsets, [&](index_t begin, index_t end) {
            for (int i = 0; i < offsets.dots_per_round; ++i) {
              index_t const row = i / links, k = i % links;
              offsets.a[i] = row * mix_columns, offsets.b[i] = (row + row_offsets[k]) * mix_columns;
            }
            constexpr int rounds = 16;
            A products[rounds * mix_max_dots_per_round];
            for (index_t i = begin; i < end; i += rounds * offsets.rows_per_round) {
              index_t const count = std::min(rounds * offsets.rows_per_round, end - i);
              chain.call().kernels.dot_rows(
                  dz + i * mix_columns, input + i * mix_columns, offsets,
                  static_cast<int>((count + offsets.rows_per_round - 1) / offsets.rows_per_round),
                  products);
              add_rows(chain, factor, i, count, first, links, products);
            }
          });
    }
    if (tile + 1 == tiles_per_sample_ && mode_ == grad_mode::overwrite)
      clear_rows(sample, factor, rows);
    addition_order_.finish(sample * shape_.factors + factor, tile + 1);
  }

  // Zeroes the gradients past the valid rows.
  void clear_rows(index_t sample, index_t factor, index_t first) const {
    for (index_t i = first; i < shape_.extents.length; ++i)
      for (index_t k = 0; k < shape_.links; ++k)
        dweights_(factor, sample, i, k) = static_cast<T>(A(0));
  }

 private:
  static constexpr bool sums_in_dweights = std::is_same_v<T, A>;

  // Pads the channels of both tiles with values whose products change no sum, not even the sign of
  // a zero.
  static void pad_tiles(mix_chain<T> const& chain, A* dz, A* input) {
    index_t const rows = chain.rows(), width = chain.chunk().channels;
    if (width == mix_columns) return;
    for (index_t i = 0; i < rows; ++i) {
      std::fill(dz + i * mix_columns + width, dz + (i + 1) * mix_columns, -A(0));
      std::fill(input + i * mix_columns + width, input + (i + 1) * mix_columns, A(0));
    }
  }

  void wait_for_order(index_t sample, index_t factor, index_t tile) const {
    if (tile > 0)
      addition_order_.wait_for(sample * shape_.factors + factor, tile);
    else if (!sums_in_dweights && sample >= concurrent_samples_)  // reuses an earlier sample's sums
      addition_order_.wait_for((sample - concurrent_samples_) * shape_.factors + factor,
                               tiles_per_sample_);
  }

  // Adds products to the sums. `products[r * links + k]` belongs to row `row + r` and link `first +
  // k`.
  void add_rows(mix_chain<T> const& chain, index_t factor, index_t row, index_t count,
                index_t first, index_t links, A const* products) const {
    index_t const sample = chain.chunk().batch, tile = chain.chunk().channel / mix_columns;
    bool const starts_sums = tile == 0 && mode_ == grad_mode::overwrite,
               is_last = tile + 1 == tiles_per_sample_;
    index_t const stride = dweights_.strides().channels;
    A* sums = nullptr;  // contiguous sums of a row, if any
    index_t pitch = shape_.links;
    if constexpr (sums_in_dweights) {
      if (stride == 1)
        sums = &dweights_(factor, sample, row, first), pitch = dweights_.strides().length;
    } else {
      if (!is_last && (tile > 0 || starts_sums)) sums = sums_of_row(sample, factor, row) + first;
    }
    auto const add = chain.call().kernels.add_values;
    if (sums != nullptr && pitch == links) return add(products, count * links, sums, starts_sums);
    for (index_t r = 0; r < count; ++r, products += links) {
      if (sums != nullptr) {
        add(products, links, sums + r * pitch, starts_sums);
        continue;
      }
      T* const target = &dweights_(factor, sample, row + r, first);
      A* const row_sums = sums_in_dweights || tiles_per_sample_ == 1
                              ? nullptr
                              : sums_of_row(sample, factor, row + r) + first;
      for (index_t k = 0; k < links; ++k) {
        A const previous = starts_sums                     ? A(0)
                           : sums_in_dweights || tile == 0 ? static_cast<A>(target[k * stride])
                                                           : row_sums[k];
        A const sum = previous + products[k];
        if (sums_in_dweights || is_last)
          target[k * stride] = rounded<T>(sum);
        else
          row_sums[k] = sum;
      }
    }
  }
  A* sums_of_row(index_t sample, index_t factor, index_t row) const {
    index_t const matrix_index = sample % concurrent_samples_ * shape_.factors + factor;
    return sums_ + (matrix_index * shape_.extents.length + row) * shape_.links;
  }

  index_t tiles_per_sample_, concurrent_samples_;
  mix_shape shape_;
  ordered_sum addition_order_;
  A* sums_;
  tensor_stack<T> dweights_;
  grad_mode mode_ = grad_mode::overwrite;
};

SLICESORT_DETAIL_END
