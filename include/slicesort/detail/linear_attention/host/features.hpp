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
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

SLICESORT_DETAIL_BEGIN

// Feature matrices of a tile. Forward leaves those of backward null.
template <class A>
struct feature_memory {
  A *x, *u, *phi;  // see feature_call
  A* ones;         // one per row of the tile or padded row of w, whichever is more
  feature_row_scalars<A> row;
  A *slope, *dphi, *du, *dx;

  feature_memory(arena& allocator, linear_attention_shape const& s, bool backward) {
    constexpr int rows = linear_tile;
    linear_widths const width(s);
    auto const matrix = [&](index_t columns) {
      // The last block of a row may extend past its end.
      return allocator.take<A>(amount(rows) * columns + product_columns);
    };
    auto const scalars = [&](bool needed) { return allocator.take<A>(needed ? rows : 0); };
    using kind = feature_kind;
    kind const k = s.feature.kind;
    x = matrix(width.channels);
    u = matrix(width.w);
    phi = matrix(width.features);
    ones = allocator.take<A>(std::max<index_t>(rows, width.w));
    row.cosine = scalars(k == kind::cosine_reweighted);
    row.sine = scalars(k == kind::cosine_reweighted);
    row.half_square = scalars(k == kind::random_exp);
    row.maximum = scalars(k == kind::random_exp);
    row.factor = scalars(is_random(k));
    row.ratio = scalars(k == kind::random_fourier);
    slope = du = dphi = dx = nullptr;
    if (!backward) return;
    slope = matrix(width.w);
    du = matrix(width.w);
    dphi = matrix(width.features);
    dx = matrix(width.channels);
  }
};

// w of a head, and the gradient of w for one sample and head.
template <class A>
struct w_memory {
  A *rows = nullptr, *columns = nullptr;  // [f][channel], [channel][f]
  A* gradient = nullptr;                  // [f][channel]

  w_memory() = default;
  w_memory(arena& allocator, linear_attention_shape const& s) {
    linear_widths const width(s);
    rows = allocator.take<A>(amount(padded_columns(s.feature.w_rows)) * width.channels);
    columns = allocator.take<A>(amount(s.feature.w_rows > 0 ? width.channels : 0) * width.w);
  }
};

// Computes the features of one head.
template <class T>
class tile_features {
 public:
  using A = accumulator_t<T>;

  tile_features(linear_attention_kernels<T> const& kernels, linear_attention_shape const& s,
                erased_feature<A> const& custom_feature, w_memory<A> const& w,
                attention_head const& head)
      : kernels_(kernels),
        io_(kernels),
        config_(s.feature),
        width_(s),
        custom_feature_(custom_feature),
        w_(w),
        head_(head) {}

  // Loads w of the head, and its transpose.
  void load_w(tensor3<T const> w) const {
    index_t const r = config_.w_rows;
    if (r == 0 || config_.channels == 0) return;
    strides3 const s = w.strides();
    T const* const head_w = w_of_head(w, head_.head);
    index_t const rows = padded_columns(r);
    std::fill(w_.rows, w_.rows + rows * width_.channels, A(0));
    io_.load(head_w, s.length, s.channels, r, config_.channels, w_.rows, width_.channels);
    kernels_.transposed(w_.rows, width_.channels, rows, width_.channels, w_.columns, width_.w);
  }

