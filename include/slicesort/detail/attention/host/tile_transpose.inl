// SPDX-License-Identifier: Apache-2.0
// Transposes a query tile, [query][channel] <-> [channel][query], in square blocks in registers.
// Included once per instruction set, after value_lanes.inl.

template <class A>
class tile_transpose {
  using lanes = value_lanes<A>;
  using V = typename lanes::V;
  using bits = vec<lane_uint<A>, lanes::count>;
  using square_indices = std::make_index_sequence<std::size_t{lanes::count}>;
  static constexpr int queries = tile_queries, square_size = lanes::count;
  static_assert(queries % square_size == 0);

 public:
  static void rows_to_lanes(A const* rows, index_t pitch, index_t channels, A* lanes_out) {
    index_t const full_channels = channels / square_size * square_size;
    for (int i = 0; i < queries; i += square_size)
      for (index_t c = 0; c < full_channels; c += square_size)
        transpose_square<bits>(rows + i * pitch + c, pitch, lanes_out + c * queries + i, queries);
    for (index_t c = full_channels; c < channels; ++c)
      for (int i = 0; i < queries; ++i) lanes_out[c * queries + i] = rows[i * pitch + c];
  }
  static void lanes_to_rows(A const* lanes_in, index_t channels, A const* factors, A* rows,
                            index_t pitch) {
    index_t const full_channels = channels / square_size * square_size;
    for (int i = 0; i < queries; i += square_size)
      for (index_t c = 0; c < full_channels; c += square_size)
        transpose_scaled_square(lanes_in + c * queries + i, factors + i, rows + i * pitch + c,
                                pitch, square_indices{});
    for (index_t c = full_channels; c < channels; ++c)
      for (int i = 0; i < queries; ++i)
        rows[i * pitch + c] = lanes_in[c * queries + i] * factors[i];
  }

 private:
  template <std::size_t... At>
  static SLICESORT_INLINE void transpose_scaled_square(A const* from, A const* factors, A* to,
                                                       index_t to_pitch,
                                                       std::index_sequence<At...>) {
    bits x[] = {scale_lanes(from + static_cast<index_t>(At) * queries, factors)...};
    transpose<square_size>(x);
    (store_lanes(to + static_cast<index_t>(At) * to_pitch, x[At]), ...);
  }
  static SLICESORT_INLINE bits scale_lanes(A const* from, A const* factors) {
    // Adding -0 preserves the sign of a zero product.
    V const product =
        fused_lanes(load_lanes<V>(from), load_lanes<V>(factors), lanes::splat(A(-0.0)));
    return load_lanes<bits>(&product);
  }
};
