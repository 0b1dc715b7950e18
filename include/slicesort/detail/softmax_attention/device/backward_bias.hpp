// SPDX-License-Identifier: Apache-2.0
// The backward pass with respect to a bias that is relative, or that samples or heads share. A
// block adds up tiles of dS that its bias has in common, in registers:
//
//   shared      the tile at one place, of the samples and heads of a group
//   relative    the tiles of a head along a diagonal, in which a distance j - i is at one place;
//               then its own diagonals, which kernel/bias_sums.hpp adds up
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/device/columns.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/device/register_tile.hpp>
#include <slicesort/detail/softmax_attention/bias.hpp>
#include <slicesort/detail/softmax_attention/device/bias_sums.hpp>
#include <slicesort/detail/softmax_attention/device/dscore_tile.hpp>
#include <slicesort/detail/softmax_attention/device/tile.hpp>
#include <slicesort/detail/softmax_attention/params.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/options.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>

SLICESORT_DETAIL_BEGIN

template <class Mask, class T>
struct attention_backward_bias_kernel {
  using dscores = dscore_tile<Mask, T, narrow_tile>;
  using A = typename dscores::A;
  using scores = typename dscores::scores;
  static constexpr int max_threads = 32 * dscores::most_warps;
  static constexpr int keys_of_tile = dscores::keys_of_tile;

  dscores tile;  // with one buffer
  tensor4<T> dbias{};
  grad_mode mode{};
  bias_sums to{};
  A* distances{};  // [batch * heads, bands, distances of a band]; null: dbias is of pairs

  template <class SharedAllocator>
  SLICESORT_HD typename dscores::memory shared(SharedAllocator& shared_memory) const {
    return tile.shared(shared_memory);
  }

  SLICESORT_HD bool relative() const { return to.form == bias_gradient::relative; }
  static SLICESORT_HD diagonal_bands bands_of(index_t queries, index_t keys, index_t rows) {
    return {rows, keys_of_tile, divide_up(queries, rows), divide_up(keys, keys_of_tile)};
  }
  SLICESORT_HD diagonal_bands bands() const {
    return bands_of(tile.in.q.extents().length, tile.in.v.extents().length,
                    tile.queries_of_block());
  }
  // The most partial sums of a head that a relative bias takes, however many warps a block has.
  static index_t most_partial_sums(index_t queries, index_t keys) {
    index_t most = 0;
    for (int warps = 1; warps <= dscores::most_warps; warps *= 2)
      most = std::max(most,
                      bands_of(queries, keys, warps * 16 * dscores::tiles_of_warp).partial_sums());
    return most;
  }
  index_t blocks() const {
    diagonal_bands const all = bands();
    return relative() ? tile.pairs() * all.count() : to.groups() * all.row_tiles * all.column_tiles;
  }

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    typename dscores::memory const m = shared(block);
    walk const at = first_tile(block.index());
    scores sums;
    sums.clear();
    SLICESORT_NO_UNROLL
    for (index_t n = 0; n < at.count; ++n) add_dscores(block, m, at, n, sums);
    A* const staging = reinterpret_cast<A*>(m.terms);
    block.sync();
    tile.stage_tile(block, staging, sums);
    if (relative())
      store_diagonals(block, staging);
    else
      store_sums(block, staging, at);
  }

 private:
  // The tiles that are added up.
  struct walk {
    index_t pair, query, key;  // of the first
    index_t pair_step, query_step, key_step;
    index_t count;
  };
  SLICESORT_HD_INLINE walk first_tile(index_t number) const {
    diagonal_bands const all = bands();
    walk at{};
    if (!relative()) {
      extents4 const e = tile.in.q.extents();
      index_t const tiles = all.row_tiles * all.column_tiles;
      auto const group = to.group_of(number / tiles, e.batch, e.heads);
      at.pair = group.first, at.pair_step = group.step, at.count = group.count;
      at.query = number % tiles / all.column_tiles * all.rows;
      at.key = number % all.column_tiles * all.columns;
      return at;
    }
    index_t const band = all.first() + number % all.count();
    index_t const row = band < 0 ? divide_up(-band, all.step()) : 0,
                  column = row * all.step() + band;
    index_t const left = divide_up(all.column_tiles - column, all.step());
    at.pair = number / all.count();
    at.query = row * all.rows, at.key = column * all.columns;
    at.query_step = at.key_step = all.rows;
    at.count = left < all.row_tiles - row ? left : all.row_tiles - row;
    return at;
  }

  // Adds dS of tile n of the walk. Rows past the queries of a sample are those of other samples.
  template <class Block>
  SLICESORT_HD_INLINE void add_dscores(Block& block, typename dscores::memory const& m,
                                       walk const& at, index_t n, scores& sums) const {
    block.sync();
    tile.stage(block, m, at.pair + n * at.pair_step, at.query + n * at.query_step, 0);
    typename dscores::walk one = tile.only_tile(block, at.key + n * at.key_step);
    if (!tile.looks_at(m, one.key)) return;
    scores s, dw;
    s.clear(), dw.clear();
    tile.multiply(block, m, one, s, dw, m.tiles);
    tile.weights_to_dscores(block, m, one, s, dw);
    tile_lane const me(block.rank());
    SLICESORT_UNROLL
    for (int i = 0; i < scores::count; ++i)
      if (m.task->first + one.own + scores::row(i, me) < m.task->queries) sums[i] += dw[i];
  }

  template <class Block>
  SLICESORT_HD_INLINE void store_sums(Block& block, A const* staging, walk const& at) const {
    diagonal_bands const all = bands();
    index_t const group = block.index() / (all.row_tiles * all.column_tiles);
    dscores::store_staged(block, staging, {dbias, {group / to.heads, group % to.heads}, 0, mode},
                          at.query, at.key);
  }
  // Number n is of the distance n - (rows - 1) from a row to a column.
  template <class Block>
  SLICESORT_HD_INLINE void store_diagonals(Block& block, A const* staging) const {
    diagonal_bands const all = bands();
    int const rows = static_cast<int>(all.rows), count = static_cast<int>(all.distances());
    SLICESORT_NO_UNROLL
    for (int n = block.rank(); n < count; n += block.size()) {
      int const above = rows - 1 - n;  // rows in which the diagonal has not begun
      A sum(0);
      SLICESORT_NO_UNROLL
      for (int row = above < 0 ? 0 : above; row < rows && row - above < keys_of_tile; ++row)
        sum += staging[row * keys_of_tile + row - above];
      distances[block.index() * count + n] = sum;
    }
  }
};

SLICESORT_DETAIL_END
