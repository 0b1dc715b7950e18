// SPDX-License-Identifier: Apache-2.0
// Stores sorted tiles. Rows of two adjacent tiles are interleaved, because writing two neighboring
// lines costs the same as one. Included once per instruction set.

template <class T>
SLICESORT_INLINE index_t destination(column_tile<T> const& tile, std::size_t i) {
  if (tile.destinations == nullptr) return static_cast<index_t>(i);
  return static_cast<index_t>(i) / tile.group * tile.group + tile.destinations[i];
}
template <class T, class Stage, class To>
void scatter_sorted(column_tile<T> const& tile, Stage const* stage, index_t const* to_row,
                    int count, tile_operand const& layout, To* to) {
  if (tile.destinations == nullptr)
    scatter_rows(stage, tile_columns, tile.width, to_row[0], count, layout, to);
  else
    for (int k = 0; k < count; ++k)
      scatter_rows(stage + k * tile_columns, tile_columns, tile.width, to_row[k], 1, layout, to);
}

template <bool Restored, bool Stream, class Index>
struct tile_store {
  static constexpr bool restored = Restored;                   // true if rows are values, not keys
  static constexpr bool stream = Stream;                       // true for streaming stores
  static constexpr bool saving = !std::is_void<Index>::value;  // true if the permutation is stored
  using index = std::conditional_t<saving, Index, std::uint16_t>;

  template <class Sorter>
  static void run(Sorter const* sorters, int count) {
    constexpr std::size_t interleaved_rows = 32;
    std::size_t rows = 0;
    for (int i = 0; i < count; ++i) rows = sorters[i].rows() > rows ? sorters[i].rows() : rows;
    std::size_t const step = count == 1 ? rows : interleaved_rows;
    for (std::size_t first = 0; first < rows; first += step)
      for (int i = 0; i < count; ++i) {
        std::size_t const n = sorters[i].rows();
        store(sorters[i], first, first + step < n ? first + step : n);
      }
    finish_streaming<stream>();
  }

 private:
  template <class Sorter>
  static void store(Sorter const& sorter, std::size_t first, std::size_t last) {
    using codec = typename Sorter::codec;
    using bits = typename Sorter::bits;
    using row = typename Sorter::row;
    constexpr int lanes = row::lanes, batch = Sorter::batch;
    constexpr std::size_t stage_size = static_cast<std::size_t>(batch * tile_columns);
    auto const& tile = sorter.tile();
    index* const perm = saving ? static_cast<index*>(tile.perm) : nullptr;
    // Copied to local variables, because the compiler assumes that vector stores change any object
    // whose address is taken.
    std::size_t const pitch = sorter.pitch();
    int const parts = sorter.used_parts();
    bool const dense = tile.y_layout.dense, dense_perm = saving && tile.perm_layout.dense,
               stream_perm = stream && tile.stream_perm;
    alignas(64) bits values[stage_size];
    alignas(64) index indices[stage_size];
    while (first < last) {
      int const count = last - first < batch ? static_cast<int>(last - first) : batch;
      row const* from = sorter.part(0) + row_at<row>(first);  // a batch is contiguous
      index_t to_row[static_cast<std::size_t>(batch)];
      for (int k = 0; k < count; ++k)
        to_row[k] = destination(tile, first + static_cast<std::size_t>(k));
      for (int k = 0; k < count; ++k, ++from) {
        bits* const y = dense ? reinterpret_cast<bits*>(tile.y + tile.y_layout.start[0] +
                                                        to_row[k] * tile.y_layout.pitch)
                              : values + k * tile_columns;
        index* const q = dense_perm
                             ? perm + tile.perm_layout.start[0] + to_row[k] * tile.perm_layout.pitch
                             : indices + k * tile_columns;
        for (int p = 0; p < parts; ++p) {
          row const r = from[static_cast<std::size_t>(p) * pitch];
          if constexpr (restored)
            codec::template store_values<stream>(r, y + p * lanes);
          else
            codec::template store_decoded<stream>(r, tile.flip + p * lanes, y + p * lanes);
          if constexpr (saving) {
            if (stream_perm)
              codec::template store_indices<true>(r, q + p * lanes);
            else
              codec::template store_indices<false>(r, q + p * lanes);
          }
        }
      }
      if (!dense) scatter_sorted(tile, values, to_row, count, tile.y_layout, tile.y);
      if (saving && !dense_perm)
        scatter_sorted(tile, indices, to_row, count, tile.perm_layout, perm);
      first += static_cast<std::size_t>(count);
    }
  }
};

// Stores the tiles of one call. `Restored`: rows are values, not keys.
template <bool Restored, class Sorter>
void store_tiles(Sorter const* sorters, int count) {
  using index16 = std::conditional_t<Sorter::codec::has_index, std::uint16_t, void>;
  using index32 = std::conditional_t<Sorter::codec::has_index, std::uint32_t, void>;
  using function = void (*)(Sorter const*, int);
  constexpr function store[2][3] = {
      {tile_store<Restored, false, void>::run, tile_store<Restored, false, index16>::run,
       tile_store<Restored, false, index32>::run},
      {tile_store<Restored, true, void>::run, tile_store<Restored, true, index16>::run,
       tile_store<Restored, true, index32>::run}};
  auto const &a = sorters[0].tile(), &b = sorters[count - 1].tile();
  bool const stream = a.stream && a.y_layout.dense && b.stream && b.y_layout.dense;
  int const index = a.perm == nullptr ? 0 : a.perm_width == index_width::bits16 ? 1 : 2;
  store[stream ? 1 : 0][index](sorters, count);
}
