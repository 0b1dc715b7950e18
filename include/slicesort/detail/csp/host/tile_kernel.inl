// SPDX-License-Identifier: Apache-2.0
// Kernels of csp for one instruction set, which run forward or backward on a tile. Shifted channels
// pass through a copy of the tile that stays in cache, with contiguous channels.

// clang-format off
#include <slicesort/detail/csp/host/exchange_pairs.inl>
#include <slicesort/detail/csp/host/transposed_columns.inl>
// clang-format on

template <class T>
class csp_tile_kernel {
 public:
  explicit csp_tile_kernel(csp_tile<T> const& tile)
      : tile_(tile), columns_(tile.scratch.columns, tile.scratch.pitch, tile.rows) {}

  void forward() const {
    if (tile_.shifted) gather_shifted();
    if (tile_.group <= 2)
      tile_.stream ? move_batches<true>() : move_batches<false>();
    else
      sort_chunks();
  }

  void gather_shifted() const {
    index_t offset[tile_columns];
    for (int lane = 0; lane < tile_columns; ++lane) offset[lane] = tile_.shift[lane];
    for (index_t i = 0; i < tile_.rows; i += csp_batch) {
      int const count = batch_at(i);
      auto const rows =
          rows_at(tile_.from, tile_.from_layout, tile_.width, i, count, tile_.scratch.stage);
      columns_.transpose_in(rows.data, rows.pitch, count, offset);
    }
  }

  void backward() const {
    if (tile_.group > 2) {
      with_order_type([&](auto const* order) { scatter_gradient(order); });
      tile_.stream ? scatter_shifted<true>() : scatter_shifted<false>();
    } else if (tile_.shifted) {
      restore_pairs<false>();
      tile_.stream ? scatter_shifted<true>() : scatter_shifted<false>();
    } else {
      tile_.stream ? restore_pairs<true>() : restore_pairs<false>();
    }
  }

 private:
  static constexpr std::size_t batch_size = std::size_t{csp_batch} * tile_columns;

  template <class E>
  struct row_block {
    E const* data;
    index_t pitch;
  };
  // Returns `count` rows of a tensor from row i on, in place if the tile is dense, else copied to
  // `stage`.
  template <class E>
  static row_block<E> rows_at(E const* from, tile_operand const& layout, int width, index_t i,
                              int count, E* stage) {
    if (layout.dense) {
      E const* const rows = from + layout.start[0] + i * layout.pitch;
      for (int k = 0; k < count; ++k) prefetch_after(rows + k * layout.pitch, layout.pitch);
      return {rows, layout.pitch};
    }
    gather_rows(from, layout, 0, width, i, count, stage, tile_columns);
    return {stage, tile_columns};
  }
  int batch_at(index_t i) const {
    return tile_.rows - i < csp_batch ? static_cast<int>(tile_.rows - i) : csp_batch;
  }

  template <bool Stream>
  void scatter_shifted() const {
    for (index_t i = 0; i < tile_.rows; i += csp_batch) {
      columns_.transpose_out(i, tile_.scratch.stage);
      store_rows<Stream>(tile_.scratch.stage, i, batch_at(i), tile_.to_layout, tile_.width,
                         tile_.mode, tile_.to);
    }
    finish_streaming<Stream>();
  }
  row_block<T> shifted_rows(index_t i, int count) const {
    if (!tile_.shifted)
      return rows_at(tile_.from, tile_.from_layout, tile_.width, i, count, tile_.scratch.stage);
    columns_.transpose_out(i, tile_.scratch.stage);
    return {tile_.scratch.stage, tile_columns};
  }

