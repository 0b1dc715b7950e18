// SPDX-License-Identifier: Apache-2.0
// Compare-exchange of row pairs (csp with groups of two). One saved bit per pair records an
// exchange. At most 16 rows are processed at a time, so the bits of a channel fit in a byte. Rows
// have 32 elements, or a multiple of 32 in `row_pairs`. Included once per instruction set.

template <class T>
struct pair_exchange {
  using bits = detail::bits_t<T>;
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(bits));
  using V = vec<bits, lanes>;
  using byte_lanes = vec<std::uint8_t, lanes>;

  // Sorts pair p by its keys, in descending order if bit p of `descending_bits` is set. Pairs with
  // equal keys count as ascending. Saves one bit per pair, set if it is exchanged.
  template <bool Stream>
  static void forward(T const* from, index_t from_pitch, int rows, bits const* descending_mask,
                      unsigned descending_bits, T* to, index_t to_pitch, std::uint8_t* swap_bytes) {
    for (int c = 0; c < tile_columns; c += lanes)
      order_lanes<Stream>(from + c, from_pitch, rows, load_lanes<V>(descending_mask + c),
                          descending_bits, to + c, to_pitch, swap_bytes + c);
  }
  template <bool Stream>
  static void backward(T const* from, index_t from_pitch, int rows, std::uint8_t const* swap_bytes,
                       T* to, index_t to_pitch) {
    for (int c = 0; c < tile_columns; c += lanes)
      exchange_lanes<Stream>(from + c, from_pitch, rows, swap_bytes + c, to + c, to_pitch);
  }

  template <bool Stream>
  static void forward_rows(row_pairs<T> const& pairs) {
    V const descending_mask = broadcast<V>(pairs.descending_mask);
    for (index_t i = pairs.first_row; i < pairs.end_row; i += csp_rows_per_batch) {
      int const count = pairs.rows_in_batch(i);
      unsigned const descending_bits = descending_pairs(pairs.destinations, i, count);
      alignas(64) std::uint8_t ignored_bytes[static_cast<std::size_t>(lanes)];
      for (index_t c = 0; c < pairs.channels; c += lanes)
        order_lanes<Stream>(
            pairs.from + i * pairs.from_pitch + c, pairs.from_pitch, count, descending_mask,
            descending_bits, pairs.to + i * pairs.to_pitch + c, pairs.to_pitch,
            pairs.order == nullptr ? ignored_bytes
                                   : pairs.order + i / csp_rows_per_batch * pairs.order_pitch + c);
    }
    finish_streaming<Stream>();
  }
  template <bool Stream>
  static void backward_rows(row_pairs<T> const& pairs) {
    for (index_t i = pairs.first_row; i < pairs.end_row; i += csp_rows_per_batch)
      for (index_t c = 0; c < pairs.channels; c += lanes)
        exchange_lanes<Stream>(pairs.from + i * pairs.from_pitch + c, pairs.from_pitch,
                               pairs.rows_in_batch(i),
                               pairs.order + i / csp_rows_per_batch * pairs.order_pitch + c,
                               pairs.to + i * pairs.to_pitch + c, pairs.to_pitch);
    finish_streaming<Stream>();
  }

 private:
  // Orders the pairs of one vector of channels and saves their bits.
  template <bool Stream>
  static SLICESORT_INLINE void order_lanes(T const* from, index_t from_pitch, int rows,
                                           V const& descending_mask, unsigned descending_bits,
                                           T* to, index_t to_pitch, std::uint8_t* swap_bytes) {
    V swaps{}, ignored{};
    for (int p = 0; p < rows / 2; ++p) {
      T const* const source = from + 2 * p * from_pitch;
      V const a = load_lanes<V>(source), b = load_lanes<V>(source + from_pitch);
      V const key_a = canonical_keys<T, lanes>(a, ignored) ^ descending_mask,
              key_b = canonical_keys<T, lanes>(b, ignored) ^ descending_mask;
      auto const pair_mask =
          static_cast<bits>(bits{0} - static_cast<bits>(descending_bits >> p & 1u));
      V const swap = greater(key_a, key_b) ^ broadcast<V>(pair_mask);
      T* const out = to + 2 * p * to_pitch;
      store_vector<Stream>(out, select(swap, b, a));
      store_vector<Stream>(out + to_pitch, select(swap, a, b));
      swaps = swaps | (swap & broadcast<V>(static_cast<bits>(1u << p)));
    }
    if (rows % 2 != 0) copy_unpaired_row<Stream>(from, from_pitch, rows, to, to_pitch);
    store_lanes(swap_bytes, convert<byte_lanes>(swaps));
  }
  // Exchanges the pairs of one vector of channels according to their saved bits.
  template <bool Stream>
  static SLICESORT_INLINE void exchange_lanes(T const* from, index_t from_pitch, int rows,
                                              std::uint8_t const* swap_bytes, T* to,
                                              index_t to_pitch) {
    V const swaps = convert<V>(load_lanes<byte_lanes>(swap_bytes));
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
void exchange_row_pairs(row_pairs<T> const& pairs, csp_operation operation) {
  using exchange = pair_exchange<T>;
  if (operation == csp_operation::forward)
    pairs.stream ? exchange::template forward_rows<true>(pairs)
                 : exchange::template forward_rows<false>(pairs);
  else
    pairs.stream ? exchange::template backward_rows<true>(pairs)
                 : exchange::template backward_rows<false>(pairs);
}
