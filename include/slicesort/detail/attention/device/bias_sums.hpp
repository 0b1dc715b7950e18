// SPDX-License-Identifier: Apache-2.0
// Reduces the partial gradient sums of a relative bias.
#pragma once

#include <slicesort/detail/attention/shape.hpp>
#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/store.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

SLICESORT_DETAIL_BEGIN

// Bands of tiles [rows, columns] of dS along a diagonal. Tile (r, c) of a head is in band
// c - r * (rows / columns). In all tiles of a band, elements of the same distance (key - query) are
// at the same position, so the tiles can be added up.
struct diagonal_bands {
  index_t rows, columns;
  index_t row_tiles, column_tiles;

  SLICESORT_HD index_t bands_per_tile_row() const { return rows / columns; }
  SLICESORT_HD index_t first_band() const {
    return row_tiles > 0 ? -(row_tiles - 1) * bands_per_tile_row() : 0;
  }
  SLICESORT_HD index_t band_count() const {
    return row_tiles > 0 && column_tiles > 0 ? column_tiles - first_band() : 0;
  }
  // Element n of a band belongs to the distance band * columns + n - (rows - 1).
  SLICESORT_HD index_t distances_per_band() const { return rows + columns - 1; }
  SLICESORT_HD index_t partial_sum_count() const { return band_count() * distances_per_band(); }
};

// Sums the partial sums of one distance per thread, over a group of samples and heads.
template <class T>
struct distance_sums_kernel {
  static constexpr int max_threads = 128;
  using A = accumulator_t<T>;

  attention_shape shape{};
  diagonal_bands bands{};
  A const* partial_sums{};  // [batch * heads, bands, distances of a band]
  tensor4<T> dbias{};       // [batch or 1, heads or 1, 1, queries + keys - 1]
  grad_mode mode{};

  index_t blocks() const { return divide_up(dbias.extents().size(), max_threads); }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    index_t const element = block.index() * block.size() + block.rank();
    index_t const distances = dbias.extents().channels;
    if (element >= dbias.extents().size()) return;
    index_t const group = element / distances, column = element % distances;
    index_t const distance = column - (shape.queries - 1);
    // Bands that contain the distance, counted from the first one:
    // band * columns - (rows - 1) <= relative_distance < (band + 1) * columns.
    index_t const relative_distance = distance - bands.first_band() * bands.columns;
    index_t const first_band = relative_distance < 0 ? 0 : relative_distance / bands.columns,
                  end_band = (relative_distance + bands.rows - 1) / bands.columns + 1;
    auto const heads = shape.dbias.group_of(group, shape.batch, shape.heads);
    A sum(0);
    for (index_t n = 0; n < heads.count; ++n) {
      A const* const head_sums =
          partial_sums + (heads.first + n * heads.step) * bands.partial_sum_count();
      for (index_t band = first_band; band < end_band && band < bands.band_count(); ++band)
        sum += head_sums[band * bands.distances_per_band() + relative_distance -
                         band * bands.columns + bands.rows - 1];
    }
    store_or_accumulate_sum(
        mode, dbias(group / shape.dbias.heads, group % shape.dbias.heads, 0, column), sum);
  }
};

SLICESORT_DETAIL_END
