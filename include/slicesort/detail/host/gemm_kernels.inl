// SPDX-License-Identifier: Apache-2.0
// The kernels of host_gemm for one instruction set. Included once per instruction set, after
// micro_kernel.inl and rows.inl.

template <class T>
void choose_gemm_kernels(target, gemm_kernels<T>& use) {
  using transfer = simd_rows<T, 0>;
  use.multiply = micro_kernel<detail::accumulator_t<T>>::run;
  use.load = transfer::load;
  use.store = transfer::template store<false>;
  use.add = transfer::add;
}
