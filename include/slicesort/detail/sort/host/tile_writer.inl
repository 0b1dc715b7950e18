// SPDX-License-Identifier: Apache-2.0
// Stores sorted tiles. Two tiles that lie side by side are stored in turns, some rows of one and
// the same rows of the other: writing two neighboring lines costs what writing one does. Included
// once per instruction set, last.

// The row of the output for sorted row i of the tile.
template <class T>
SLICESORT_INLINE index_t destination(column_tile<T> const& t, std::size_t i) {
  if (t.destinations == nullptr) return static_cast<index_t>(i);
  return static_cast<index_t>(i) / t.group * t.group + t.destinations[i];
}
// Stores staged rows where they cannot be stored as vectors.
template <class T, class Stage, class To>
void scatter_sorted(column_tile<T> const& t, Stage const* stage, index_t const* to_row, int count,
                    tile_operand const& at, To* to) {
  if (t.destinations == nullptr)
    scatter_rows(stage, tile_columns, t.width, to_row[0], count, at, to);
  else
    for (int k = 0; k < count; ++k)
      scatter_rows(stage + k * tile_columns, tile_columns, t.width, to_row[k], 1, at, to);
}

// Stores rows [first, last) of one tile. Restored: they are values, not keys. Stream: around the
// cache. Index: of the permutation, or void where none is stored.
template <bool Restored, bool Stream, class Index, class T, class Codec>
void store_rows(tile_sorter<T, Codec> const& s, std::size_t first, std::size_t last) {
  using bits = detail::bits_t<T>;
  using row = typename Codec::row;
  constexpr bool saving = !std::is_void<Index>::value;
  using stored_index = std::conditional_t<saving, Index, std::uint16_t>;
  constexpr int lanes = row::lanes, batch = tile_sorter<T, Codec>::batch;
  constexpr std::size_t stage_size = static_cast<std::size_t>(batch * tile_columns);
  column_tile<T> const& t = s.tile();
  stored_index* const perm = saving ? static_cast<stored_index*>(t.perm) : nullptr;
  // Vector stores may change any object that has an address, as far as the compiler knows.
  std::size_t const pitch = s.pitch();
  int const parts = s.used_parts();
  bool const dense = t.y_at.dense, dense_perm = saving && t.perm_at.dense,
             stream_perm = Stream && t.stream_perm;
  alignas(64) bits values[stage_size];
  alignas(64) stored_index indices[stage_size];
  while (first < last) {
    int const count = last - first < batch ? static_cast<int>(last - first) : batch;
    row const* from = s.part(0) + row_at<row>(first);  // a batch lies together
    index_t to_row[static_cast<std::size_t>(batch)];
    for (int k = 0; k < count; ++k) to_row[k] = destination(t, first + static_cast<std::size_t>(k));
    for (int k = 0; k < count; ++k, ++from) {
      bits* const y =
          dense ? reinterpret_cast<bits*>(t.y + t.y_at.start[0] + to_row[k] * t.y_at.pitch)
                : values + k * tile_columns;
      stored_index* const q = dense_perm ? perm + t.perm_at.start[0] + to_row[k] * t.perm_at.pitch
                                         : indices + k * tile_columns;
      for (int p = 0; p < parts; ++p) {
        row const r = from[static_cast<std::size_t>(p) * pitch];
        if constexpr (Restored)
          Codec::template store_values<Stream>(r, y + p * lanes);
        else
          Codec::template store_decoded<Stream>(r, t.flip + p * lanes, y + p * lanes);
        if constexpr (saving) {
          if (stream_perm)
            Codec::template store_indices<true>(r, q + p * lanes);
          else
            Codec::template store_indices<false>(r, q + p * lanes);
        }
      }
    }
    if (!dense) scatter_sorted(t, values, to_row, count, t.y_at, t.y);
    if (saving && !dense_perm) scatter_sorted(t, indices, to_row, count, t.perm_at, perm);
    first += static_cast<std::size_t>(count);
  }
}

template <bool Restored, bool Stream, class Index, class T, class Codec>
void store_tiles(tile_sorter<T, Codec> const* sorters, int count) {
  constexpr std::size_t turn = 32;
  std::size_t rows = 0;
  for (int i = 0; i < count; ++i) rows = sorters[i].rows() > rows ? sorters[i].rows() : rows;
  std::size_t const step = count == 1 ? rows : turn;
  for (std::size_t first = 0; first < rows; first += step)
    for (int i = 0; i < count; ++i) {
      std::size_t const n = sorters[i].rows();
      store_rows<Restored, Stream, Index>(sorters[i], first, first + step < n ? first + step : n);
    }
  finish_streaming<Stream>();
}
template <bool Restored, bool Stream, class T, class Codec>
void store_tiles(tile_sorter<T, Codec> const* sorters, int count) {
  column_tile<T> const& t = sorters[0].tile();
  if constexpr (Codec::has_index) {
    if (t.perm != nullptr && t.perm_width == index_width::bits16)
      return store_tiles<Restored, Stream, std::uint16_t>(sorters, count);
    if (t.perm != nullptr) return store_tiles<Restored, Stream, std::uint32_t>(sorters, count);
  }
  store_tiles<Restored, Stream, void>(sorters, count);
}
template <bool Restored, class T, class Codec>
void store_tiles(tile_sorter<T, Codec> const* sorters, int count) {
  column_tile<T> const &a = sorters[0].tile(), &b = sorters[count - 1].tile();
  if (a.stream && a.y_at.dense && b.stream && b.y_at.dense)
    store_tiles<Restored, true>(sorters, count);
  else
    store_tiles<Restored, false>(sorters, count);
}

// Returns false, having stored nothing, where the codec does not keep what the tiles need.
template <class T, class Codec>
bool sort_tiles_as(column_tile<T> const* tiles, int count) {
  using sorter = tile_sorter<T, Codec>;
  sorter sorters[] = {sorter(tiles[0]), sorter(tiles[count - 1])};
  bool lossy = false;
  for (int i = 0; i < count; ++i) {
    if (!sorters[i].sort()) return false;
    lossy |= sorters[i].lossy();
  }
  if constexpr (Codec::has_index) {
    if (lossy) {
      for (int i = 0; i < count; ++i) sorters[i].restore();
      store_tiles<true>(sorters, count);
      return true;
    }
  }
  store_tiles<false>(sorters, count);
  return true;
}

// Sorts one tile or two. Tries without indices first where none are wanted.
template <class T>
void sort_tiles(target, column_tile<T> const* tiles, int count) {
  if (tiles->perm == nullptr && sort_tiles_as<T, values_codec<T>>(tiles, count)) return;
  sort_tiles_as<T, indexed_codec<T>>(tiles, count);
}
