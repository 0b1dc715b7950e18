// SPDX-License-Identifier: Apache-2.0
// Groups of two rows, which are exchanged or not; one bit a pair says so. Rows have 32 elements,
// and at most 16 are passed at a time, so the bits of a channel fill one byte. Included once per
// instruction set.

template <class T>
struct pair_exchange {
  using bits = detail::bits_t<T>;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(bits));
  using V = vec<bits, lanes>;
  using saved_lanes = vec<std::uint8_t, lanes>;

  // Sorts every pair by its keys, in descending order if its bit of `falling` is set. Pairs of
  // equal keys count as ascending. Saves a bit for each exchanged pair.
  template <bool Stream>
  static void forward(T const* from, index_t from_pitch, int rows, bits const* flip,
                      unsigned falling, T* to, index_t to_pitch, std::uint8_t* saved) {
    for (int c = 0; c < tile_columns; c += lanes)
      order_lanes<Stream>(from + c, from_pitch, rows, load_lanes<V>(flip + c), falling, to + c,
                          to_pitch, saved + c);
  }
  template <bool Stream>
  static void backward(T const* from, index_t from_pitch, int rows, std::uint8_t const* saved,
                       T* to, index_t to_pitch) {
    for (int c = 0; c < tile_columns; c += lanes)
      exchange_lanes<Stream>(from + c, from_pitch, rows, saved + c, to + c, to_pitch);
  }

  template <bool Stream>
  static void forward_rows(pair_rows<T> const& r) {
    V const flip = broadcast<V>(r.flip);
    for (index_t i = r.first; i < r.end; i += csp_batch) {
      int const count = r.batch_at(i);
      unsigned const falling = falling_pairs(r.destinations, i, count);
      alignas(64) std::uint8_t unused[static_cast<std::size_t>(lanes)];
      for (index_t c = 0; c < r.channels; c += lanes)
        order_lanes<Stream>(
            r.from + i * r.from_pitch + c, r.from_pitch, count, flip, falling,
            r.to + i * r.to_pitch + c, r.to_pitch,
            r.order == nullptr ? unused : r.order + i / csp_batch * r.order_pitch + c);
    }
    finish_streaming<Stream>();
  }
  template <bool Stream>
  static void backward_rows(pair_rows<T> const& r) {
    for (index_t i = r.first; i < r.end; i += csp_batch)
      for (index_t c = 0; c < r.channels; c += lanes)
        exchange_lanes<Stream>(r.from + i * r.from_pitch + c, r.from_pitch, r.batch_at(i),
                               r.order + i / csp_batch * r.order_pitch + c,
                               r.to + i * r.to_pitch + c, r.to_pitch);
    finish_streaming<Stream>();
  }

 private:
  template <bool Stream>
  static SLICESORT_INLINE void order_lanes(T const* from, index_t from_pitch, int rows,
                                           V const& flip, unsigned falling, T* to, index_t to_pitch,
                                           std::uint8_t* saved) {
    V swaps{}, changed{};
    for (int p = 0; p < rows / 2; ++p) {
      T const* const source = from + 2 * p * from_pitch;
      V const a = load_lanes<V>(source), b = load_lanes<V>(source + from_pitch);
      V const ka = canonical_keys<T, lanes>(a, changed) ^ flip,
              kb = canonical_keys<T, lanes>(b, changed) ^ flip;
      auto const reversed = static_cast<bits>(bits{0} - static_cast<bits>(falling >> p & 1u));
      V const swap = greater(ka, kb) ^ broadcast<V>(reversed);
      T* const out = to + 2 * p * to_pitch;
      store_vector<Stream>(out, select(swap, b, a));
      store_vector<Stream>(out + to_pitch, select(swap, a, b));
      swaps = swaps | (swap & broadcast<V>(static_cast<bits>(1u << p)));
    }
    if (rows % 2 != 0) copy_last<Stream>(from, from_pitch, rows, to, to_pitch);
    store_lanes(saved, convert<saved_lanes>(swaps));
  }
  template <bool Stream>
  static SLICESORT_INLINE void exchange_lanes(T const* from, index_t from_pitch, int rows,
                                              std::uint8_t const* saved, T* to, index_t to_pitch) {
    V const swaps = convert<V>(load_lanes<saved_lanes>(saved));
    for (int p = 0; p < rows / 2; ++p) {
      T const* const source = from + 2 * p * from_pitch;
      V const a = load_lanes<V>(source), b = load_lanes<V>(source + from_pitch);
      V const bit = broadcast<V>(static_cast<bits>(1u << p)), swap = equal(swaps & bit, bit);
      T* const out = to + 2 * p * to_pitch;
      store_vector<Stream>(out, select(swap, b, a));
      store_vector<Stream>(out + to_pitch, select(swap, a, b));
    }
    if (rows % 2 != 0) copy_last<Stream>(from, from_pitch, rows, to, to_pitch);
  }
  template <bool Stream>
  static SLICESORT_INLINE void copy_last(T const* from, index_t from_pitch, int rows, T* to,
                                         index_t to_pitch) {
    store_vector<Stream>(to + (rows - 1) * to_pitch, load_lanes<V>(from + (rows - 1) * from_pitch));
  }
};

template <class T>
void exchange_pair_rows(pair_rows<T> const& r, csp_step step) {
  using pairs = pair_exchange<T>;
  if (step == csp_step::forward)
    r.stream ? pairs::template forward_rows<true>(r) : pairs::template forward_rows<false>(r);
  else
    r.stream ? pairs::template backward_rows<true>(r) : pairs::template backward_rows<false>(r);
}
