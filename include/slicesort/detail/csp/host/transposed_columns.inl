// SPDX-License-Identifier: Apache-2.0
// Channels that lie contiguous, so that each can be shifted by itself: rows come in and go out by
// squares that are turned over in registers. Included once per instruction set.

// Lane j of row i becomes lane i of row j. One step rotates the bits of (row, lane) by one place.
template <class V, std::size_t... Pair>
SLICESORT_INLINE void turn_step(V* x, std::index_sequence<Pair...>) {
  constexpr std::size_t half = sizeof...(Pair);
  V t[2 * half];
  ((t[2 * Pair] = zip<false>(x[Pair], x[Pair + half]),
    t[2 * Pair + 1] = zip<true>(x[Pair], x[Pair + half])),
   ...);
  ((x[Pair] = t[Pair], x[Pair + half] = t[Pair + half]), ...);
}
template <int Side, int Steps = Side, class V>
SLICESORT_INLINE void turn(V* x) {
  if constexpr (Steps > 1) {
    turn_step(x, std::make_index_sequence<std::size_t{Side} / 2>{});
    turn<Side, Steps / 2>(x);
  }
}

template <class T>
class turned_columns {
 public:
  static constexpr int widest = vector_bytes / static_cast<int>(sizeof(T));
  static constexpr int side = widest < csp_batch ? widest : csp_batch;  // rows that move at once

  turned_columns(T* data, index_t pitch, index_t rows) : data_(data), pitch_(pitch), rows_(rows) {}

  T* column(int lane) const { return data_ + lane * pitch_; }

  // Takes `count` rows of 32 in. Row k of channel c goes to place[c] + k, around the end.
  void take(T const* from, index_t from_pitch, int count, index_t* place) const {
    for (int k = 0; k < count; k += side) {
      int const some = count - k < side ? count - k : side;
      for (int c = 0; c < tile_columns; c += side)
        take_square(from + k * from_pitch + c, from_pitch, some, c, place + c,
                    std::make_index_sequence<std::size_t{side}>{});
    }
  }
  // Gives rows i .. i + csp_batch - 1; those past the end are anything.
  void give(index_t i, T* to) const {
    for (int k = 0; k < csp_batch; k += side)
      for (int c = 0; c < tile_columns; c += side)
        give_square(i + k, c, to + k * tile_columns + c,
                    std::make_index_sequence<std::size_t{side}>{});
  }

 private:
  using V = vec<detail::bits_t<T>, side>;

  template <std::size_t... At>
  SLICESORT_INLINE void take_square(T const* from, index_t pitch, int count, int c, index_t* place,
                                    std::index_sequence<At...>) const {
    constexpr auto offset = [](std::size_t k) { return static_cast<index_t>(k); };
    if (count < side) return take_some(from, pitch, count, c, place);
    V x[sizeof...(At)] = {load_lanes<V>(from + offset(At) * pitch)...};
    turn<side>(x);
    (put(x[At], c + static_cast<int>(At), place[At]), ...);
  }
  SLICESORT_INLINE void put(V const& rows, int lane, index_t& place) const {
    T* const to = column(lane);
    if (place + side <= rows_) {
      store_lanes(to + place, rows);
      place += side;
    } else {
      T parts[static_cast<std::size_t>(side)];
      store_lanes(parts, rows);
      for (T const& part : parts) put_one(to, part, place);
    }
  }
  void take_some(T const* from, index_t pitch, int count, int c, index_t* place) const {
    for (int k = 0; k < count; ++k)
      for (int lane = 0; lane < side; ++lane)
        put_one(column(c + lane), from[k * pitch + lane], place[lane]);
  }
  void put_one(T* to, T const& value, index_t& place) const {
    if (place >= rows_) place = 0;
    to[place++] = value;
  }

  template <std::size_t... At>
  SLICESORT_INLINE void give_square(index_t i, int c, T* to, std::index_sequence<At...>) const {
    V x[sizeof...(At)] = {load_lanes<V>(column(c + static_cast<int>(At)) + i)...};
    turn<side>(x);
    (store_lanes(to + At * tile_columns, x[At]), ...);
  }

  T* data_;
  index_t pitch_, rows_;
};
