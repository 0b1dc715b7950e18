// SPDX-License-Identifier: Apache-2.0
// The kernels of csp for one instruction set. A tile is moved forward or backward; shifted channels
// go through a copy of the tile in cache, in which each channel is contiguous.

// clang-format off
#include <slicesort/detail/csp/host/exchange_pairs.inl>
#include <slicesort/detail/csp/host/transposed_columns.inl>
// clang-format on

template <class T>
class csp_tile_kernel {
 public:
  explicit csp_tile_kernel(csp_tile<T> const& tile)
      : t_(tile), columns_(tile.scratch.columns, tile.scratch.pitch, tile.rows) {}

  void forward() const {
    if (t_.shifted) gather_shifted();
    if (t_.group <= 2)
      t_.stream ? move_batches<true>() : move_batches<false>();
    else
      sort_chunks();
  }

  // Lays the channels, shifted, out in `scratch.columns`.
  void gather_shifted() const {
    index_t offset[tile_columns];
    for (int lane = 0; lane < tile_columns; ++lane) offset[lane] = t_.shift[lane];
    for (index_t i = 0; i < t_.rows; i += csp_batch) {
      int const count = batch_at(i);
      auto const rows = rows_at(t_.from, t_.from_at, t_.width, i, count, t_.scratch.stage);
      columns_.transpose_in(rows.data, rows.pitch, count, offset);
    }
  }

  void backward() const {
    if (t_.group > 2) {
      with_order_type([&](auto const* order) { scatter_gradient(order); });
      t_.stream ? scatter_shifted<true>() : scatter_shifted<false>();
    } else if (t_.shifted) {
      restore_pairs<false>();
      t_.stream ? scatter_shifted<true>() : scatter_shifted<false>();
    } else {
      t_.stream ? restore_pairs<true>() : restore_pairs<false>();
    }
  }

 private:
  static constexpr std::size_t batch_size = std::size_t{csp_batch} * tile_columns;

  // Rows of 32 adjacent elements, in the tensor or in a stage.
  template <class E>
  struct row_block {
    E const* data;
    index_t pitch;
  };
  // Rows i .. of a tensor: where they are if the tile is dense there, else copied to `stage`.
  template <class E>
  static row_block<E> rows_at(E const* from, tile_operand const& at, int width, index_t i,
                              int count, E* stage) {
    if (at.dense) {
      E const* const rows = from + at.start[0] + i * at.pitch;
      for (int k = 0; k < count; ++k) prefetch_after(rows + k * at.pitch, at.pitch);
      return {rows, at.pitch};
    }
    gather_rows(from, at, 0, width, i, count, stage, tile_columns);
    return {stage, tile_columns};
  }
  int batch_at(index_t i) const {
    return t_.rows - i < csp_batch ? static_cast<int>(t_.rows - i) : csp_batch;
  }

  // --- from contiguous channels back to rows ---

  template <bool Stream>
  void scatter_shifted() const {
    for (index_t i = 0; i < t_.rows; i += csp_batch) {
      columns_.transpose_out(i, t_.scratch.stage);
      store_rows<Stream>(t_.scratch.stage, i, batch_at(i), t_.to_at, t_.width, t_.mode, t_.to);
    }
    finish_streaming<Stream>();
  }
  // The batch of shifted rows that begins at row i.
  row_block<T> shifted_rows(index_t i, int count) const {
    if (!t_.shifted) return rows_at(t_.from, t_.from_at, t_.width, i, count, t_.scratch.stage);
    columns_.transpose_out(i, t_.scratch.stage);
    return {t_.scratch.stage, tile_columns};
  }

  // --- groups of one row or two ---

  template <bool Stream>
  void move_batches() const {
    alignas(64) T moved[batch_size];
    alignas(64) std::uint8_t saved[tile_columns];
    for (index_t i = 0; i < t_.rows; i += csp_batch) {
      int const count = batch_at(i);
      auto const rows = shifted_rows(i, count);
      if (t_.group == 1) {
        store_batch<Stream>(rows, i, count);
        continue;
      }
      bool const direct = t_.to_at.dense;
      T* const to = direct ? t_.to + t_.to_at.start[0] + i * t_.to_at.pitch : moved;
      pair_exchange<T>::template forward<Stream>(rows.data, rows.pitch, count, t_.flip,
                                                 falling_pairs(t_.destinations, i, count), to,
                                                 direct ? t_.to_at.pitch : tile_columns, saved);
      if (!direct) scatter_rows(moved, tile_columns, t_.width, i, count, t_.to_at, t_.to);
      if (t_.order != nullptr)
        scatter_rows(saved, tile_columns, t_.width, i / csp_batch, 1, t_.order_at,
                     static_cast<std::uint8_t*>(t_.order));
    }
    finish_streaming<Stream>();
  }
  template <bool Stream>
  void store_batch(row_block<T> const& rows, index_t i, int count) const {
    for (int k = 0; k < count; ++k)
      store_rows<Stream>(rows.data + k * rows.pitch, i + k, 1, t_.to_at, t_.width, t_.mode, t_.to);
  }
  template <bool Stream>
  void restore_pairs() const {
    alignas(64) T moved[batch_size];
    alignas(64) std::uint8_t saved[tile_columns] = {};
    index_t offset[tile_columns];
    for (int lane = 0; lane < tile_columns; ++lane) offset[lane] = t_.source_row(0, lane);
    for (index_t i = 0; i < t_.rows; i += csp_batch) {
      int const count = batch_at(i);
      auto rows = rows_at(t_.from, t_.from_at, t_.width, i, count, t_.scratch.stage);
      if (t_.group == 2) {
        gather_rows(static_cast<std::uint8_t const*>(t_.order), t_.order_at, 0, t_.width,
                    i / csp_batch, 1, saved, tile_columns);
        if (Stream && t_.mode == grad_mode::overwrite) {
          T* const to = t_.to + t_.to_at.start[0] + i * t_.to_at.pitch;
          pair_exchange<T>::template backward<true>(rows.data, rows.pitch, count, saved, to,
                                                    t_.to_at.pitch);
          continue;
        }
        pair_exchange<T>::template backward<false>(rows.data, rows.pitch, count, saved, moved,
                                                   tile_columns);
        rows = {moved, tile_columns};
      }
      if (t_.shifted)
        columns_.transpose_in(rows.data, rows.pitch, count, offset);
      else
        store_batch<Stream>(rows, i, count);
    }
    finish_streaming<Stream>();
  }

