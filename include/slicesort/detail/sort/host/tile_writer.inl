// SPDX-License-Identifier: Apache-2.0
// Stores sorted tiles. The rows of two tiles that lie side by side are interleaved: writing two
// neighboring lines costs what writing one does. Included once per instruction set.

// The row of the output for sorted row i of the tile.
template <class T>
SLICESORT_INLINE index_t destination(column_tile<T> const& t, std::size_t i) {
  if (t.destinations == nullptr) return static_cast<index_t>(i);
  return static_cast<index_t>(i) / t.group * t.group + t.destinations[i];
}
// Stores staged rows that cannot be stored as vectors.
template <class T, class Stage, class To>
void scatter_sorted(column_tile<T> const& t, Stage const* stage, index_t const* to_row, int count,
                    tile_operand const& at, To* to) {
  if (t.destinations == nullptr)
    scatter_rows(stage, tile_columns, t.width, to_row[0], count, at, to);
  else
    for (int k = 0; k < count; ++k)
      scatter_rows(stage + k * tile_columns, tile_columns, t.width, to_row[k], 1, at, to);
}

// Policies of a store.
template <bool Restored, bool Stream, class Index>
struct tile_store {
  static constexpr bool restored = Restored;                   // rows are values, not keys
  static constexpr bool stream = Stream;                       // around the cache
  static constexpr bool saving = !std::is_void<Index>::value;  // the permutation is stored, too
  using index = std::conditional_t<saving, Index, std::uint16_t>;

  // Stores all rows of the tiles.
  template <class Sorter>
  static void run(Sorter const* sorters, int count) {
    constexpr std::size_t turn = 32;
    std::size_t rows = 0;
    for (int i = 0; i < count; ++i) rows = sorters[i].rows() > rows ? sorters[i].rows() : rows;
    std::size_t const step = count == 1 ? rows : turn;
    for (std::size_t first = 0; first < rows; first += step)
      for (int i = 0; i < count; ++i) {
        std::size_t const n = sorters[i].rows();
        store(sorters[i], first, first + step < n ? first + step : n);
      }
    finish_streaming<stream>();
  }

 private:
  // Stores rows [first, last) of one tile.
  template <class Sorter>
  static void store(Sorter const& s, std::size_t first, std::size_t last) {
    using codec = typename Sorter::codec;
    using bits = typename Sorter::bits;
    using row = typename Sorter::row;
    constexpr int lanes = row::lanes, batch = Sorter::batch;
    constexpr std::size_t stage_size = static_cast<std::size_t>(batch * tile_columns);
    auto const& t = s.tile();
    index* const perm = saving ? static_cast<index*>(t.perm) : nullptr;
    // Vector stores may change any object that has an address, as far as the compiler knows.
    std::size_t const pitch = s.pitch();
    int const parts = s.used_parts();
    bool const dense = t.y_at.dense, dense_perm = saving && t.perm_at.dense,
               stream_perm = stream && t.stream_perm;
    alignas(64) bits values[stage_size];
    alignas(64) index indices[stage_size];
    while (first < last) {
      int const count = last - first < batch ? static_cast<int>(last - first) : batch;
      row const* from = s.part(0) + row_at<row>(first);  // a batch lies together
      index_t to_row[static_cast<std::size_t>(batch)];
      for (int k = 0; k < count; ++k)
        to_row[k] = destination(t, first + static_cast<std::size_t>(k));
      for (int k = 0; k < count; ++k, ++from) {
        bits* const y =
            dense ? reinterpret_cast<bits*>(t.y + t.y_at.start[0] + to_row[k] * t.y_at.pitch)
                  : values + k * tile_columns;
        index* const q = dense_perm ? perm + t.perm_at.start[0] + to_row[k] * t.perm_at.pitch
                                    : indices + k * tile_columns;
        for (int p = 0; p < parts; ++p) {
          row const r = from[static_cast<std::size_t>(p) * pitch];
          if constexpr (restored)
            codec::template store_values<stream>(r, y + p * lanes);
          else
            codec::template store_decoded<stream>(r, t.flip + p * lanes, y + p * lanes);
          if constexpr (saving) {
            if (stream_perm)
              codec::template store_indices<true>(r, q + p * lanes);
            else
              codec::template store_indices<false>(r, q + p * lanes);
          }
        }
      }
      if (!dense) scatter_sorted(t, values, to_row, count, t.y_at, t.y);
      if (saving && !dense_perm) scatter_sorted(t, indices, to_row, count, t.perm_at, perm);
      first += static_cast<std::size_t>(count);
    }
  }
};

// Stores tiles of one call. `Restored`: their rows are values, not keys.
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
  bool const stream = a.stream && a.y_at.dense && b.stream && b.y_at.dense;
  int const index = a.perm == nullptr ? 0 : a.perm_width == index_width::bits16 ? 1 : 2;
  store[stream ? 1 : 0][index](sorters, count);
}