  // Loads rows [first, first + rows) and the inputs of their features: z and <w, z>, or angles.
  void load(feature_memory<A> const& memory, tensor4<T const> source, index_t first,
            int rows) const {
    int const padded = static_cast<int>(padded_rows(rows));
    io_.load(head_, source, first, rows, memory.x, width_.channels, padded);
    if (is_random(config_.kind)) {
      scale_rows(memory, padded);
      multiply({{memory.x, width_.channels, 1},
                {w_.columns, width_.w},
                {memory.u, width_.w},
                {padded, static_cast<int>(width_.w), config_.channels}});
    } else {
      compute_angles(memory, first, rows);
    }
  }
  // Computes the row maxima that random_exp's features are relative to.
  void compute_maxima(feature_memory<A> const& memory, int rows) const {
    kernels_.row_maxima(memory.u, width_.w, config_.w_rows, static_cast<int>(padded_rows(rows)),
                        memory.row.maximum);
  }
  // Computes the features of the loaded rows. With `slopes`, also stores the operands of backward.
  void map(feature_memory<A> const& memory, index_t first, int rows, bool slopes) const {
    int const padded = static_cast<int>(padded_rows(rows));
    if (config_.kind != feature_kind::custom)
      return kernels_.map(make_call(memory, padded, slopes));
    for (int i = 0; i < padded; ++i) {
      A* const phi = memory.phi + i * width_.features;
      index_t const written = i < rows ? config_.count : 0;
      if (i < rows)
        custom_feature_.map(custom_feature_.self, row_at(first + i), memory.x + i * width_.channels,
                            phi);
      std::fill(phi + written, phi + width_.features, A(0));
    }
  }
  // Loads and maps rows whose features have no maximum. Built-in maps without w process a few rows
  // at a time, so the next loads overlap with the arithmetic.
  void load_and_map(feature_memory<A> const& memory, tensor4<T const> source, index_t first,
                    int rows, bool slopes) const {
    if (config_.kind == feature_kind::custom || is_random(config_.kind)) {
      load(memory, source, first, rows);
      return map(memory, first, rows, slopes);
    }
    compute_angles(memory, first, rows);
    feature_row_scalars<A> row = memory.row;
    feature_call<A> call = make_call(memory, product_rows, slopes);
    call.row = &row;
    for (int i = 0; i < rows; i += product_rows) {
      A* const x = memory.x + (slopes ? i * width_.channels : 0);  // only backward reads x again
      io_.load(head_, source, first + i, std::min(rows - i, product_rows), x, width_.channels,
               product_rows);
      if (row.cosine != nullptr) row.cosine = memory.row.cosine + i, row.sine = memory.row.sine + i;
      call.x.data = x;
      call.phi.data = memory.phi + i * width_.features;
      kernels_.map(call);
    }
  }

  // Computes the gradient of the rows from memory.dphi and stores it. Accumulates the gradient of
  // w.
  void map_backward(feature_memory<A> const& memory, index_t first, int rows, tensor4<T> dx,
                    grad_mode mode) const {
    int const padded = static_cast<int>(padded_rows(rows));
    if (config_.kind == feature_kind::custom) {
      for (int i = 0; i < rows; ++i)
        custom_feature_.backward(custom_feature_.self, row_at(first + i),
                                 memory.x + i * width_.channels, memory.dphi + i * width_.features,
                                 memory.dx + i * width_.channels);
    } else if (is_random(config_.kind)) {
      kernels_.map_backward({make_call(memory, padded, true), memory.dphi, {memory.du, width_.w}});
      if (w_.gradient != nullptr) add_w_gradient(memory, rows);
      if (dx.data() != nullptr) product_gradients(memory, padded);
    } else {
      kernels_.map_backward(
          {make_call(memory, padded, true), memory.dphi, {memory.dx, width_.channels}});
    }
    if (dx.data() != nullptr) io_.store(memory.dx, width_.channels, head_, dx, first, rows, mode);
  }

 private:
  void compute_angles(feature_memory<A> const& memory, index_t first, int rows) const {
    if (config_.kind != feature_kind::cosine_reweighted) return;
    index_t const padded = padded_rows(rows);
    kernels_.angles(first, head_.longer(), rows, memory.row.cosine, memory.row.sine);
    std::fill(memory.row.cosine + rows, memory.row.cosine + padded, A(0));
    std::fill(memory.row.sine + rows, memory.row.sine + padded, A(0));
  }
  feature_row row_at(index_t row) const {
    return {row, head_.longer(), static_cast<index_t>(config_.channels)};
  }
  feature_call<A> make_call(feature_memory<A> const& memory, int rows, bool slopes) const {
    bool const random = is_random(config_.kind);
    feature_call<A> call;
    call.config = &config_;
    call.row = &memory.row;
    call.rows = rows;
    call.x = {memory.x, width_.channels};
    call.u = {random ? memory.u : nullptr, width_.w};
    call.phi = {memory.phi, width_.features};
    call.slope = slopes && random ? memory.slope : nullptr;
    return call;
  }
  void multiply(product_params<A> const& product) const {
    if (product.size.rows > 0 && product.size.columns > 0) kernels_.multiply(product);
  }

