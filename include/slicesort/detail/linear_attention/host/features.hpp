// SPDX-License-Identifier: Apache-2.0
// Feature maps of the rows of a tile, forward and backward.
#pragma once

#include <slicesort/detail/attention/head.hpp>
#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/linear_attention/feature_math.hpp>
#include <slicesort/detail/linear_attention/host/erased_feature.hpp>
#include <slicesort/detail/linear_attention/host/simd_table.hpp>
#include <slicesort/detail/linear_attention/host/tile.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/detail/linear_attention/state.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Feature matrices of a tile.
template <class A>
struct feature_memory {
  A *x, *wz, *phi;  // see feature_params
  A* ones;          // as many as the tile or the padded w has rows
  feature_row_scalars<A> row_scalars;
  A *slope, *dphi, *dwz, *dx;  // backward only; see feature_params

  feature_memory(arena& allocator, linear_attention_shape const& s, bool backward) {
    // The rows of a piece may start anywhere in a tile, and are padded from there.
    int const tile_rows = linear_tile + (s.with_state ? product_rows : 0);
    linear_widths const width(s);
    auto const take_matrix = [&](index_t columns) {
      // The last block of a row may extend past its end.
      return allocator.take<A>(amount(tile_rows) * columns + product_columns);
    };
    auto const take_scalars = [&](bool needed) {
      return allocator.take<A>(needed ? tile_rows : 0);
    };
    using kind = feature_kind;
    kind const k = s.feature.kind;
    x = take_matrix(width.channels);
    wz = take_matrix(width.w);
    phi = take_matrix(width.features);
    ones = allocator.take<A>(std::max<index_t>(tile_rows, width.w));
    row_scalars.cosine = take_scalars(k == kind::cosine_reweighted);
    row_scalars.sine = take_scalars(k == kind::cosine_reweighted);
    row_scalars.half_square = take_scalars(k == kind::random_exp);
    row_scalars.maximum = take_scalars(k == kind::random_exp);
    row_scalars.factor = take_scalars(is_random(k));
    row_scalars.ratio = take_scalars(k == kind::random_fourier);
    slope = dwz = dphi = dx = nullptr;
    if (!backward) return;
    slope = take_matrix(width.w);
    dwz = take_matrix(width.w);
    dphi = take_matrix(width.features);
    dx = take_matrix(width.channels);
  }

  // The same matrices without the first `count` rows.
  feature_memory skip_rows(int count, linear_widths const& width) const {
    feature_memory rest = *this;
    if (count == 0) return rest;
    auto const skip = [&](A*& matrix, index_t pitch) {
      if (matrix != nullptr) matrix += count * pitch;
    };
    skip(rest.x, width.channels), skip(rest.wz, width.w), skip(rest.phi, width.features);
    skip(rest.slope, width.w), skip(rest.dphi, width.features), skip(rest.dwz, width.w);
    skip(rest.dx, width.channels);
    feature_row_scalars<A>& scalars = rest.row_scalars;
    for (A** scalar : {&scalars.cosine, &scalars.sine, &scalars.half_square, &scalars.maximum,
                       &scalars.factor, &scalars.ratio})
      skip(*scalar, 1);
    return rest;
  }
};

// w of a head, and its gradient for one sample and head.
template <class A>
struct w_memory {
  A *matrix = nullptr, *transposed = nullptr;  // [row of w][channel], [channel][row of w]
  A* gradient = nullptr;                       // [row of w][channel]

  w_memory() = default;
  w_memory(arena& allocator, linear_attention_shape const& s) {
    linear_widths const width(s);
    matrix = allocator.take<A>(amount(padded_columns(s.feature.w_rows)) * width.channels);
    transposed = allocator.take<A>(amount(s.feature.w_rows > 0 ? width.channels : 0) * width.w);
  }
};

// Computes the features of one head of k and its queries.
template <class T>
class tile_features {
 public:
  using A = accumulator_t<T>;

  tile_features(linear_attention_kernels<T> const& kernels, linear_attention_shape const& s,
                erased_feature<A> const& custom_feature, w_memory<A> const& w,
                attention_head const& head, linear_position const& position)
      : kernels_(kernels),
        io_(kernels),
        config_(s.feature),
        width_(s),
        custom_feature_(custom_feature),
        w_(w),
        head_(head),
        rows_before_(position.tiles * linear_tile + position.rows),
        length_(s.with_state ? 0 : head.max_length()) {}

  // Loads w of the head, and its transpose.
  void load_w(tensor3<T const> w) const {
    index_t const w_rows = config_.w_rows;
    if (w_rows == 0 || config_.channels == 0) return;
    strides3 const s = w.strides();
    T const* const head_w = w_of_head(w, head_.kv_head);
    index_t const rows = padded_columns(w_rows);
    std::fill(w_.matrix, w_.matrix + rows * width_.channels, A(0));
    io_.load(head_w, s.length, s.channels, w_rows, config_.channels, w_.matrix, width_.channels);
    kernels_.transpose(w_.matrix, width_.channels, rows, width_.channels, w_.transposed, width_.w);
  }

