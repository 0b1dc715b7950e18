// SPDX-License-Identifier: Apache-2.0
// Kernels of csp for one instruction set, which run forward or backward on a tile. Shifted
// channels, and in backward all channels of sorted groups, pass through a copy of the tile that
// stays in cache and has contiguous channels.

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
    if (!needs_sort(tile_.group))
      tile_.stream ? forward_batches<true>() : forward_batches<false>();
    else
      sort_chunks();
  }

  void gather_shifted() const {
    index_t offset[tile_columns];
    for (int lane = 0; lane < tile_columns; ++lane) offset[lane] = tile_.shift[lane];
    for (index_t i = 0; i < tile_.rows; i += csp_rows_per_batch) {
      int const count = rows_in_batch(i);
      auto const rows =
          load_rows(tile_.from, tile_.from_layout, tile_.width, i, count, tile_.scratch.stage);
      columns_.store_rows_transposed(rows.data, rows.pitch, count, offset);
    }
  }

  void backward() const {
    if (needs_sort(tile_.group)) {
      with_order_type([&](auto const* order) { scatter_gradient(order); });
      tile_.stream ? store_columns<true>() : store_columns<false>();
    } else if (tile_.shifted) {
      backward_batches<false>();
      tile_.stream ? store_columns<true>() : store_columns<false>();
    } else {
      tile_.stream ? backward_batches<true>() : backward_batches<false>();
    }
  }

 private:
  static constexpr std::size_t batch_elements = std::size_t{csp_rows_per_batch} * tile_columns;

  template <class Element>
  struct row_view {
    Element const* data;
    index_t pitch;
  };
  // Returns `count` rows of a tensor from row i on: in place if the tile is dense, else copied to
  // `stage`.
  template <class Element>
  static row_view<Element> load_rows(Element const* from, tile_operand const& layout, int width,
                                     index_t i, int count, Element* stage) {
    if (layout.dense) {
      Element const* const rows = from + layout.start[0] + i * layout.pitch;
      for (int k = 0; k < count; ++k) prefetch_after(rows + k * layout.pitch, layout.pitch);
      return {rows, layout.pitch};
    }
    gather_rows(from, layout, 0, width, i, count, stage, tile_columns);
    return {stage, tile_columns};
  }
  int rows_in_batch(index_t i) const {
    return tile_.rows - i < csp_rows_per_batch ? static_cast<int>(tile_.rows - i)
                                               : csp_rows_per_batch;
  }

  // Stores the contiguous channels of the scratch memory to the tensor.
  template <bool Stream>
  void store_columns() const {
    for (index_t i = 0; i < tile_.rows; i += csp_rows_per_batch) {
      columns_.load_rows_transposed(i, tile_.scratch.stage);
      store_rows<Stream>(tile_.scratch.stage, i, rows_in_batch(i), tile_.to_layout, tile_.width,
                         tile_.mode, tile_.to);
    }
    finish_streaming<Stream>();
  }
  row_view<T> shifted_rows(index_t i, int count) const {
    if (!tile_.shifted)
      return load_rows(tile_.from, tile_.from_layout, tile_.width, i, count, tile_.scratch.stage);
    columns_.load_rows_transposed(i, tile_.scratch.stage);
    return {tile_.scratch.stage, tile_columns};
  }

  // Runs forward with groups of one or two rows.
  template <bool Stream>
  void forward_batches() const {
    alignas(64) T exchanged[batch_elements];
    alignas(64) std::uint8_t swap_bytes[tile_columns];
    for (index_t i = 0; i < tile_.rows; i += csp_rows_per_batch) {
      int const count = rows_in_batch(i);
      auto const rows = shifted_rows(i, count);
      if (tile_.group == 1) {
        store_batch<Stream>(rows, i, count);
        continue;
      }
      bool const is_dense = tile_.to_layout.dense;
      T* const to =
          is_dense ? tile_.to + tile_.to_layout.start[0] + i * tile_.to_layout.pitch : exchanged;
      pair_exchange<T>::template forward<Stream>(
          rows.data, rows.pitch, count, tile_.descending_mask,
          descending_pairs(tile_.destinations, i, count), to,
          is_dense ? tile_.to_layout.pitch : tile_columns, swap_bytes);
      if (!is_dense)
        scatter_rows(exchanged, tile_columns, tile_.width, i, count, tile_.to_layout, tile_.to);
      if (tile_.order != nullptr)
        scatter_rows(swap_bytes, tile_columns, tile_.width, i / csp_rows_per_batch, 1,
                     tile_.order_layout, static_cast<std::uint8_t*>(tile_.order));
    }
    finish_streaming<Stream>();
  }
  template <bool Stream>
  void store_batch(row_view<T> const& rows, index_t i, int count) const {
    for (int k = 0; k < count; ++k)
      store_rows<Stream>(rows.data + k * rows.pitch, i + k, 1, tile_.to_layout, tile_.width,
                         tile_.mode, tile_.to);
  }
  // Runs backward with groups of one or two rows. Shifted channels are left in the scratch memory.
  template <bool Stream>
  void backward_batches() const {
    alignas(64) T exchanged[batch_elements];
    alignas(64) std::uint8_t swap_bytes[tile_columns] = {};
    index_t offset[tile_columns];
    for (int lane = 0; lane < tile_columns; ++lane) offset[lane] = tile_.source_row(0, lane);
    for (index_t i = 0; i < tile_.rows; i += csp_rows_per_batch) {
      int const count = rows_in_batch(i);
      auto rows =
          load_rows(tile_.from, tile_.from_layout, tile_.width, i, count, tile_.scratch.stage);
      if (is_pair(tile_.group)) {
        gather_rows(static_cast<std::uint8_t const*>(tile_.order), tile_.order_layout, 0,
                    tile_.width, i / csp_rows_per_batch, 1, swap_bytes, tile_columns);
        if (Stream && tile_.mode == grad_mode::overwrite) {
          T* const to = tile_.to + tile_.to_layout.start[0] + i * tile_.to_layout.pitch;
          pair_exchange<T>::template backward<true>(rows.data, rows.pitch, count, swap_bytes, to,
                                                    tile_.to_layout.pitch);
          continue;
        }
        pair_exchange<T>::template backward<false>(rows.data, rows.pitch, count, swap_bytes,
                                                   exchanged, tile_columns);
        rows = {exchanged, tile_columns};
      }
      if (tile_.shifted)
        columns_.store_rows_transposed(rows.data, rows.pitch, count, offset);
      else
        store_batch<Stream>(rows, i, count);
    }
    finish_streaming<Stream>();
  }

  void sort_chunks() const {
    index_t const chunk_rows = csp_chunk_rows(tile_.group, tile_.rows);
    tile_operand const stage = stage_layout(tile_.width);
    bool const narrows_order = tile_.order != nullptr && tile_.order_width == index_width::bits8;
    column_tile<T> sort_tile;
    sort_tile.x_layout = tile_.shifted ? stage : tile_.from_layout;
    sort_tile.y_layout = tile_.to_layout;
    sort_tile.perm = nullptr;
    sort_tile.perm_layout = narrows_order ? stage : tile_.order_layout;
    sort_tile.perm_width = index_width::bits16;
    sort_tile.width = tile_.width, sort_tile.ragged = false, sort_tile.group = tile_.group;
    std::memcpy(sort_tile.descending_mask, tile_.descending_mask, sizeof sort_tile.descending_mask);
    sort_tile.stream = tile_.stream;
    sort_tile.stream_perm =
        !narrows_order && tile_.stream && tile_.order_layout.has_whole_cache_lines(tile_.order, 2);
    sort_tile.scratch = tile_.scratch.sorter_scratch;
    for (index_t i = 0; i < tile_.rows; i += chunk_rows) {
      sort_tile.rows = tile_.rows - i < chunk_rows ? tile_.rows - i : chunk_rows;
      for (index_t& valid : sort_tile.valid) valid = sort_tile.rows;
      sort_tile.x = tile_.shifted ? tile_.scratch.stage : tile_.from + i * tile_.from_layout.pitch;
      for (index_t k = 0; tile_.shifted && k < sort_tile.rows; k += csp_rows_per_batch)
        load_rows_up_to(i + k, sort_tile.rows - k, tile_.scratch.stage + k * tile_columns);
      sort_tile.y = tile_.to + i * tile_.to_layout.pitch;
      if (narrows_order)
        sort_tile.perm = tile_.scratch.order;
      else if (tile_.order != nullptr)
        sort_tile.perm = static_cast<std::uint16_t*>(tile_.order) + i * tile_.order_layout.pitch;
      sort_tile.destinations = tile_.destinations == nullptr ? nullptr : tile_.destinations + i;
      tile_.order == nullptr ? sort_tiles<T, values_codec<T>>(&sort_tile, 1)
                             : sort_tiles<T, indexed_codec<T>>(&sort_tile, 1);
      if (narrows_order) store_narrow_order(i, sort_tile.rows);
    }
  }
  // Loads a batch of rows of the shifted channels from row i on, or only `count` rows if fewer are
  // left, because `to` may end there.
  void load_rows_up_to(index_t i, index_t count, T* to) const {
    if (count >= csp_rows_per_batch) return columns_.load_rows_transposed(i, to);
    alignas(64) T rows[batch_elements];
    columns_.load_rows_transposed(i, rows);
    std::memcpy(to, rows, static_cast<std::size_t>(count) * tile_columns * sizeof(T));
  }
  // Converts the order of a chunk, whose rows start at `first_row`, to 8 bits and stores it.
  void store_narrow_order(index_t first_row, index_t rows) const {
    constexpr int lanes = vector_bytes / 2;
    using index_lanes = vec<std::uint16_t, lanes>;
    using byte_lanes = vec<std::uint8_t, lanes>;
    alignas(64) std::uint8_t order[batch_elements];
    for (index_t i = 0; i < rows; i += csp_rows_per_batch) {
      int const count =
          rows - i < csp_rows_per_batch ? static_cast<int>(rows - i) : csp_rows_per_batch;
      std::uint16_t const* const from = tile_.scratch.order + i * tile_columns;
      for (int k = 0; k < count * tile_columns; k += lanes)
        store_lanes(order + k, convert<byte_lanes>(load_lanes<index_lanes>(from + k)));
      scatter_rows(order, tile_columns, tile_.width, first_row + i, count, tile_.order_layout,
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
  // Scatters every row of dy to its source row, before the shift.
  template <class Index>
  void scatter_gradient(Index const* order) const {
    alignas(64) Index indices[batch_elements] = {};
    alignas(64) std::uint32_t group_start[tile_columns], offset[tile_columns];
    auto const rows = static_cast<std::uint32_t>(tile_.rows);
    index_t row_in_group = tile_.group, group_row = -tile_.group;
    for (index_t i = 0; i < tile_.rows; i += csp_rows_per_batch) {
      int const count = rows_in_batch(i);
      auto const dy =
          load_rows(tile_.from, tile_.from_layout, tile_.width, i, count, tile_.scratch.stage);
      auto const sources = load_rows(order, tile_.order_layout, tile_.width, i, count, indices);
      for (int k = 0; k < count; ++k, ++row_in_group) {
        if (row_in_group == tile_.group) {
          group_row += tile_.group;
          row_in_group = 0;
          for (int lane = 0; lane < tile_columns; ++lane)
            group_start[lane] = static_cast<std::uint32_t>(tile_.source_row(group_row, lane));
        }
        for (int lane = 0; lane < tile_columns; ++lane) {
          std::uint32_t const source =
              group_start[lane] +
              static_cast<std::uint32_t>(sources.data[k * sources.pitch + lane]);
          offset[lane] = source < rows ? source : source - rows;
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
void run_csp_tile(csp_tile<T> const& tile, csp_operation operation) {
  csp_tile_kernel<T> const kernel(tile);
  if (operation == csp_operation::forward)
    kernel.forward();
  else if (operation == csp_operation::backward)
    kernel.backward();
  else
    kernel.gather_shifted();
}

template <class T>
void choose_csp_kernels(target, csp_kernels<T>& kernels) {
  kernels.run_csp_tile = run_csp_tile<T>;
  kernels.exchange_row_pairs = exchange_row_pairs<T>;
}
