// SPDX-License-Identifier: Apache-2.0
// Compare-exchange of row pairs (csp with groups of two). One saved bit per pair records an
// exchange. At most 16 rows are processed at a time, so the bits of a channel fit in a byte. Rows
// have 32 elements, or a multiple of 32 in `pair_rows`. Included once per instruction set.

template <class T>
struct pair_exchange {
  using bits = detail::bits_t<T>;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(bits));
  using V = vec<bits, lanes>;
  using byte_lanes = vec<std::uint8_t, lanes>;

  // Sorts pair p by its keys, in descending order if bit p of `descending` is set. Pairs with equal
  // keys count as ascending. Saves one bit per pair, set if it is exchanged.
  template <bool Stream>
  static void forward(T const* from, index_t from_pitch, int rows, bits const* flip,
                      unsigned descending, T* to, index_t to_pitch, std::uint8_t* saved) {
    for (int c = 0; c < tile_columns; c += lanes)
      order_lanes<Stream>(from + c, from_pitch, rows, load_lanes<V>(flip + c), descending, to + c,
                          to_pitch, saved + c);
  }
  template <bool Stream>
  static void backward(T const* from, index_t from_pitch, int rows, std::uint8_t const* saved,
                       T* to, index_t to_pitch) {
    for (int c = 0; c < tile_columns; c += lanes)
      exchange_lanes<Stream>(from + c, from_pitch, rows, saved + c, to + c, to_pitch);
  }

  template <bool Stream>
  static void forward_rows(pair_rows<T> const& rows) {
    V const flip = broadcast<V>(rows.flip);
    for (index_t i = rows.first; i < rows.end; i += csp_batch) {
      int const count = rows.batch_at(i);
      unsigned const descending = descending_pairs(rows.destinations, i, count);
      alignas(64) std::uint8_t unused[static_cast<std::size_t>(lanes)];
      for (index_t c = 0; c < rows.channels; c += lanes)
        order_lanes<Stream>(
            rows.from + i * rows.from_pitch + c, rows.from_pitch, count, flip, descending,
            rows.to + i * rows.to_pitch + c, rows.to_pitch,
            rows.order == nullptr ? unused : rows.order + i / csp_batch * rows.order_pitch + c);
    }
    finish_streaming<Stream>();
  }
  template <bool Stream>
  static void backward_rows(pair_rows<T> const& rows) {
    for (index_t i = rows.first; i < rows.end; i += csp_batch)
      for (index_t c = 0; c < rows.channels; c += lanes)
        exchange_lanes<Stream>(rows.from + i * rows.from_pitch + c, rows.from_pitch,
                               rows.batch_at(i), rows.order + i / csp_batch * rows.order_pitch + c,
                               rows.to + i * rows.to_pitch + c, rows.to_pitch);
    finish_streaming<Stream>();
  }

 private:
  // Orders the pairs of one vector of channels and saves their bits.
  template <bool Stream>
  static SLICESORT_INLINE void order_lanes(T const* from, index_t from_pitch, int rows,
                                           V const& flip, unsigned descending, T* to,
                                           index_t to_pitch, std::uint8_t* saved) {
    V swaps{}, ignored{};
    for (int p = 0; p < rows / 2; ++p) {
      T const* const source = from + 2 * p * from_pitch;
      V const a = load_lanes<V>(source), b = load_lanes<V>(source + from_pitch);
      V const ka = canonical_keys<T, lanes>(a, ignored) ^ flip,
              kb = canonical_keys<T, lanes>(b, ignored) ^ flip;
      auto const descending_mask =
          static_cast<bits>(bits{0} - static_cast<bits>(descending >> p & 1u));
      V const swap = greater(ka, kb) ^ broadcast<V>(descending_mask);
      T* const out = to + 2 * p * to_pitch;
      store_vector<Stream>(out, select(swap, b, a));
      store_vector<Stream>(out + to_pitch, select(swap, a, b));
      swaps = swaps | (swap & broadcast<V>(static_cast<bits>(1u << p)));
    }
    if (rows % 2 != 0) copy_unpaired_row<Stream>(from, from_pitch, rows, to, to_pitch);
    store_lanes(saved, convert<byte_lanes>(swaps));
  }
  // Exchanges the pairs of one vector of channels according to their saved bits.
  template <bool Stream>
  static SLICESORT_INLINE void exchange_lanes(T const* from, index_t from_pitch, int rows,
                                              std::uint8_t const* saved, T* to, index_t to_pitch) {
    V const swaps = convert<V>(load_lanes<byte_lanes>(saved));
    for (int p = 0; p < rows / 2; ++p) {
      T const* const source = from + 2 * p * from_pitch;
      V const a = load_lanes<V>(source), b = load_lanes<V>(source + from_pitch);
      V const bit = broadcast<V>(static_cast<bits>(1u << p)), swap = equal(swaps & bit, bit);
      T* const out = to + 2 * p * to_pitch;
      store_vector<Stream>(out, select(swap, b, a));
      store_vector<Stream>(out + to_pitch, select(swap, a, b));
    }
    if (rows % 2 != 0) copy_unpaired_row<Stream>(from, from_pitch, rows, to, to_pitch);
  }
  // Copies the last row of an odd number of rows.
  template <bool Stream>
  static SLICESORT_INLINE void copy_unpaired_row(T const* from, index_t from_pitch, int rows, T* to,
                                                 index_t to_pitch) {
    store_vector<Stream>(to + (rows - 1) * to_pitch, load_lanes<V>(from + (rows - 1) * from_pitch));
  }
};

template <class T>
void exchange_pair_rows(pair_rows<T> const& rows, csp_step step) {
  using pairs = pair_exchange<T>;
  if (step == csp_step::forward)
    rows.stream ? pairs::template forward_rows<true>(rows)
                : pairs::template forward_rows<false>(rows);
  else
    rows.stream ? pairs::template backward_rows<true>(rows)
                : pairs::template backward_rows<false>(rows);
}
