// SPDX-License-Identifier: Apache-2.0
// Weight gradients of sparse_mix on the host: products of rows of two tiles, accumulated tile by
// tile.
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

// Accumulates products over the tiles of a sample. The sums are in dweights if it has the
// accumulator's type. Otherwise each concurrent sample has its own sums, which the last tile
// rounds.
template <class T>
class mix_products {
 public:
  using A = accumulator_t<T>;

  mix_products(arena& memory, mix_shape const& shape, unsigned threads)
      : tiles_((shape.extents.channels + mix_columns - 1) / mix_columns),
        concurrent_samples_(std::min(shape.extents.batch, static_cast<index_t>(threads))),
        shape_(shape),
        order_(memory, tiles_ > 1 && threads > 1 ? shape.extents.batch : 0, shape.factors),
        sums_(memory.take<A>(amount(tiles_ > 1 && !in_place ? concurrent_samples_ : 0) *
                             shape.factors * shape.extents.length * shape.links)) {}

  index_t tiles() const { return tiles_; }
  void begin(tensor_stack<T> dweights, grad_mode mode) {
    dweights_ = dweights;
    mode_ = mode;
    order_.begin();
  }

  // Adds the products of `dz`, the gradient of a factor's output, and `input`, the factor's input.
  // Overwrites both tiles past the valid rows and columns.
  void add(mix_chain<T> const& chain, index_t factor, A* dz, A* input) const {
    index_t const sample = chain.chunk().batch, tile = chain.chunk().channel / mix_columns;
    index_t const rows = chain.rows();
    pad_tiles(chain, dz, input);
    wait_for_order(sample, factor, tile);
    // A round processes as many links as fit, then as many rows as fit.
    int const round_dots = chain.call().kernels.dots_per_round;
    for (index_t first = 0, links; first < shape_.links; first += links) {
      links = std::min<index_t>(shape_.links - first, round_dots);
      mix_pairs pairs{};
      pairs.step = round_dots / links, pairs.same_row = pairs.step == 1;
      pairs.used = static_cast<int>(pairs.step * links);
      index_t distances[mix_dots_at_once], row_offsets[mix_dots_at_once];
      chain.wrapped_offsets(factor, first, static_cast<int>(links), distances);
      for_each_row_span(
          distances, static_cast<int>(links), rows, row_offsets, [&](index_t begin, index_t end) {
            for (int i = 0; i < pairs.used; ++i) {
              index_t const row = i / links, k = i % links;
              pairs.a[i] = row * mix_columns, pairs.b[i] = (row + row_offsets[k]) * mix_columns;
            }
            constexpr int rounds = 16;
            A products[rounds * mix_dots_at_once];
            for (index_t i = begin; i < end; i += rounds * pairs.step) {
              index_t const count = std::min(rounds * pairs.step, end - i);
              chain.call().kernels.dots(dz + i * mix_columns, input + i * mix_columns, pairs,
                                        static_cast<int>((count + pairs.step - 1) / pairs.step),
                                        products);
              add_rows(chain, factor, i, count, first, links, products);
            }
          });
    }
    if (tile + 1 == tiles_ && mode_ == grad_mode::overwrite) clear(sample, factor, rows);
    order_.finish(sample * shape_.factors + factor, tile + 1);
  }

  // Zeroes the gradients past the valid rows.
  void clear(index_t sample, index_t factor, index_t first) const {
    for (index_t i = first; i < shape_.extents.length; ++i)
      for (index_t k = 0; k < shape_.links; ++k)
        dweights_(factor, sample, i, k) = static_cast<T>(A(0));
  }

 private:
  static constexpr bool in_place = std::is_same_v<T, A>;

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
      order_.wait_for(sample * shape_.factors + factor, tile);
    else if (!in_place && sample >= concurrent_samples_)  // an earlier sample uses the same sums
      order_.wait_for((sample - concurrent_samples_) * shape_.factors + factor, tiles_);
  }

  // Adds products to the sums. `products[r * links + k]` belongs to row `row + r` and link `first +
  // k`.
  void add_rows(mix_chain<T> const& chain, index_t factor, index_t row, index_t count,
                index_t first, index_t links, A const* products) const {
    index_t const sample = chain.chunk().batch, tile = chain.chunk().channel / mix_columns;
    bool const initial = tile == 0 && mode_ == grad_mode::overwrite, last = tile + 1 == tiles_;
    index_t const step = dweights_.strides().channels;
    A* sums = nullptr;  // contiguous sums of a row, if any
    index_t pitch = shape_.links;
    if constexpr (in_place) {
      if (step == 1)
        sums = &dweights_(factor, sample, row, first), pitch = dweights_.strides().length;
    } else {
      if (!last && (tile > 0 || initial)) sums = sums_of(sample, factor, row) + first;
    }
    auto const add = chain.call().kernels.add_numbers;
    if (sums != nullptr && pitch == links) return add(products, count * links, sums, initial);
    for (index_t r = 0; r < count; ++r, products += links) {
      if (sums != nullptr) {
        add(products, links, sums + r * pitch, initial);
        continue;
      }
      T* const target = &dweights_(factor, sample, row + r, first);
      A* const sums_of_row =
          in_place || tiles_ == 1 ? nullptr : sums_of(sample, factor, row + r) + first;
      for (index_t k = 0; k < links; ++k) {
        A const previous = initial                 ? A(0)
                           : in_place || tile == 0 ? static_cast<A>(target[k * step])
                                                   : sums_of_row[k];
        A const sum = previous + products[k];
        if (in_place || last)
          target[k * step] = rounded<T>(sum);
        else
          sums_of_row[k] = sum;
      }
    }
  }
  A* sums_of(index_t sample, index_t factor, index_t row) const {
    index_t const matrix_index = sample % concurrent_samples_ * shape_.factors + factor;
    return sums_ + (matrix_index * shape_.extents.length + row) * shape_.links;
  }

  index_t tiles_, concurrent_samples_;
  mix_shape shape_;
  ordered_sum order_;
  A* sums_;
  tensor_stack<T> dweights_;
  grad_mode mode_ = grad_mode::overwrite;
};

SLICESORT_DETAIL_END