  template <bool Stream>
  void move_batches() const {
    alignas(64) T moved[batch_size];
    alignas(64) std::uint8_t saved[tile_columns];
    for (index_t i = 0; i < tile_.rows; i += csp_batch) {
      int const count = batch_at(i);
      auto const rows = shifted_rows(i, count);
      if (tile_.group == 1) {
        store_batch<Stream>(rows, i, count);
        continue;
      }
      bool const direct = tile_.to_layout.dense;
      T* const to =
          direct ? tile_.to + tile_.to_layout.start[0] + i * tile_.to_layout.pitch : moved;
      pair_exchange<T>::template forward<Stream>(
          rows.data, rows.pitch, count, tile_.flip, descending_pairs(tile_.destinations, i, count),
          to, direct ? tile_.to_layout.pitch : tile_columns, saved);
      if (!direct)
        scatter_rows(moved, tile_columns, tile_.width, i, count, tile_.to_layout, tile_.to);
      if (tile_.order != nullptr)
        scatter_rows(saved, tile_columns, tile_.width, i / csp_batch, 1, tile_.order_layout,
                     static_cast<std::uint8_t*>(tile_.order));
    }
    finish_streaming<Stream>();
  }
  template <bool Stream>
  void store_batch(row_block<T> const& rows, index_t i, int count) const {
    for (int k = 0; k < count; ++k)
      store_rows<Stream>(rows.data + k * rows.pitch, i + k, 1, tile_.to_layout, tile_.width,
                         tile_.mode, tile_.to);
  }
  template <bool Stream>
  void restore_pairs() const {
    alignas(64) T moved[batch_size];
    alignas(64) std::uint8_t saved[tile_columns] = {};
    index_t offset[tile_columns];
    for (int lane = 0; lane < tile_columns; ++lane) offset[lane] = tile_.source_row(0, lane);
    for (index_t i = 0; i < tile_.rows; i += csp_batch) {
      int const count = batch_at(i);
      auto rows =
          rows_at(tile_.from, tile_.from_layout, tile_.width, i, count, tile_.scratch.stage);
      if (tile_.group == 2) {
        gather_rows(static_cast<std::uint8_t const*>(tile_.order), tile_.order_layout, 0,
                    tile_.width, i / csp_batch, 1, saved, tile_columns);
        if (Stream && tile_.mode == grad_mode::overwrite) {
          T* const to = tile_.to + tile_.to_layout.start[0] + i * tile_.to_layout.pitch;
          pair_exchange<T>::template backward<true>(rows.data, rows.pitch, count, saved, to,
                                                    tile_.to_layout.pitch);
          continue;
        }
        pair_exchange<T>::template backward<false>(rows.data, rows.pitch, count, saved, moved,
                                                   tile_columns);
        rows = {moved, tile_columns};
      }
      if (tile_.shifted)
        columns_.transpose_in(rows.data, rows.pitch, count, offset);
      else
        store_batch<Stream>(rows, i, count);
    }
    finish_streaming<Stream>();
  }

  void sort_chunks() const {
    index_t const chunk = csp_chunk_rows(tile_.group, tile_.rows);
    tile_operand const staged = staged_rows(tile_.width);
    bool const narrowing = tile_.order != nullptr && tile_.order_width == index_width::bits8;
    column_tile<T> sorted;
    sorted.x_layout = tile_.shifted ? staged : tile_.from_layout;
    sorted.y_layout = tile_.to_layout;
    sorted.perm = nullptr;
    sorted.perm_layout = narrowing ? staged : tile_.order_layout;
    sorted.perm_width = index_width::bits16;
    sorted.width = tile_.width, sorted.ragged = false, sorted.group = tile_.group;
    std::memcpy(sorted.flip, tile_.flip, sizeof sorted.flip);
    sorted.stream = tile_.stream;
    sorted.stream_perm = !narrowing && tile_.stream && tile_.order_layout.on_lines(tile_.order, 2);
    sorted.scratch = tile_.scratch.sorter;
    for (index_t i = 0; i < tile_.rows; i += chunk) {
      sorted.rows = tile_.rows - i < chunk ? tile_.rows - i : chunk;
      for (index_t& valid : sorted.valid) valid = sorted.rows;
      sorted.x = tile_.shifted ? tile_.scratch.stage : tile_.from + i * tile_.from_layout.pitch;
      for (index_t k = 0; tile_.shifted && k < sorted.rows; k += csp_batch)
        transpose_out_some(i + k, sorted.rows - k, tile_.scratch.stage + k * tile_columns);
      sorted.y = tile_.to + i * tile_.to_layout.pitch;
      if (narrowing)
        sorted.perm = tile_.scratch.order;
      else if (tile_.order != nullptr)
        sorted.perm = static_cast<std::uint16_t*>(tile_.order) + i * tile_.order_layout.pitch;
      sorted.destinations = tile_.destinations == nullptr ? nullptr : tile_.destinations + i;
      tile_.order == nullptr ? sort_tiles<T, values_codec<T>>(&sorted, 1)
                             : sort_tiles<T, indexed_codec<T>>(&sorted, 1);
      if (narrowing) narrow(i, sorted.rows);
    }
  }
  // Stores rows of the shifted channels from row i on: a batch, or only `count` rows if fewer are
  // left, because the stage may end there.
  void transpose_out_some(index_t i, index_t count, T* to) const {
    if (count >= csp_batch) return columns_.transpose_out(i, to);
    alignas(64) T rows[batch_size];
    columns_.transpose_out(i, rows);
    std::memcpy(to, rows, static_cast<std::size_t>(count) * tile_columns * sizeof(T));
  }
  void narrow(index_t first, index_t rows) const {
    constexpr int lanes = vector_bytes / 2;
    using index_lanes = vec<std::uint16_t, lanes>;
    using byte_lanes = vec<std::uint8_t, lanes>;
    alignas(64) std::uint8_t order[batch_size];
    for (index_t i = 0; i < rows; i += csp_batch) {
      int const count = rows - i < csp_batch ? static_cast<int>(rows - i) : csp_batch;
      std::uint16_t const* const from = tile_.scratch.order + i * tile_columns;
      for (int k = 0; k < count * tile_columns; k += lanes)
        store_lanes(order + k, convert<byte_lanes>(load_lanes<index_lanes>(from + k)));
      scatter_rows(order, tile_columns, tile_.width, first + i, count, tile_.order_layout,
                   static_cast<std::uint8_t*>(tile_.order));
    }
  }

