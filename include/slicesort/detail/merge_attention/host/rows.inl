// SPDX-License-Identifier: Apache-2.0
// Weighted sum of rows: fused multiply-adds in the order of the parts, so every instruction set
// gives the same bits. Included once per instruction set, after value_lanes.inl.

template <class T>
struct merge_row_kernel {
  using lanes = value_lanes<T>;
  using A = typename lanes::A;
  using V = typename lanes::V;

  static void run(merged_row<T> const& row) {
    index_t c = 0;
    if (row.adjacent)
      for (; c + lanes::count <= row.channels; c += lanes::count)
        lanes::template store<false>(
            row.to + c, weighted_sum(row, [&](int p) { return lanes::load(row.from[p] + c); }));
    for (; c < row.channels; c += lanes::count)
      merge_tail(row, c, std::min<index_t>(lanes::count, row.channels - c));
  }

 private:
  // Starts at -0, the neutral element of addition: adding 0 would turn -0 into +0.
  template <class Load>
  static SLICESORT_INLINE V weighted_sum(merged_row<T> const& row, Load const& load) {
    V sum = lanes::splat(A(-0.0F));
    for (int p = 0; p < row.parts; ++p)
      sum = fused_lanes(load(p), lanes::splat(row.weight[p]), sum);
    return sum;
  }
  // Handles strided channels, and the tail that does not fill a vector.
  static void merge_tail(merged_row<T> const& row, index_t first, index_t count) {
    V const sum = weighted_sum(row, [&](int p) {
      A values[lanes::count] = {};
      for (index_t c = 0; c < count; ++c)
        values[c] = static_cast<A>(row.from[p][(first + c) * row.step[p]]);
      return load_lanes<V>(values);
    });
    A sums[lanes::count];
    store_lanes(sums, sum);
    for (index_t c = 0; c < count; ++c)
      row.to[(first + c) * row.to_step] = detail::rounded<T>(sums[c]);
  }
};

template <class T>
void choose_merge_row(target, merge_row<T>& kernel) {
  kernel = merge_row_kernel<T>::run;
}
