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
    if (row.contiguous)
      for (; c + lanes::count <= row.channels; c += lanes::count)
        lanes::template store<false>(row.output + c, sum_weighted(row, [&](int p) {
                                       return lanes::load(row.inputs[p] + c);
                                     }));
    for (; c < row.channels; c += lanes::count)
      merge_elements(row, c, std::min<index_t>(lanes::count, row.channels - c));
  }

 private:
  // Starts at -0, the neutral element of addition: adding 0 would turn -0 into +0.
  template <class Load>
  static SLICESORT_INLINE V sum_weighted(merged_row<T> const& row, Load const& load) {
    V sum = lanes::splat(A(-0.0F));
    for (int p = 0; p < row.part_count; ++p)
      sum = fused_lanes(load(p), lanes::splat(row.weights[p]), sum);
    return sum;
  }
  // Handles strided channels, and the tail that does not fill a vector.
  static void merge_elements(merged_row<T> const& row, index_t first, index_t count) {
    V const sum = sum_weighted(row, [&](int p) {
      A values[lanes::count] = {};
      for (index_t c = 0; c < count; ++c)
        values[c] = static_cast<A>(row.inputs[p][(first + c) * row.input_strides[p]]);
      return load_lanes<V>(values);
    });
    A sums[lanes::count];
    store_lanes(sums, sum);
    for (index_t c = 0; c < count; ++c)
      row.output[(first + c) * row.output_stride] = detail::rounded<T>(sums[c]);
  }
};

template <class T>
void choose_merge_row(target, merge_row_fn<T>& selected) {
  selected = merge_row_kernel<T>::run;
}