  template <class F>
  void with_order_type(F const& f) const {
    if (tile_.order_width == index_width::bits8)
      f(static_cast<std::uint8_t const*>(tile_.order));
    else if (tile_.order_width == index_width::bits16)
      f(static_cast<std::uint16_t const*>(tile_.order));
    else
      f(static_cast<std::uint32_t const*>(tile_.order));
  }
  // Scatters every row of dy to its source row in the shifted channels.
  template <class Index>
  void scatter_gradient(Index const* order) const {
    alignas(64) Index indices[batch_size] = {};
    alignas(64) std::uint32_t first[tile_columns], offset[tile_columns];
    auto const rows = static_cast<std::uint32_t>(tile_.rows);
    index_t in_group = tile_.group, group_row = -tile_.group;
    for (index_t i = 0; i < tile_.rows; i += csp_batch) {
      int const count = batch_at(i);
      auto const dy =
          rows_at(tile_.from, tile_.from_layout, tile_.width, i, count, tile_.scratch.stage);
      auto const from = rows_at(order, tile_.order_layout, tile_.width, i, count, indices);
      for (int k = 0; k < count; ++k, ++in_group) {
        if (in_group == tile_.group) {
          group_row += tile_.group;
          in_group = 0;
          for (int lane = 0; lane < tile_columns; ++lane)
            first[lane] = static_cast<std::uint32_t>(tile_.source_row(group_row, lane));
        }
        for (int lane = 0; lane < tile_columns; ++lane) {
          std::uint32_t const to =
              first[lane] + static_cast<std::uint32_t>(from.data[k * from.pitch + lane]);
          offset[lane] = to < rows ? to : to - rows;
        }
        scatter_row(dy.data + k * dy.pitch, offset, std::make_index_sequence<tile_columns>{});
      }
    }
  }
  template <std::size_t... Lane>
  SLICESORT_INLINE void scatter_row(T const* dy, std::uint32_t const* offset,
                                    std::index_sequence<Lane...>) const {
    ((columns_.column(static_cast<int>(Lane))[offset[Lane]] = dy[Lane]), ...);
  }

  csp_tile<T> const& tile_;
  transposed_columns<T> columns_;
};

template <class T>
void move_csp_tile(csp_tile<T> const& tile, csp_step step) {
  csp_tile_kernel<T> const kernel(tile);
  if (step == csp_step::forward)
    kernel.forward();
  else if (step == csp_step::backward)
    kernel.backward();
  else
    kernel.gather_shifted();
}

template <class T>
void choose_csp_kernels(target, csp_kernels<T>& kernels) {
  kernels.move_csp_tile = move_csp_tile<T>;
  kernels.exchange_pair_rows = exchange_pair_rows<T>;
}
