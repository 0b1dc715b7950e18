// SPDX-License-Identifier: Apache-2.0
// The gradient of sparse_mix's weights on the host: products of rows of two tiles, added up tile by tile.
#pragma once

#include <slicesort/detail/arena.hpp>
#include <slicesort/detail/host/mix_chain.hpp>
#include <slicesort/detail/host/mix_tile.hpp>
#include <slicesort/detail/host/mix_turns.hpp>
#include <slicesort/detail/host/simd/mix_kernels.hpp>
#include <slicesort/detail/problem/sparse_mix.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/grad_mode.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// The transpose of `of[k * mix_dot_rows + q]`, for q < rows and k < links, becomes or is added to
// `to[q * pitch + k * step]`.
template <class A>
void add_turned(A* to, index_t pitch, index_t step, index_t rows, int links, A const* of,
                bool anew) {
  using words = portable::vec<std::uint32_t, 4>;
  using lanes = portable::mix_lanes<float>;
  using V = lanes::V;
  int const squares = sizeof(A) == 4 && step == 1 ? links / 4 * 4 : 0;
  for (index_t q = 0; q < rows; q += 4) {
    A* const corner = to + q * pitch;
    int const count = static_cast<int>(std::min<index_t>(4, rows - q));
    for (int k = 0; k < squares; k += 4) {
      A const* const from = of + k * mix_dot_rows + q;
      words const a = portable::load_lanes<words>(from),
                  b = portable::load_lanes<words>(from + mix_dot_rows),
                  c = portable::load_lanes<words>(from + 2 * mix_dot_rows),
                  d = portable::load_lanes<words>(from + 3 * mix_dot_rows);
      words const even = portable::zip<false>(a, c), odd = portable::zip<false>(b, d),
                  even2 = portable::zip<true>(a, c), odd2 = portable::zip<true>(b, d);
      words const turned[] = {portable::zip<false>(even, odd), portable::zip<true>(even, odd),
                              portable::zip<false>(even2, odd2), portable::zip<true>(even2, odd2)};
      for (int row = 0; row < count; ++row) {
        A* const place = corner + row * pitch + k;
        V const before = anew ? V{} : portable::load_lanes<V>(place);
        portable::store_lanes(place, lanes::plus(before, portable::load_lanes<V>(&turned[row])));
      }
    }
    for (int row = 0; row < count; ++row)
      for (int k = squares; k < links; ++k) {
        A& place = corner[row * pitch + k * step];
        place = (anew ? A(0) : place) + of[k * mix_dot_rows + q + row];
      }
  }
}

// Every tile of a sample adds its products to those of the tiles before it: where they lie in the
// accumulator's type in dweights itself, else in sums of the samples that are under way, and the last tile
// rounds them.
template <class T>
class mix_products {
 public:
  using A = detail::accumulator_t<T>;

  mix_products(detail::arena& a, extents3 e, detail::mix_size size, unsigned threads)
      : tiles_((e.channels + mix_columns - 1) / mix_columns),
        under_way_(std::min(e.batch, static_cast<index_t>(threads))),
        size_(size),
        length_(e.length),
        turns_(a, tiles_ > 1 && threads > 1 ? e.batch * size.factors : 0),
        sums_(a.take<A>(static_cast<std::size_t>(
            tiles_ > 1 && !in_place ? under_way_ * size.factors * e.length * size.links : 0))) {}

  index_t tiles() const { return tiles_; }
  void begin(tensor4<T> dweights, grad_mode mode) {
    to_ = dweights;
    mode_ = mode;
    turns_.begin();
  }

