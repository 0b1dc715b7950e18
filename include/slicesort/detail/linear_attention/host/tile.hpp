// SPDX-License-Identifier: Apache-2.0
// The arguments of linear_attention's kernels on the host. Matrices of a tile have one row for each
// row of the tile; every row is filled up with zeros to whole blocks of product_columns numbers, so
// that kernels need no rest.
#pragma once

#include <slicesort/detail/host/simd/micro_kernel.hpp>
#include <slicesort/detail/linear_attention/feature_config.hpp>
#include <slicesort/detail/linear_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

inline constexpr int tile_rows_of_linear = linear_attention_tile;

// Numbers of a row of each matrix, in whole blocks.
struct linear_widths {
  index_t channels, values, features, w;

  explicit linear_widths(linear_attention_shape const& s)
      : channels(padded_columns(s.channels)),
        values(padded_columns(s.values)),
        features(padded_columns(s.feature.count)),
        w(padded_columns(s.feature.rows_of_w)) {}
};

// The numbers of a feature_config in the accumulator's type.
template <class A>
struct feature_constants {
  feature_kind kind;
  index_t channels, rows_of_w, count;
  A eps, scale, scaled_eps, scale_of_x;

  explicit feature_constants(feature_config const& r)
      : kind(r.kind),
        channels(r.channels),
        rows_of_w(r.rows_of_w),
        count(r.count),
        eps(static_cast<A>(r.eps)),
        scale(static_cast<A>(r.scale)),
        scaled_eps(static_cast<A>(r.eps * r.scale)),
        scale_of_x(static_cast<A>(r.scale_of_x)) {}
};

// Numbers of each row of a tile; which of them there are depends on the feature map.
template <class A>
struct row_numbers_of_features {
  A *cosine, *sine;   // of cosine_reweighted
  A* half_square;     // of random_exp: |z|^2 / 2
  A* maximum;         // of random_exp: m
  A *factor, *ratio;  // of random_fourier: 1 / (|x| + floor), (|x| + floor) / |x|
};

// Features of some rows, and what `pull` needs of them.
template <class A>
struct feature_call {
  feature_constants<A> const* of;
  row_numbers_of_features<A> const* row;
  int rows;
  pitched_rows<A const> x;  // [row][channel]; of random features z
  pitched_rows<A const> u;  // of random features [row][r]: <w, z>; else null
  pitched_rows<A> phi;      // [row][feature]
  A* slope = nullptr;       // of random_exp and random_relu, if wanted: as u
};

// The gradient of the rows, or, of random features, that of u, from the features'.
template <class A>
struct pull_call {
  feature_call<A> const& forward;
  A const* dphi;       // as phi
  pitched_rows<A> to;  // [row][channel], or as u
};

// Rows and columns of a tile's matrix, columns in whole blocks.
struct tile_extent {
  int rows;
  index_t columns;
};

// Zeros behind the first `used` numbers of each row. A product leaves no zeros there if it has
// infinities to multiply them by.
template <class A>
void clear_rest(pitched_rows<A> of, index_t used, int rows) {
  if (used == of.pitch) return;
  for (int i = 0; i < rows; ++i)
    std::fill(of.data + i * of.pitch + used, of.data + (i + 1) * of.pitch, A(0));
}

// to[i] = the dot product of row i of a and row i of b (row_parts). A pitch of 0: all rows
// have the same.
template <class A>
struct row_dots_call {
  pitched_rows<A const> a, b;
  tile_extent size;
  A* to;
};

// to[c] = to[c] * kept + sum of weights[i] * from[i][c].
template <class A>
struct column_sums_call {
  pitched_rows<A const> from;
  tile_extent size;
  A const* weights;
  A* to;
  A kept;
};

// to[i][c] = from[i][c] * factors[i].
template <class A>
struct scale_rows_call {
  pitched_rows<A const> from;
  tile_extent size;
  A const* factors;
  pitched_rows<A> to;
};

// to[i][c] += factors[i] * other[i][c]; a pitch of 0: all rows have the same.
template <class A>
struct add_rows_times_call {
  pitched_rows<A const> other;
  tile_extent size;
  A const* factors;
  pitched_rows<A> to;
};

// Running sums of rows: to[i] = to[i - 1] * kept[i] + from[i], where to[-1] is `start`.
template <class A>
struct running_sums_call {
  A const* start;
  pitched_rows<A const> from;
  tile_extent size;
  struct steps {
    int added;      // rows from here on add nothing
    A const* kept;  // null: 1
  } of;
  A* to;  // as from
};

// Weights of the pairs of a tile that is causal, [query][key]: those of later keys become 0. The
// others are multiplied by exp(m_key - m_query), if there are maxima.
template <class A>
struct causal_weights_call {
  A* weights;
  int rows;
  A const* plus;    // of each query, added first; null: nothing
  A const* maxima;  // of the tile's rows; null: none
};

SLICESORT_DETAIL_END
