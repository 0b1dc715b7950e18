// SPDX-License-Identifier: Apache-2.0
// Parameters of the SIMD kernels of linear_attention. A tile's matrices have one row per row of the
// tile, padded with zeros to whole blocks of product_columns elements, so kernels need no remainder
// loops.
#pragma once

#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

// Padded row lengths of the matrices.
struct linear_widths {
  index_t channels, values, features, w;

  explicit linear_widths(linear_attention_shape const& s)
      : channels(padded_columns(s.channels)),
        values(padded_columns(s.values)),
        features(padded_columns(s.feature.count)),
        w(padded_columns(s.feature.w_rows)) {}
};

// Constants of a feature_config in the accumulator type.
template <class A>
struct feature_constants {
  feature_kind kind;
  index_t channels, w_rows, count;
  A eps, scale, scaled_eps, x_scale;

  explicit feature_constants(feature_config const& config)
      : kind(config.kind),
        channels(config.channels),
        w_rows(config.w_rows),
        count(config.count),
        eps(static_cast<A>(config.eps)),
        scale(static_cast<A>(config.scale)),
        scaled_eps(static_cast<A>(config.eps * config.scale)),
        x_scale(static_cast<A>(config.x_scale)) {}
};

// Scalars per row of a tile; null if the feature map does not use them.
template <class A>
struct feature_row_scalars {
  A *cosine, *sine;   // cosine_reweighted
  A* half_square;     // random_exp: |z|^2 / 2
  A* maximum;         // random_exp: maximum that exponents are relative to
  A *factor, *ratio;  // random_fourier: 1 / (|x| + floor), (|x| + floor) / |x|
};

// Maps rows to features, and stores slopes, the derivatives in <w, z>, for backward.
template <class A>
struct feature_params {
  feature_constants<A> const* config;
  feature_row_scalars<A> const* row_scalars;
  int rows;
  pitched_rows<A const> x;   // [row][channel]; z for random features
  pitched_rows<A const> wz;  // [row][row of w]: <w, z> for random features, else null
  pitched_rows<A> phi;       // [row][feature]
  A* slope = nullptr;        // same layout as wz; random_exp and random_relu, backward only
};

// Computes the gradient of x from the gradient of the features. For random features, computes the
// gradient of <w, z>.
template <class A>
struct feature_gradient_params {
  feature_params<A> const& forward;
  A const* dphi;       // same layout as phi
  pitched_rows<A> dx;  // [row][channel], or like wz
};

// Extent of a tile's matrix. Columns are padded to whole blocks.
struct tile_extent {
  int rows;
  index_t columns;
};

// Clears the padding after the first `used` elements of each row, which holds NaN where 0 was
// multiplied by infinity.
template <class A>
void clear_padding(pitched_rows<A> matrix, index_t used, int rows) {
  if (used == matrix.pitch) return;
  for (int i = 0; i < rows; ++i)
    std::fill(matrix.data + i * matrix.pitch + used, matrix.data + (i + 1) * matrix.pitch, A(0));
}

// out[i] = <a[i], b[i]>, with partials_per_row partial sums. A pitch of 0 repeats one row.
template <class A>
struct row_dots_params {
  pitched_rows<A const> a, b;
  tile_extent size;
  A* out;
};

// sums[c] = sums[c] * decay + sum of weights[i] * from[i][c].
template <class A>
struct add_column_sums_params {
  pitched_rows<A const> from;
  tile_extent size;
  A const* weights;
  A* sums;
  A decay;
};

// to[i][c] = from[i][c] * factors[i].
template <class A>
struct scale_rows_params {
  pitched_rows<A const> from;
  tile_extent size;
  A const* factors;
  pitched_rows<A> to;
};

// sums[i][c] += factors[i] * addend[i][c]. A pitch of 0 repeats one row.
template <class A>
struct add_scaled_rows_params {
  pitched_rows<A const> addend;
  tile_extent size;
  A const* factors;
  pitched_rows<A> sums;
};

// Running sums: out[i] = out[i - 1] * decay[i] + from[i], with out[-1] = start. Rows from
// `added.count` on repeat the previous sum.
template <class A>
struct running_sums_params {
  A const* start;
  pitched_rows<A const> from;
  tile_extent size;
  struct added_rows {
    int count;
    A const* decay;  // null means 1
  } added;
  A* out;  // same layout as `from`
};

// Masks the weights of a causal tile, [query][key]: sets the weights of later keys to 0 and, if
// there are maxima m, multiplies the others by exp(m_key - m_query).
template <class A>
struct mask_weights_params {
  A* weights;
  int rows;
  A const* addends;  // one per query, added before the mask; null means 0
  A const* maxima;   // running maxima of the tile's keys, or null
  int first_query;   // row of the tile that query 0 has
};

// Columns of the weights of the product_columns queries that start at a multiple `first` of it.
inline int weight_columns(int first, int queries, int first_query) {
  return static_cast<int>(padded_columns(std::min(first + product_columns, queries) + first_query));
}

SLICESORT_DETAIL_END