  // Loads rows [first, first + rows) and computes the inputs of their features: z and <w, z>, or
  // angles.
  void load(feature_memory<A> const& memory, tensor4<T const> source, index_t first,
            int rows) const {
    int const padded = static_cast<int>(padded_rows(rows));
    io_.load(head_, source, first, rows, memory.x, width_.channels, padded);
    if (is_random(config_.kind)) {
      scale_rows(memory, padded);
      multiply({{memory.x, width_.channels, 1},
                {w_.transposed, width_.w},
                {memory.wz, width_.w},
                {padded, static_cast<int>(width_.w), config_.channels}});
    } else {
      compute_angles(memory, first, rows);
    }
  }
  // Computes the row maxima that random_exp subtracts from its exponents.
  void compute_maxima(feature_memory<A> const& memory, int rows) const {
    kernels_.compute_row_maxima(memory.wz, width_.w, config_.w_rows,
                                static_cast<int>(padded_rows(rows)), memory.row_scalars.maximum);
  }
  // Computes the features of the loaded rows, and with `needs_slopes` the operands of backward.
  void map(feature_memory<A> const& memory, index_t first, int rows, bool needs_slopes) const {
    int const padded = static_cast<int>(padded_rows(rows));
    if (config_.kind != feature_kind::custom)
      return kernels_.map(make_params(memory, padded, needs_slopes));
    for (int i = 0; i < padded; ++i) {
      A* const phi = memory.phi + i * width_.features;
      index_t const written = i < rows ? config_.count : 0;
      if (i < rows)
        custom_feature_.map(custom_feature_.feature, row_at(first + i),
                            memory.x + i * width_.channels, phi);
      std::fill(phi + written, phi + width_.features, A(0));
    }
  }
  // Loads and maps rows whose features have no maximum. Built-in maps without w process a few rows
  // at a time, so the next loads overlap with the arithmetic.
  void load_and_map(feature_memory<A> const& memory, tensor4<T const> source, index_t first,
                    int rows, bool needs_slopes) const {
    if (config_.kind == feature_kind::custom || is_random(config_.kind)) {
      load(memory, source, first, rows);
      return map(memory, first, rows, needs_slopes);
    }
    compute_angles(memory, first, rows);
    feature_row_scalars<A> row_scalars = memory.row_scalars;
    feature_params<A> params = make_params(memory, product_rows, needs_slopes);
    params.row_scalars = &row_scalars;
    for (int i = 0; i < rows; i += product_rows) {
      A* const x =
          memory.x + (needs_slopes ? i * width_.channels : 0);  // only backward reads x again
      io_.load(head_, source, first + i, std::min(rows - i, product_rows), x, width_.channels,
               product_rows);
      if (row_scalars.cosine != nullptr)
        row_scalars.cosine = memory.row_scalars.cosine + i,
        row_scalars.sine = memory.row_scalars.sine + i;
      params.x.data = x;
      params.phi.data = memory.phi + i * width_.features;
      kernels_.map(params);
    }
  }

  // Computes and stores the gradient of the rows from memory.dphi, and accumulates dw.
  void map_backward(feature_memory<A> const& memory, index_t first, int rows, tensor4<T> dx,
                    grad_mode mode) const {
    int const padded = static_cast<int>(padded_rows(rows));
    if (config_.kind == feature_kind::custom) {
      for (int i = 0; i < rows; ++i)
        custom_feature_.backward(custom_feature_.feature, row_at(first + i),
                                 memory.x + i * width_.channels, memory.dphi + i * width_.features,
                                 memory.dx + i * width_.channels);
    } else if (is_random(config_.kind)) {
      kernels_.map_backward(
          {make_params(memory, padded, true), memory.dphi, {memory.dwz, width_.w}});
      if (w_.gradient != nullptr) add_w_gradient(memory, rows);
      if (dx.data() != nullptr) compute_dx(memory, padded);
    } else {
      kernels_.map_backward(
          {make_params(memory, padded, true), memory.dphi, {memory.dx, width_.channels}});
    }
    if (dx.data() != nullptr) io_.store(memory.dx, width_.channels, head_, dx, first, rows, mode);
  }

