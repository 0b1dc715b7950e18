// SPDX-License-Identifier: Apache-2.0
// Vector loops of decaying_sum over the rows of a tile, for every instruction set.
#pragma once

#include <slicesort/detail/decaying_sum/params.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/host/simd/value_lanes.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Rows with adjacent channels, in the order of the walk.
template <class T>
struct decay_rows {
  T* data;
  index_t pitch, number_pitch;

  T* at(index_t row, index_t number = 0) const {
    return data + row * pitch + number * number_pitch;
  }
};

// `none` computes the states alone; `stream` bypasses the caches; `add` adds in the accumulator's
// type and rounds once.
enum class decay_output { none, store, stream, add };

// At most `decay_tile_rows` rows of some neighboring channels. Buffers are [number][pitch], where
// the pitch is the width rounded up to whole vectors.
template <class T>
struct decay_tile {
  using A = accumulator_t<T>;
  index_t rows, width, states, pitch;
  decay_rows<T const> x;
  decay_rows<T const> a_rows;  // if given per row
  A const *a, *w;              // a: if constant
  A* state;                    // before the tile; forward replaces it by that behind the tile
};

template <class T>
struct decay_forward_tile : decay_tile<T> {
  decay_rows<T> y;
  decay_output output;
};

template <class T>
struct decay_backward_tile : decay_tile<T> {
  using typename decay_tile<T>::A;
  decay_rows<T const> dy;
  decay_rows<T> dx, da;  // da: if a is given per row; without data if not requested
  bool adds_to_dx, adds_to_da;
  A* gradient;              // of the state behind the tile; replaced by that before it
  double *a_sums, *w_sums;  // adds the tile's sums; a_sums: if a is constant
};

template <class T>
struct decay_kernels {
  void (*forward)(decay_forward_tile<T> const&);
  void (*backward)(decay_backward_tile<T> const&);
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/decaying_sum/host/rows.inl>
#define SLICESORT_TARGET_FMA
#include <slicesort/detail/host/simd/foreach_target.inl>

template <class T>
decay_kernels<T> decay_kernels_of(isa requested, bool is_complex, bool per_row) {
  decay_kernels<T> table{};
  with_isa(fused_isa(requested), [&](auto target) {
    auto const choose = [&](auto complex_tag) {
      if (per_row)
        choose_decay_kernels(target, complex_tag, std::true_type{}, table);
      else
        choose_decay_kernels(target, complex_tag, std::false_type{}, table);
    };
    if (is_complex)
      choose(std::true_type{});
    else
      choose(std::false_type{});
  });
  return table;
}

SLICESORT_DETAIL_END
