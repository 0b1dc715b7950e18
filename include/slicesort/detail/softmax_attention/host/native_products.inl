// SPDX-License-Identifier: Apache-2.0
// Native products of bfloat16: two elements that are neighbors along the depth share an A, and one
// instruction multiplies and adds both. Included once per instruction set, after micro_kernel.inl;
// only AVX-512 has any. The instructions are written as assembly: the types of their builtins
// change from compiler to compiler and version to version, and the builtins would need the kernels
// compiled for one more instruction set.

#if SLICESORT_BFLOAT16_PAIRS && SLICESORT_VECTOR_BYTES == 64
// sum + a * b of both halves: the upper product is added first, each sum is rounded to nearest, and
// what is denormal counts as 0 whatever the processor's modes are.
struct pair_products {
  using V = vec<float, 16>;
  static SLICESORT_INLINE V add(V const& a, V const& b, V const& sum) {
    V r = sum;
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(r) : "v"(a), "v"(b));
    return r;
  }
};

struct bfloat16_pairs {
  using V = vec<float, 16>;
  using halves = vec<std::uint16_t, 32>;

  // Rows of `pitch` numbers, which are whole vectors: to[r][c] holds from[2 r][c] and from[2 r + 1]
  // [c]; a last row alone is paired with zeros. `to` may be `from`.
  static void pack_rows(float const* from, index_t pitch, index_t rows, float* to) {
    for (; rows > 0; rows -= 2, from += 2 * pitch, to += pitch)
      for (index_t c = 0; c < pitch; c += 16) {
        V const first = load_lanes<V>(from + c),
                second = rows > 1 ? load_lanes<V>(from + pitch + c) : V{};
        store_lanes(to + c, interleaved(rounded(first, second), std::make_index_sequence<32>{}));
      }
  }
  // to[c] holds from[2 c] and from[2 c + 1]. `count` is a multiple of 32; `to` may be `from`.
  static void pack_columns(float const* from, index_t count, float* to) {
    for (; count > 0; count -= 32, from += 32, to += 16)
      store_lanes(to, rounded(load_lanes<V>(from), load_lanes<V>(from + 16)));
  }

 private:
  static SLICESORT_INLINE halves rounded(V const& first, V const& second) {
    halves r;
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(r) : "v"(first), "v"(second));
    return r;
  }
  template <std::size_t... At>
  static SLICESORT_INLINE halves interleaved(halves const& v, std::index_sequence<At...>) {
#  if defined(__clang__)
    return __builtin_shufflevector(v, v, static_cast<int>(At / 2 + At % 2 * 16)...);
#  else
    return __builtin_shuffle(v, halves{static_cast<std::uint16_t>(At / 2 + At % 2 * 16)...});
#  endif
  }
};

template <class T>
void choose_native_products(target, attention_kernels<T>& kernels) {
  if constexpr (dtype_traits<T>::infinity == dtype_traits<bfloat16>::infinity) {
    if (!has_bfloat16_pairs()) return;
    kernels.multiply = micro_kernel<float, pair_products>::multiply;
    kernels.pair_rows = bfloat16_pairs::pack_rows;
    kernels.pair_columns = bfloat16_pairs::pack_columns;
  }
}
#else
template <class T>
void choose_native_products(target, attention_kernels<T>&) {}
#endif