  // --- longer groups ---

  // Sorts whole groups at a time, as columns.
  void sort_chunks() const {
    index_t const chunk = csp_chunk_rows(t_.group, t_.rows);
    tile_operand const staged = staged_rows(t_.width);
    bool const narrowing = t_.order != nullptr && t_.order_width == index_width::bits8;
    column_tile<T> c;
    c.x_layout = t_.shifted ? staged : t_.from_at;
    c.y_layout = t_.to_at;
    c.perm = nullptr;
    c.perm_layout = narrowing ? staged : t_.order_at;
    c.perm_width = index_width::bits16;
    c.width = t_.width, c.ragged = false, c.group = t_.group;
    std::memcpy(c.flip, t_.flip, sizeof c.flip);
    c.stream = t_.stream;
    c.stream_perm = !narrowing && t_.stream && t_.order_at.on_lines(t_.order, 2);
    c.scratch = t_.scratch.sorter;
    for (index_t i = 0; i < t_.rows; i += chunk) {
      c.rows = t_.rows - i < chunk ? t_.rows - i : chunk;
      for (index_t& valid : c.valid) valid = c.rows;
      c.x = t_.shifted ? t_.scratch.stage : t_.from + i * t_.from_at.pitch;
      for (index_t k = 0; t_.shifted && k < c.rows; k += csp_batch)
        transpose_out_some(i + k, c.rows - k, t_.scratch.stage + k * tile_columns);
      c.y = t_.to + i * t_.to_at.pitch;
      if (narrowing)
        c.perm = t_.scratch.order;
      else if (t_.order != nullptr)
        c.perm = static_cast<std::uint16_t*>(t_.order) + i * t_.order_at.pitch;
      c.destinations = t_.destinations == nullptr ? nullptr : t_.destinations + i;
      t_.order == nullptr ? sort_tiles<T, values_codec<T>>(&c, 1)
                          : sort_tiles<T, indexed_codec<T>>(&c, 1);
      if (narrowing) narrow(i, c.rows);
    }
  }
  // Rows i .. of the shifted channels: a batch of them, or `count` where those are fewer, since the
  // stage may not hold a whole batch.
  void transpose_out_some(index_t i, index_t count, T* to) const {
    if (count >= csp_batch) return columns_.transpose_out(i, to);
    alignas(64) T rows[batch_size];
    columns_.transpose_out(i, rows);
    std::memcpy(to, rows, static_cast<std::size_t>(count) * tile_columns * sizeof(T));
  }
  // Stores the permutation of a chunk that begins at row `first` as bytes.
  void narrow(index_t first, index_t rows) const {
    constexpr int lanes = vector_bytes / 2;
    using index_lanes = vec<std::uint16_t, lanes>;
    using byte_lanes = vec<std::uint8_t, lanes>;
    alignas(64) std::uint8_t order[batch_size];
    for (index_t i = 0; i < rows; i += csp_batch) {
      int const count = rows - i < csp_batch ? static_cast<int>(rows - i) : csp_batch;
      std::uint16_t const* const from = t_.scratch.order + i * tile_columns;
      for (int k = 0; k < count * tile_columns; k += lanes)
        store_lanes(order + k, convert<byte_lanes>(load_lanes<index_lanes>(from + k)));
      scatter_rows(order, tile_columns, t_.width, first + i, count, t_.order_at,
                   static_cast<std::uint8_t*>(t_.order));
    }
  }

  template <class F>
  void with_order_type(F const& f) const {
    if (t_.order_width == index_width::bits8)
      f(static_cast<std::uint8_t const*>(t_.order));
    else if (t_.order_width == index_width::bits16)
      f(static_cast<std::uint16_t const*>(t_.order));
    else
      f(static_cast<std::uint32_t const*>(t_.order));
  }
  // Writes every row of dy to the row that its row of x came from, in the shifted channels.
  template <class Index>
  void scatter_gradient(Index const* order) const {
    alignas(64) Index indices[batch_size] = {};
    alignas(64) std::uint32_t first[tile_columns], offset[tile_columns];
    auto const rows = static_cast<std::uint32_t>(t_.rows);
    index_t in_group = t_.group, group_row = -t_.group;
    for (index_t i = 0; i < t_.rows; i += csp_batch) {
      int const count = batch_at(i);
      auto const dy = rows_at(t_.from, t_.from_at, t_.width, i, count, t_.scratch.stage);
      auto const from = rows_at(order, t_.order_at, t_.width, i, count, indices);
      for (int k = 0; k < count; ++k, ++in_group) {
        if (in_group == t_.group) {
          group_row += t_.group;
          in_group = 0;
          for (int lane = 0; lane < tile_columns; ++lane)
            first[lane] = static_cast<std::uint32_t>(t_.source_row(group_row, lane));
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

  csp_tile<T> const& t_;
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
void choose_csp_kernels(target, csp_kernels<T>& use) {
  use.move_csp_tile = move_csp_tile<T>;
  use.exchange_pair_rows = exchange_pair_rows<T>;
}
