// SPDX-License-Identifier: Apache-2.0
// Tile with contiguous channels, each of which is shifted separately. Rows are loaded and stored as
// squares of elements that are transposed in registers. Included once per instruction set.

template <class T>
class transposed_columns {
 public:
  static constexpr int max_lanes = vector_bytes / static_cast<int>(sizeof(T));
  static constexpr int square_size =
      max_lanes < csp_rows_per_batch ? max_lanes : csp_rows_per_batch;  // extent of a square

  transposed_columns(T* data, index_t pitch, index_t rows)
      : data_(data), pitch_(pitch), rows_(rows) {}

  T* column(int lane) const { return data_ + lane * pitch_; }

  // Stores `count` rows of 32. Row k goes to row offset[c] + k of channel c, modulo the number of
  // rows; advances the offsets.
  void store_rows_transposed(T const* from, index_t from_pitch, int count, index_t* offset) const {
    for (int k = 0; k < count; k += square_size) {
      int const rows = count - k < square_size ? count - k : square_size;
      for (int c = 0; c < tile_columns; c += square_size)
        store_square(from + k * from_pitch + c, from_pitch, rows, c, offset + c,
                     std::make_index_sequence<std::size_t{square_size}>{});
    }
  }
  // Loads rows i to i + csp_rows_per_batch - 1, as rows of 32. Rows past the end are undefined.
  void load_rows_transposed(index_t i, T* to) const {
    for (int k = 0; k < csp_rows_per_batch; k += square_size)
      for (int c = 0; c < tile_columns; c += square_size)
        load_square(i + k, c, to + k * tile_columns + c,
                    std::make_index_sequence<std::size_t{square_size}>{});
  }

 private:
  using V = vec<detail::bits_t<T>, square_size>;

  template <std::size_t... Lane>
  SLICESORT_INLINE void store_square(T const* from, index_t pitch, int count, int c,
                                     index_t* offset, std::index_sequence<Lane...>) const {
    if (count < square_size) return store_partial_square(from, pitch, count, c, offset);
    V square[sizeof...(Lane)] = {load_lanes<V>(from + static_cast<index_t>(Lane) * pitch)...};
    transpose<square_size>(square);
    (store_wrapped(square[Lane], c + static_cast<int>(Lane), offset[Lane]), ...);
  }
  void store_partial_square(T const* from, index_t pitch, int count, int c, index_t* offset) const {
    for (int k = 0; k < count; ++k)
      for (int lane = 0; lane < square_size; ++lane)
        store_one_wrapped(column(c + lane), from[k * pitch + lane], offset[lane]);
  }
  SLICESORT_INLINE void store_wrapped(V const& values, int lane, index_t& offset) const {
    T* const to = column(lane);
    if (offset + square_size <= rows_) {
      store_lanes(to + offset, values);
      offset += square_size;
    } else {
      T elements[static_cast<std::size_t>(square_size)];
      store_lanes(elements, values);
      for (T const& element : elements) store_one_wrapped(to, element, offset);
    }
  }
  void store_one_wrapped(T* to, T const& value, index_t& offset) const {
    if (offset >= rows_) offset = 0;
    to[offset++] = value;
  }

  template <std::size_t... Lane>
  SLICESORT_INLINE void load_square(index_t i, int c, T* to, std::index_sequence<Lane...>) const {
    V square[sizeof...(Lane)] = {load_lanes<V>(column(c + static_cast<int>(Lane)) + i)...};
    transpose<square_size>(square);
    (store_lanes(to + Lane * tile_columns, square[Lane]), ...);
  }

  T* data_;
  index_t pitch_, rows_;
};
