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
        sum<4>(x + c, w + i * links, y + c, offset, links, rows, channels, i);
      for (; c + count <= channels; c += count)
        sum<1>(x + c, w + i * links, y + c, offset, links, rows, channels, i);
      for (; c < channels; ++c) {
        T s = x[i * channels + c];
        for (index_t k = 0; k < links; ++k) {
          index_t const row = i + offset[k] < rows ? i + offset[k] : i + offset[k] - rows;
          s = std::fma(w[i * links + k], x[row * channels + c], s);
        }
        y[i * channels + c] = s;
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
  static SLICESORT_INLINE void sum(T const* x, T const* w, T* y, index_t const* offset,
                                   index_t links, index_t rows, index_t channels, index_t i) {
    sum_of(x, w, y, offset, links, rows, channels, i,
           std::make_index_sequence<std::size_t{Vectors}>{});
  }
  template <std::size_t... At>
  static SLICESORT_INLINE void sum_of(T const* x, T const* w, T* y, index_t const* offset,
                                      index_t links, index_t rows, index_t channels, index_t i,
                                      std::index_sequence<At...>) {
    constexpr index_t column[] = {static_cast<index_t>(At) * count...};
    V s[] = {lanes::load(x + i * channels + column[At])...};
    for (index_t k = 0; k < links; ++k) {
      index_t const row = i + offset[k] < rows ? i + offset[k] : i + offset[k] - rows;
      V const weight = lanes::splat(w[k]);
      ((s[At] = fused_lanes(weight, lanes::load(x + row * channels + column[At]), s[At])), ...);
    }
    (lanes::template store<false>(y + i * channels + column[At], s[At]), ...);
  }
  template <std::size_t... At>
  static SLICESORT_INLINE void multiply_add_all(V* sum, V const& factor,
                                                std::index_sequence<At...>) {
    ((sum[At] = fused_lanes(sum[At], factor, factor)), ...);
  }
};

template <class T>
mix_baseline<T> mix_baseline_of(target, T) {
  return {};
}