  // `dz`: gradients of a factor's output; `v`: its input. Rows and columns past the valid ones are
  // written.
  void add(mix_chain<T> const& chain, index_t factor, A* dz, A* v) const {
    index_t const sample = chain.block().batch, tile = chain.block().channel / mix_columns;
    index_t const rows = chain.rows();
    complete(chain, dz, v);
    wait_for_turn(sample, factor, tile);
    for (index_t first = 0; first < size_.links; first += mix_links) {
      int const links = static_cast<int>(std::min<index_t>(size_.links - first, mix_links));
      index_t ahead[mix_links];
      A products[std::size_t{mix_links} * mix_dot_rows];
      chain.ask(factor, first, links, ahead);
      for (index_t i = 0; i < rows; i += mix_dot_rows) {
        index_t const count = std::min<index_t>(mix_dot_rows, rows - i);
        for (int k = 0; k < links; ++k) {
          index_t const with = i + ahead[k] < rows ? i + ahead[k] : i + ahead[k] - rows;
          chain.call().use.dots(dz + i * mix_columns, v + with * mix_columns,
                                products + k * mix_dot_rows);
        }
        add_rows(sample, factor, tile, i, count, first, links, products);
      }
    }
    if (tile + 1 == tiles_ && mode_ == grad_mode::overwrite) clear(sample, factor, rows);
    turns_.finish(sample * size_.factors + factor, tile + 1);
  }

  // Rows past the valid ones.
  void clear(index_t sample, index_t factor, index_t first) const {
    for (index_t i = first; i < length_; ++i)
      for (index_t k = 0; k < size_.links; ++k) to_(factor, sample, i, k) = static_cast<T>(A(0));
  }

 private:
  static constexpr bool in_place = std::is_same_v<T, A>;

  // Whole blocks of rows and channels are multiplied: rows go round in a circle, and what stands in
  // channels that are not there adds nothing, not even the sign of a zero.
  static void complete(mix_chain<T> const& chain, A* dz, A* v) {
    index_t const rows = chain.rows(), width = chain.block().channels;
    if (width < mix_columns)
      for (index_t i = 0; i < rows; ++i) {
        std::fill(dz + i * mix_columns + width, dz + (i + 1) * mix_columns, -A(0));
        std::fill(v + i * mix_columns + width, v + (i + 1) * mix_columns, A(0));
      }
    for (index_t i = rows, from = 0; rows > 0 && i < rows + mix_dot_rows; ++i, ++from) {
      if (from == rows) from = 0;
      std::copy_n(v + from * mix_columns, mix_columns, v + i * mix_columns);
    }
  }

  void wait_for_turn(index_t sample, index_t factor, index_t tile) const {
    if (tile > 0)
      turns_.wait_for(sample * size_.factors + factor, tile);
    else if (!in_place && sample >= under_way_)  // the sums are still another's
      turns_.wait_for((sample - under_way_) * size_.factors + factor, tiles_);
  }

  // Product `of[k * mix_dot_rows + q]` belongs to row row + q, link first + k.
  void add_rows(index_t sample, index_t factor, index_t tile, index_t row, index_t count,
                index_t first, int links, A const* of) const {
    bool const anew = tile == 0 && mode_ == grad_mode::overwrite, last = tile + 1 == tiles_;
    T* const to = &to_(factor, sample, row, first);
    index_t const pitch = to_.strides().length, step = to_.strides().channels;
    if constexpr (in_place) {
      add_turned(to, pitch, step, count, links, of, anew);
    } else {
      A* const sums =
          sums_ + ((sample % under_way_ * size_.factors + factor) * length_ + row) * size_.links +
          first;
      if (!last && (tile > 0 || anew))
        return add_turned(sums, size_.links, 1, count, links, of, anew);
      for (index_t q = 0; q < count; ++q)
        for (int k = 0; k < links; ++k) {
          T& rounded = to[q * pitch + k * step];
          A* const kept = sums + q * size_.links + k;  // if there is more than one tile
          A const before = anew ? A(0) : tile == 0 ? static_cast<A>(rounded) : *kept;
          A const sum = before + of[k * mix_dot_rows + q];
          if (last)
            rounded = static_cast<T>(sum);
          else
            *kept = sum;
        }
    }
  }

  index_t tiles_, under_way_;
  detail::mix_size size_;
  index_t length_;
  mix_turns turns_;
  A* sums_;
  tensor4<T> to_;
  grad_mode mode_ = grad_mode::overwrite;
};

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
