// SPDX-License-Identifier: Apache-2.0
// Stores sorted tiles. Batches of rows of two adjacent tiles are stored alternately, because
// writing two adjacent cache lines costs the same as one. Included once per instruction set.

// Returns the output row of sorted row i.
template <class T>
SLICESORT_INLINE index_t destination(column_tile<T> const& tile, std::size_t i) {
  if (tile.destinations == nullptr) return static_cast<index_t>(i);
  return static_cast<index_t>(i) / tile.group * tile.group + tile.destinations[i];
}
template <class T, class Element, class Output>
void scatter_sorted(column_tile<T> const& tile, Element const* stage, index_t const* target_rows,
                    int count, tile_operand const& layout, Output* output) {
  if (tile.destinations == nullptr)
    scatter_rows(stage, tile_columns, tile.width, target_rows[0], count, layout, output);
  else
    for (int k = 0; k < count; ++k)
      scatter_rows(stage + k * tile_columns, tile_columns, tile.width, target_rows[k], 1, layout,
                   output);
}

// Stores tiles. HoldsValues: rows are values, not keys. Stream: uses streaming stores. Index: type
// of the stored permutation; void if it is not stored.
template <bool HoldsValues, bool Stream, class Index>
struct tile_store {
  static constexpr bool holds_values = HoldsValues, stream = Stream;
  static constexpr bool saves_perm = !std::is_void<Index>::value;
  using index = std::conditional_t<saves_perm, Index, std::uint16_t>;

  template <class Sorter>
  static void run(Sorter const* sorters, int count) {
    constexpr std::size_t alternating_rows = 32;
    std::size_t rows = 0;
    for (int i = 0; i < count; ++i)
      rows = rows_to_store(sorters[i]) > rows ? rows_to_store(sorters[i]) : rows;
    std::size_t const step = count == 1 ? rows : alternating_rows;
    for (std::size_t first = 0; first < rows; first += step)
      for (int i = 0; i < count; ++i) {
        std::size_t const n = rows_to_store(sorters[i]);
        store(sorters[i], first, first + step < n ? first + step : n);
      }
    finish_streaming<stream>();
  }

 private:
  template <class Sorter>
  static std::size_t rows_to_store(Sorter const& sorter) {
    auto const stored_rows = static_cast<std::size_t>(sorter.tile().stored_rows);
    return sorter.rows() < stored_rows ? sorter.rows() : stored_rows;
  }
  template <class Sorter>
  static void store(Sorter const& sorter, std::size_t first, std::size_t end) {
    using codec = typename Sorter::codec;
    using bits = typename Sorter::bits;
    using row_vector = typename Sorter::row_vector;
    constexpr int lanes = row_vector::lanes, rows_per_batch = Sorter::rows_per_batch;
    constexpr std::size_t stage_elements = static_cast<std::size_t>(rows_per_batch * tile_columns);
    auto const& tile = sorter.tile();
    index* const perm = saves_perm ? static_cast<index*>(tile.perm) : nullptr;
    // Copied to local variables, because the compiler assumes that vector stores change any object
    // whose address is taken.
    std::size_t const pitch = sorter.pitch();
    int const panels = sorter.used_panels();
    bool const stores_values = tile.y != nullptr, dense = stores_values && tile.y_layout.dense,
               dense_perm = saves_perm && tile.perm_layout.dense,
               stream_perm = stream && tile.stream_perm;
    alignas(64) bits values[stage_elements];
    alignas(64) index indices[stage_elements];
    while (first < end) {
      int const count =
          end - first < rows_per_batch ? static_cast<int>(end - first) : rows_per_batch;
      row_vector const* source =
          sorter.panel(0) + row_at<row_vector>(first);  // a batch is contiguous
      index_t target_rows[static_cast<std::size_t>(rows_per_batch)];
      for (int k = 0; k < count; ++k)
        target_rows[k] = destination(tile, first + static_cast<std::size_t>(k));
      for (int k = 0; k < count; ++k, ++source) {
        bits* const y_row = dense ? reinterpret_cast<bits*>(tile.y + tile.y_layout.start[0] +
                                                            target_rows[k] * tile.y_layout.pitch)
                                  : values + k * tile_columns;
        index* const perm_row =
            dense_perm ? perm + tile.perm_layout.start[0] + target_rows[k] * tile.perm_layout.pitch
                       : indices + k * tile_columns;
        for (int p = 0; p < panels; ++p) {
          row_vector const sorted = source[static_cast<std::size_t>(p) * pitch];
          if (stores_values) {
            bits* const y = y_row + p * lanes;
            if constexpr (holds_values)
              codec::template store_values<stream>(sorted, y);
            else
              codec::template store_decoded<stream>(sorted, tile.descending_mask + p * lanes, y);
          }
          if constexpr (saves_perm) {
            if (stream_perm)
              codec::template store_indices<true>(sorted, perm_row + p * lanes);
            else
              codec::template store_indices<false>(sorted, perm_row + p * lanes);
          }
        }
      }
      if (stores_values && !dense)
        scatter_sorted(tile, values, target_rows, count, tile.y_layout, tile.y);
      if (saves_perm && !dense_perm)
        scatter_sorted(tile, indices, target_rows, count, tile.perm_layout, perm);
      first += static_cast<std::size_t>(count);
    }
  }
};

template <bool HoldsValues, class Sorter>
void store_tiles(Sorter const* sorters, int count) {
  using index16 = std::conditional_t<Sorter::codec::has_index, std::uint16_t, void>;
  using index32 = std::conditional_t<Sorter::codec::has_index, std::uint32_t, void>;
  using function = void (*)(Sorter const*, int);
  constexpr function store[2][3] = {
      {tile_store<HoldsValues, false, void>::run, tile_store<HoldsValues, false, index16>::run,
       tile_store<HoldsValues, false, index32>::run},
      {tile_store<HoldsValues, true, void>::run, tile_store<HoldsValues, true, index16>::run,
       tile_store<HoldsValues, true, index32>::run}};
  auto const &first = sorters[0].tile(), &last = sorters[count - 1].tile();
  bool const stream = first.stream && first.y_layout.dense && last.stream && last.y_layout.dense;
  int const index = first.perm == nullptr ? 0 : first.perm_width == index_width::bits16 ? 1 : 2;
  store[stream ? 1 : 0][index](sorters, count);
}