  // Scales each row of `channels` elements by its factor.
  void scale(A* rows, int padded, A const* factors) const {
    index_t const pitch = width_.channels;
    kernels_.scale_rows({{rows, pitch}, {padded, pitch}, factors, {rows, pitch}});
  }
  void dots(pitched_rows<A const> a, pitched_rows<A const> b, int padded, A* out) const {
    kernels_.row_dots({a, b, {padded, a.pitch}, out});
  }

  // Scales x to z in place.
  void scale_rows(feature_memory<A> const& memory, int padded) const {
    using kind = feature_kind;
    if (config_.kind == kind::random_relu) return;
    if (config_.kind == kind::random_exp) {
      std::fill(memory.row.factor, memory.row.factor + padded, config_.x_scale);
    } else {
      squares(memory, padded, memory.row.factor);
      scalar_arithmetic<A> ops;
      for (int i = 0; i < padded; ++i) {
        A const norm = row_norm(ops, memory.row.factor[i], width_.channels,
                                contiguous_row<A>{memory.x + i * width_.channels});
        memory.row.factor[i] = fourier_scale(ops, norm, config_.eps);
        memory.row.ratio[i] =
            norm > A(0) ? ops.divide(fourier_divisor(ops, norm, config_.eps), norm) : A(0);
      }
    }
    scale(memory.x, padded, memory.row.factor);
    if (config_.kind != kind::random_exp) return;
    squares(memory, padded, memory.row.half_square);
    for (int i = 0; i < padded; ++i) memory.row.half_square[i] *= A(0.5);
  }
  void squares(feature_memory<A> const& memory, int padded, A* out) const {
    dots({memory.x, width_.channels}, {memory.x, width_.channels}, padded, out);
  }

  void add_w_gradient(feature_memory<A> const& memory, int rows) const {
    product_params<A> product{
        {memory.du, 1, width_.w},
        {memory.x, width_.channels},
        {w_.gradient, width_.channels},
        {static_cast<int>(padded_rows(config_.w_rows)), static_cast<int>(width_.channels), rows}};
    product.epilogue.accumulate = product.epilogue.separate_sum = true;
    multiply(product);
  }
  void product_gradients(feature_memory<A> const& memory, int padded) const {
    using kind = feature_kind;
    multiply({{memory.du, width_.w, 1},
              {w_.rows, width_.channels},
              {memory.dx, width_.channels},
              {padded, static_cast<int>(width_.channels), config_.w_rows}});
    if (config_.kind == kind::random_relu) return;
    A along_row[linear_tile];
    if (config_.kind == kind::random_exp) {
      dots({memory.du, width_.w}, {memory.ones, 0}, padded, along_row);
    } else {
      clear_padding<A>({memory.dx, width_.channels}, config_.channels, padded);
      dots({memory.dx, width_.channels}, {memory.x, width_.channels}, padded, along_row);
      for (int i = 0; i < padded; ++i) along_row[i] *= memory.row.ratio[i];
    }
    for (int i = 0; i < padded; ++i) along_row[i] = -along_row[i];
    kernels_.add_rows_times({{memory.x, width_.channels},
                             {padded, width_.channels},
                             along_row,
                             {memory.dx, width_.channels}});
    scale(memory.dx, padded, memory.row.factor);
  }

  linear_attention_kernels<T> const& kernels_;
  row_access<T> const io_;
  feature_constants<A> const config_;
  linear_widths const width_;
  erased_feature<A> const& custom_feature_;
  w_memory<A> const& w_;
  attention_head const& head_;
};

SLICESORT_DETAIL_END
