// SPDX-License-Identifier: Apache-2.0
// Rows of elements as rows of numbers, and back. Included once per instruction set, after
// number_lanes.inl.

// Rows between a tensor, whose channels lie side by side, and memory in the accumulator's type, whose
// rows are `Pitch` elements apart where they are read.
template <class T, index_t Pitch>
struct row_transfer {
  using lanes = number_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;

  static void take(T const* from, index_t pitch, index_t rows, index_t width, A* to,
                   index_t to_pitch) {
    for (; rows > 0; --rows, from += pitch, to += to_pitch) {
      prefetch_after(from, pitch);
      index_t c = 0;
      for (; c + lanes::count <= width; c += lanes::count)
        store_lanes(to + c, lanes::take(from + c));
      for (; c < width; ++c) to[c] = static_cast<A>(from[c]);
    }
  }
  template <bool Stream>
  static void give(A const* from, index_t rows, index_t width, T* to, index_t pitch) {
    for (; rows > 0; --rows, from += Pitch, to += pitch) {
      index_t c = 0;
      for (; c + lanes::count <= width; c += lanes::count)
        lanes::template give<Stream>(to + c, load_lanes<V>(from + c));
      for (; c < width; ++c) to[c] = static_cast<T>(from[c]);
    }
    finish_puts<Stream>();
  }
  static void add(A const* from, index_t rows, index_t width, T* to, index_t pitch) {
    for (; rows > 0; --rows, from += Pitch, to += pitch) {
      index_t c = 0;
      for (; c + lanes::count <= width; c += lanes::count)
        lanes::template give<false>(to + c,
                                    lanes::plus(lanes::take(to + c), load_lanes<V>(from + c)));
      for (; c < width; ++c) to[c] = static_cast<T>(static_cast<A>(to[c]) + from[c]);
    }
  }
};
