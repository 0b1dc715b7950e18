// SPDX-License-Identifier: Apache-2.0
// Baselines of sparse_mix for one instruction set. Included once per instruction set, in the
// library's namespace for it.

template <class T>
struct mix_baseline {
  using lanes = value_lanes<T>;
  using V = typename lanes::V;
  static constexpr index_t count = lanes::count;

  // Computes rows [first, last) of y = x + W x, with `offset[k]` in [0, rows). Each weight is
  // loaded once per four vectors.
  static void mix_rows(T const* x, T const* w, T* y, index_t const* offset, index_t links,
                       index_t rows, index_t channels, index_t first, index_t last) {
    for (index_t i = first; i < last; ++i) {
      index_t c = 0;
      for (; c + 4 * count <= channels; c += 4 * count)
        mix_vectors<4>(x + c, w + i * links, y + c, offset, links, rows, channels, i);
      for (; c + count <= channels; c += count)
        mix_vectors<1>(x + c, w + i * links, y + c, offset, links, rows, channels, i);
      for (; c < channels; ++c) {
        T sum = x[i * channels + c];
        for (index_t k = 0; k < links; ++k) {
          index_t const row = i + offset[k] < rows ? i + offset[k] : i + offset[k] - rows;
          sum = std::fma(w[i * links + k], x[row * channels + c], sum);
        }
        y[i * channels + c] = sum;
      }
    }
  }
  // Runs `multiplications` multiply-adds on values in registers.
  static T multiply_add(double multiplications, T scale) {
    V sum[16];
    for (V& s : sum) s = lanes::splat(T(1));
    V const factor = lanes::splat(scale);
    auto const steps = static_cast<long long>(multiplications / (16 * count));
    for (long long step = 0; step < steps; ++step)
      multiply_add_all(sum, factor, std::make_index_sequence<16>{});
    T total = 0;
    for (V const& s : sum) total += s[0];
    return total;
  }

 private:
  template <int Vectors>
  static SLICESORT_INLINE void mix_vectors(T const* x, T const* w, T* y, index_t const* offset,
                                           index_t links, index_t rows, index_t channels,
                                           index_t i) {
    mix_indexed_vectors(x, w, y, offset, links, rows, channels, i,
                        std::make_index_sequence<std::size_t{Vectors}>{});
  }
  template <std::size_t... Index>
  static SLICESORT_INLINE void mix_indexed_vectors(T const* x, T const* w, T* y,
                                                   index_t const* offset, index_t links,
                                                   index_t rows, index_t channels, index_t i,
                                                   std::index_sequence<Index...>) {
    constexpr index_t column[] = {static_cast<index_t>(Index) * count...};
    V sum[] = {lanes::load(x + i * channels + column[Index])...};
    for (index_t k = 0; k < links; ++k) {
      index_t const row = i + offset[k] < rows ? i + offset[k] : i + offset[k] - rows;
      V const weight = lanes::splat(w[k]);
      ((sum[Index] =
            fused_lanes(weight, lanes::load(x + row * channels + column[Index]), sum[Index])),
       ...);
    }
    (lanes::template store<false>(y + i * channels + column[Index], sum[Index]), ...);
  }
  template <std::size_t... Index>
  static SLICESORT_INLINE void multiply_add_all(V* sum, V const& factor,
                                                std::index_sequence<Index...>) {
    ((sum[Index] = fused_lanes(sum[Index], factor, factor)), ...);
  }
};

template <class T>
mix_baseline<T> make_mix_baseline(target, T) {
  return {};
}
