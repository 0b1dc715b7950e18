// SPDX-License-Identifier: Apache-2.0
// The gradient of sparse_mix's weights on the host: products of rows of two tiles, added up tile by
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

// Every tile of a sample adds its products to those of the tiles before it: in dweights itself if
// that has the accumulator's type, else in sums for the samples that are under way, which the last
// tile rounds.
template <class T>
class mix_products {
 public:
  using A = accumulator_t<T>;

  mix_products(arena& a, mix_shape const& s, unsigned threads)
      : tiles_((s.extents.channels + mix_columns - 1) / mix_columns),
        under_way_(std::min(s.extents.batch, static_cast<index_t>(threads))),
        shape_(s),
        order_(a, tiles_ > 1 && threads > 1 ? s.extents.batch : 0, s.factors),
        sums_(a.take<A>(amount(tiles_ > 1 && !in_place ? under_way_ : 0) * s.factors *
                        s.extents.length * s.links)) {}

  index_t tiles() const { return tiles_; }
  void begin(tensor_stack<T> dweights, grad_mode mode) {
    to_ = dweights;
    mode_ = mode;
    order_.begin();
  }

  // `dz`: gradients of a factor's output; `v`: its input. Both tiles are written past the valid
  // rows and columns.
  void add(mix_chain<T> const& chain, index_t factor, A* dz, A* v) const {
    index_t const sample = chain.run().batch, tile = chain.run().channel / mix_columns;
    index_t const rows = chain.rows();
    complete(chain, dz, v);
    wait_for_order(sample, factor, tile);
    // A round takes all links that it has room for, and as many rows.
    int const at_once = chain.call().use.dots_of_round;
    for (index_t first = 0, links; first < shape_.links; first += links) {
      links = std::min<index_t>(shape_.links - first, at_once);
      mix_pairs at{};
      at.step = at_once / links, at.one_row = at.step == 1;
      at.used = static_cast<int>(at.step * links);
      index_t ahead[mix_dots_at_once], away[mix_dots_at_once];
      chain.wrapped_offsets(factor, first, static_cast<int>(links), ahead);
      for_each_row_span(
          ahead, static_cast<int>(links), rows, away, [&](index_t begin, index_t end) {
            for (int s = 0; s < at.used; ++s) {
              index_t const row = s / links, k = s % links;
              at.a[s] = row * mix_columns, at.b[s] = (row + away[k]) * mix_columns;
            }
            constexpr int rounds = 16;
            A products[rounds * mix_dots_at_once];
            for (index_t i = begin; i < end; i += rounds * at.step) {
              index_t const count = std::min(rounds * at.step, end - i);
              chain.call().use.dots(dz + i * mix_columns, v + i * mix_columns, at,
                                    static_cast<int>((count + at.step - 1) / at.step), products);
              add_rows(chain, factor, i, count, first, links, products);
            }
          });
    }
    if (tile + 1 == tiles_ && mode_ == grad_mode::overwrite) clear(sample, factor, rows);
    order_.finish(sample * shape_.factors + factor, tile + 1);
  }

  // Gradients of the weights of rows past the valid ones.
  void clear(index_t sample, index_t factor, index_t first) const {
    for (index_t i = first; i < shape_.extents.length; ++i)
      for (index_t k = 0; k < shape_.links; ++k) to_(factor, sample, i, k) = static_cast<T>(A(0));
  }

 private:
  static constexpr bool in_place = std::is_same_v<T, A>;

  // Products take whole tiles of channels, so channels past the last one get values that add
  // nothing, not even the sign of a zero.
  static void complete(mix_chain<T> const& chain, A* dz, A* v) {
    index_t const rows = chain.rows(), width = chain.run().channels;
    if (width == mix_columns) return;
    for (index_t i = 0; i < rows; ++i) {
      std::fill(dz + i * mix_columns + width, dz + (i + 1) * mix_columns, -A(0));
      std::fill(v + i * mix_columns + width, v + (i + 1) * mix_columns, A(0));
    }
  }

  void wait_for_order(index_t sample, index_t factor, index_t tile) const {
    if (tile > 0)
      order_.wait_for(sample * shape_.factors + factor, tile);
    else if (!in_place && sample >= under_way_)  // a sample before still uses these sums
      order_.wait_for((sample - under_way_) * shape_.factors + factor, tiles_);
  }

  // Adds products to the sums: `of[q * links + k]` is that of row row + q and link first + k.
  void add_rows(mix_chain<T> const& chain, index_t factor, index_t row, index_t count,
                index_t first, index_t links, A const* of) const {
    index_t const sample = chain.run().batch, tile = chain.run().channel / mix_columns;
    bool const anew = tile == 0 && mode_ == grad_mode::overwrite, last = tile + 1 == tiles_;
    index_t const step = to_.strides().channels;
    A* sums = nullptr;  // where a row's sums lie side by side, in the accumulator's type
    index_t pitch = shape_.links;
    if constexpr (in_place) {
      if (step == 1) sums = &to_(factor, sample, row, first), pitch = to_.strides().length;
    } else {
      if (!last && (tile > 0 || anew)) sums = sums_of(sample, factor, row) + first;
    }
    auto const add = chain.call().use.add_numbers;
    if (sums != nullptr && pitch == links) return add(of, count * links, sums, anew);
    for (index_t q = 0; q < count; ++q, of += links) {
      if (sums != nullptr) {
        add(of, links, sums + q * pitch, anew);
        continue;
      }
      T* const to = &to_(factor, sample, row + q, first);
      A* const kept = in_place || tiles_ == 1 ? nullptr : sums_of(sample, factor, row + q) + first;
      for (index_t k = 0; k < links; ++k) {
        A const before = anew                    ? A(0)
                         : in_place || tile == 0 ? static_cast<A>(to[k * step])
                                                 : kept[k];
        A const sum = before + of[k];
        if (in_place || last)
          to[k * step] = rounded<T>(sum);
        else
          kept[k] = sum;
      }
    }
  }
  A* sums_of(index_t sample, index_t factor, index_t row) const {
    index_t const sum = sample % under_way_ * shape_.factors + factor;
    return sums_ + (sum * shape_.extents.length + row) * shape_.links;
  }

  index_t tiles_, under_way_;
  mix_shape shape_;
  ordered_sum order_;
  A* sums_;
  tensor_stack<T> to_;
  grad_mode mode_ = grad_mode::overwrite;
};

SLICESORT_DETAIL_END
