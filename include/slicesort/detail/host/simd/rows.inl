// SPDX-License-Identifier: Apache-2.0
// Copies rows between tensors with contiguous channels and memory in the accumulator's type, with
// `Pitch` elements per row when storing. Included for each instruction set, after value_lanes.inl.

template <class T, index_t Pitch>
struct simd_rows {
  using lanes = value_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;

  static void load(T const* from, index_t pitch, index_t rows, index_t width, A* to,
                   index_t to_pitch) {
    for (; rows > 0; --rows, from += pitch, to += to_pitch) {
      prefetch_row_after(from, pitch, width);
      index_t c = 0;
      for (; c + lanes::count <= width; c += lanes::count)
        store_lanes(to + c, lanes::load(from + c));
      for (; c < width; ++c) to[c] = static_cast<A>(from[c]);
    }
  }
  template <bool Stream>
  static void store(A const* from, index_t rows, index_t width, T* to, index_t pitch) {
    for (; rows > 0; --rows, from += Pitch, to += pitch) {
      index_t c = 0;
      for (; c + lanes::count <= width; c += lanes::count)
        lanes::template store<Stream>(to + c, load_lanes<V>(from + c));
      for (; c < width; ++c) to[c] = detail::rounded<T>(from[c]);
    }
    finish_streaming<Stream>();
  }
  static void stream_rows(A const* from, index_t from_pitch, index_t rows, index_t width, T* to,
                          index_t pitch) {
    for (; rows > 0; --rows, from += from_pitch, to += pitch) {
      index_t c = 0;
      for (; c + lanes::count <= width; c += lanes::count)
        lanes::template store<true>(to + c, load_lanes<V>(from + c));
      for (; c < width; ++c) to[c] = detail::rounded<T>(from[c]);
    }
  }
  static void add(A const* from, index_t rows, index_t width, T* to, index_t pitch) {
    for (; rows > 0; --rows, from += Pitch, to += pitch) {
      index_t c = 0;
      for (; c + lanes::count <= width; c += lanes::count)
        lanes::template store<false>(to + c,
                                     lanes::plus(lanes::load(to + c), load_lanes<V>(from + c)));
      for (; c < width; ++c) to[c] = detail::rounded<T>(static_cast<A>(to[c]) + from[c]);
    }
  }

 private:
  // Prefetches up to `max_bytes` of a row ahead, because hardware prefetchers stop at the end of a
  // page.
  static SLICESORT_INLINE void prefetch_row_after(T const* row, index_t pitch, index_t width) {
#if SLICESORT_GNU_VECTORS
    constexpr index_t rows_ahead = 8, max_bytes = 512;
    auto const address =  // may lie outside the tensor
        reinterpret_cast<std::uintptr_t>(row) +
        static_cast<std::uintptr_t>(rows_ahead * pitch) * sizeof(T);
    index_t const bytes = width * static_cast<index_t>(sizeof(T));
    for (index_t byte = 0; byte < (bytes < max_bytes ? bytes : max_bytes); byte += 64)
      __builtin_prefetch(
          reinterpret_cast<void const*>(address + static_cast<std::uintptr_t>(byte)));
#else
    (void)row, (void)pitch, (void)width;
#endif
  }
};