 private:
  void compute_angles(feature_memory<A> const& memory, index_t first, int rows) const {
    if (config_.kind != feature_kind::cosine_reweighted) return;
    index_t const padded = padded_rows(rows);
    kernels_.compute_angles(first, head_.max_length(), rows, memory.row_scalars.cosine,
                            memory.row_scalars.sine);
    std::fill(memory.row_scalars.cosine + rows, memory.row_scalars.cosine + padded, A(0));
    std::fill(memory.row_scalars.sine + rows, memory.row_scalars.sine + padded, A(0));
  }
  feature_row row_at(index_t row) const {
    return {rows_before_ + row, length_, static_cast<index_t>(config_.channels)};
  }
  feature_params<A> make_params(feature_memory<A> const& memory, int rows,
                                bool needs_slopes) const {
    bool const has_w = is_random(config_.kind);
    feature_params<A> params;
    params.config = &config_;
    params.row_scalars = &memory.row_scalars;
    params.rows = rows;
    params.x = {memory.x, width_.channels};
    params.wz = {has_w ? memory.wz : nullptr, width_.w};
    params.phi = {memory.phi, width_.features};
    params.slope = needs_slopes && has_w ? memory.slope : nullptr;
    return params;
  }
  void multiply(product_params<A> const& product) const {
    if (product.size.rows > 0 && product.size.columns > 0) kernels_.multiply(product);
  }

  void scale_in_place(A* rows, int padded, A const* factors) const {
    index_t const pitch = width_.channels;
    kernels_.scale_rows({{rows, pitch}, {padded, pitch}, factors, {rows, pitch}});
  }
  void compute_dots(pitched_rows<A const> a, pitched_rows<A const> b, int padded, A* out) const {
    kernels_.compute_row_dots({a, b, {padded, a.pitch}, out});
  }

  // Scales x to z in place.
  void scale_rows(feature_memory<A> const& memory, int padded) const {
    using kind = feature_kind;
    if (config_.kind == kind::random_relu) return;
    if (config_.kind == kind::random_exp) {
      std::fill(memory.row_scalars.factor, memory.row_scalars.factor + padded, config_.x_scale);
    } else {
      compute_squares(memory, padded, memory.row_scalars.factor);
      library_arithmetic<A> ops;
      for (int i = 0; i < padded; ++i) {
        A const norm = row_norm(ops, memory.row_scalars.factor[i], width_.channels,
                                contiguous_row<A>{memory.x + i * width_.channels});
        memory.row_scalars.factor[i] = fourier_scale(ops, norm, config_.eps);
        memory.row_scalars.ratio[i] =
            norm > A(0) ? ops.divide(fourier_divisor(ops, norm, config_.eps), norm) : A(0);
      }
    }
    scale_in_place(memory.x, padded, memory.row_scalars.factor);
    if (config_.kind != kind::random_exp) return;
    compute_squares(memory, padded, memory.row_scalars.half_square);
    for (int i = 0; i < padded; ++i) memory.row_scalars.half_square[i] *= A(0.5);
  }
  void compute_squares(feature_memory<A> const& memory, int padded, A* out) const {
    compute_dots({memory.x, width_.channels}, {memory.x, width_.channels}, padded, out);
  }

  void add_w_gradient(feature_memory<A> const& memory, int rows) const {
    product_params<A> product{
        {memory.dwz, 1, width_.w},
        {memory.x, width_.channels},
        {w_.gradient, width_.channels},
        {static_cast<int>(padded_rows(config_.w_rows)), static_cast<int>(width_.channels), rows}};
    product.epilogue.separate_sum = true;
    multiply(product);
  }
  void compute_dx(feature_memory<A> const& memory, int padded) const {
    using kind = feature_kind;
    multiply({{memory.dwz, width_.w, 1},
              {w_.matrix, width_.channels},
              {memory.dx, width_.channels},
              {padded, static_cast<int>(width_.channels), config_.w_rows}});
    if (config_.kind == kind::random_relu) return;
    A dot_with_row[linear_tile];
    if (config_.kind == kind::random_exp) {
      compute_dots({memory.dwz, width_.w}, {memory.ones, 0}, padded, dot_with_row);
    } else {
      clear_padding<A>({memory.dx, width_.channels}, config_.channels, padded);
      compute_dots({memory.dx, width_.channels}, {memory.x, width_.channels}, padded, dot_with_row);
      for (int i = 0; i < padded; ++i) dot_with_row[i] *= memory.row_scalars.ratio[i];
    }
    for (int i = 0; i < padded; ++i) dot_with_row[i] = -dot_with_row[i];
    kernels_.add_scaled_rows({{memory.x, width_.channels},
                              {padded, width_.channels},
                              dot_with_row,
                              {memory.dx, width_.channels}});
    scale_in_place(memory.dx, padded, memory.row_scalars.factor);
  }

  linear_attention_kernels<T> const& kernels_;
  row_access<T> const io_;
  feature_constants<A> const config_;
  linear_widths const width_;
  erased_feature<A> const& custom_feature_;
  w_memory<A> const& w_;
  attention_head const& head_;
  index_t const rows_before_, length_;  // for user-defined maps
};

SLICESORT_DETAIL_END
