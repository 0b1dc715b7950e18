// SPDX-License-Identifier: Apache-2.0
// Tile with contiguous channels, each of which is shifted separately. Rows are loaded and stored as
// squares of elements that are transposed in registers. Included once per instruction set.

template <class T>
class transposed_columns {
 public:
  static constexpr int widest = vector_bytes / static_cast<int>(sizeof(T));
  static constexpr int side = widest < csp_batch ? widest : csp_batch;  // extent of a square

  transposed_columns(T* data, index_t pitch, index_t rows)
      : data_(data), pitch_(pitch), rows_(rows) {}

  T* column(int lane) const { return data_ + lane * pitch_; }

  // Stores `count` rows of 32. Row k goes to row offset[c] + k of channel c, modulo the number of
  // rows; advances the offsets.
  void transpose_in(T const* from, index_t from_pitch, int count, index_t* offset) const {
    for (int k = 0; k < count; k += side) {
      int const rows = count - k < side ? count - k : side;
      for (int c = 0; c < tile_columns; c += side)
        square_in(from + k * from_pitch + c, from_pitch, rows, c, offset + c,
                  std::make_index_sequence<std::size_t{side}>{});
    }
  }
  // Loads rows i to i + csp_batch - 1, as rows of 32. Rows past the end are undefined.
  void transpose_out(index_t i, T* to) const {
    for (int k = 0; k < csp_batch; k += side)
      for (int c = 0; c < tile_columns; c += side)
        square_out(i + k, c, to + k * tile_columns + c,
                   std::make_index_sequence<std::size_t{side}>{});
  }

 private:
  using V = vec<detail::bits_t<T>, side>;

  template <std::size_t... At>
  SLICESORT_INLINE void square_in(T const* from, index_t pitch, int count, int c, index_t* offset,
                                  std::index_sequence<At...>) const {
    if (count < side) return rows_in(from, pitch, count, c, offset);
    V x[sizeof...(At)] = {load_lanes<V>(from + static_cast<index_t>(At) * pitch)...};
    transpose<side>(x);
    (store_wrapped(x[At], c + static_cast<int>(At), offset[At]), ...);
  }
  void rows_in(T const* from, index_t pitch, int count, int c, index_t* offset) const {
    for (int k = 0; k < count; ++k)
      for (int lane = 0; lane < side; ++lane)
        store_one_wrapped(column(c + lane), from[k * pitch + lane], offset[lane]);
  }
  SLICESORT_INLINE void store_wrapped(V const& rows, int lane, index_t& offset) const {
    T* const to = column(lane);
    if (offset + side <= rows_) {
      store_lanes(to + offset, rows);
      offset += side;
    } else {
      T parts[static_cast<std::size_t>(side)];
      store_lanes(parts, rows);
      for (T const& part : parts) store_one_wrapped(to, part, offset);
    }
  }
  void store_one_wrapped(T* to, T const& value, index_t& offset) const {
    if (offset >= rows_) offset = 0;
    to[offset++] = value;
  }

  template <std::size_t... At>
  SLICESORT_INLINE void square_out(index_t i, int c, T* to, std::index_sequence<At...>) const {
    V x[sizeof...(At)] = {load_lanes<V>(column(c + static_cast<int>(At)) + i)...};
    transpose<side>(x);
    (store_lanes(to + At * tile_columns, x[At]), ...);
  }

  T* data_;
  index_t pitch_, rows_;
};
