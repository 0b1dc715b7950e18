// SPDX-License-Identifier: Apache-2.0
// Parameters of decaying_sum, and the order of its arithmetic.
//
// A is the accumulator's type. A call runs one pass per direction. A pass walks the valid rows from
// the first to the last, or in reverse, and all sums of a channel are in the order of the walk, so
// neither threads nor a cut of the sequence change bits:
//   real     s' = fma(a, s, x)
//   complex  re' = fma(a_re, re, fma(-a_im, im, x)),  im' = fma(a_re, im, a_im * re)
//   output   fma(w, s', ..) from 0 over the states in order; if complex, fma(-w_im, im', fma(w_re,
//            re', ..)) with w doubled
// Backward walks in tiles of `decay_tile_rows` rows, from the last to the first, with the gradient
// g of the state behind the row:
//   lam = fma(w, dy, g),  dx = sum of lam over the states in order,  g' = a * lam
//   complex  lam_re = fma(w_re, dy, g_re),  lam_im = fma(-w_im, dy, g_im),  dx = sum of lam_re,
//            g_re' = fma(a_re, lam_re, a_im * lam_im),  g_im' = fma(a_re, lam_im, -a_im * lam_re)
// Gradients of w and of a constant a are summed by fused multiply-adds over the rows of a tile in
// A, and over tiles and samples in double.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <type_traits>

SLICESORT_DETAIL_BEGIN

inline constexpr index_t decay_tile_rows = 16;

// Arguments of the workspace size.
struct decay_shape {
  extents3 extents;
  index_t numbers;  // per channel and direction

  index_t columns() const { return extents.empty() ? 0 : extents.batch * extents.channels; }
  index_t tiles() const {
    return extents.length / decay_tile_rows + (extents.length % decay_tile_rows != 0 ? 1 : 0);
  }
  // Gradients of the numbers per sample: [sample][da, dw][number][channel].
  index_t sums_per_sample() const { return 2 * numbers * extents.channels; }
  double* take_sums(arena& memory) const {
    return memory.take<double>(amount(2) * numbers * columns());
  }
};

struct decay_config {
  index_t states = 1;
  bool is_complex = false;
  bool reversed = false;  // true if the first pass starts at the last valid row
  int passes = 1;
  bool adds = false;  // true if the pass adds to y or dx
  grad_mode mode{};   // of da and dw

  SLICESORT_HD constexpr index_t parts() const { return is_complex ? 2 : 1; }
  SLICESORT_HD constexpr index_t numbers() const {
    return states * parts();
  }  // per channel and direction
};

// The numbers of one direction.
template <class T>
tensor4<T> numbers_of_pass(tensor4<T> t, int pass, index_t numbers) {
  extents4 const e = t.extents();
  if (t.data() == nullptr) return t;
  return {t.data() + pass * numbers * t.strides().heads,
          {e.batch, numbers, e.length, e.channels},
          t.strides()};
}

// True if a, or its gradient, is given per row of x, [batch, numbers, length, channels].
template <class T>
bool is_per_row(tensor4<T> a, extents3 x) {
  return a.data() != nullptr && a.extents().batch == x.batch && a.extents().length == x.length;
}

// Returns a, or its gradient, if it is given per row, else an empty tensor.
template <class T>
tensor4<T> if_per_row(tensor4<T> a, extents3 x) {
  return is_per_row(a, x) ? a : tensor4<T>{};
}

// Tensors with 4 axes are [batch or 1, numbers, length or 1, channels].
template <class T>
struct decaying_sum_forward {
  using element = T;
  using A = accumulator_t<T>;
  static constexpr char const* name = "decaying_sum.forward";
  decay_config config{};
  tensor3<T const> x{};
  tensor4<T const> a{}, w{};
  tensor3<T> y{};
  tensor4<A const> initial_state{};
  tensor4<A> final_state{};
  tensor1<index_t const> lengths{};

  decay_shape shape() const { return {x.extents(), config.numbers()}; }
};

template <class T>
struct decaying_sum_backward {
  using element = T;
  using A = accumulator_t<T>;
  static constexpr char const* name = "decaying_sum.backward";
  decay_config config{};
  tensor3<T const> dy{}, x{};
  tensor4<T const> a{}, w{};
  tensor3<T> dx{};
  tensor4<T> da{}, dw{};
  tensor4<A const> initial_state{}, dfinal_state{};
  tensor4<A> dinitial_state{};
  tensor1<index_t const> lengths{};

  decay_shape shape() const { return {x.extents(), config.numbers()}; }
};

// Parameters of one pass. The second pass adds to y or dx.
template <class Params>
Params decay_pass(Params params, int pass) {
  index_t const numbers = params.config.numbers();
  auto const restrict_to_pass = [&](auto&... tensors) {
    ((tensors = numbers_of_pass(tensors, pass, numbers)), ...);
  };
  restrict_to_pass(params.a, params.w, params.initial_state);
  if constexpr (std::is_same_v<Params, decaying_sum_forward<typename Params::element>>)
    restrict_to_pass(params.final_state);
  else
    restrict_to_pass(params.da, params.dw, params.dfinal_state, params.dinitial_state);
  if (pass > 0) params.config.reversed = params.config.adds = true;
  return params;
}

// Walk of a pass over the valid rows of a sample: step t is row first + t * direction.
struct row_walk {
  index_t first, direction;

  SLICESORT_HD row_walk(index_t valid, bool reversed)
      : first(reversed && valid > 0 ? valid - 1 : 0), direction(reversed ? -1 : 1) {}
  SLICESORT_HD index_t row(index_t step) const { return first + step * direction; }
};

struct decaying_sum_op {
  using shape = decay_shape;
  template <class T>
  using forward = decaying_sum_forward<T>;
  template <class T>
  using backward = decaying_sum_backward<T>;
};

SLICESORT_DETAIL_END
