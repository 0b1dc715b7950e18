// SPDX-License-Identifier: Apache-2.0
// Native bfloat16 products. An A holds two neighbors along k, and one instruction multiplies and
// accumulates both. Requires AVX-512-BF16. Included once per instruction set, after
// micro_kernel.inl. Uses inline assembly, because the types of the builtins differ between
// compilers and need another target.

#if SLICESORT_BFLOAT16_PAIRS && SLICESORT_VECTOR_BYTES == 64
// Adds the products of both halves to `sum`, the upper half first. Each addition rounds to nearest
// and flushes denormals to 0, regardless of the floating-point modes of the processor.
struct pair_products {
  using V = vec<float, 16>;
  static SLICESORT_INLINE V add(V const& a, V const& b, V const& sum) {
    V result = sum;
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(result) : "v"(a), "v"(b));
    return result;
  }
};

struct bfloat16_pairs {
  using V = vec<float, 16>;
  using halves = vec<std::uint16_t, 32>;

  // to[r][c] = (from[2 r][c], from[2 r + 1][c]). Pairs an unpaired last row with zeros. `pitch` is
  // a multiple of 16; `to` may equal `from`.
  static void pack_rows(float const* from, index_t pitch, index_t rows, float* to) {
    for (; rows > 0; rows -= 2, from += 2 * pitch, to += pitch)
      for (index_t c = 0; c < pitch; c += 16) {
        V const first = load_lanes<V>(from + c),
                second = rows > 1 ? load_lanes<V>(from + pitch + c) : V{};
        store_lanes(to + c,
                    interleave(round_to_bf16(first, second), std::make_index_sequence<32>{}));
      }
  }
  // to[c] = (from[2 c], from[2 c + 1]). `count` is a multiple of 32; `to` may equal `from`.
  static void pack_columns(float const* from, index_t count, float* to) {
    for (; count > 0; count -= 32, from += 32, to += 16)
      store_lanes(to, round_to_bf16(load_lanes<V>(from), load_lanes<V>(from + 16)));
  }

 private:
  static SLICESORT_INLINE halves round_to_bf16(V const& first, V const& second) {
    halves result;
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(result) : "v"(first), "v"(second));
    return result;
  }
  template <std::size_t... At>
  static SLICESORT_INLINE halves interleave(halves const& v, std::index_sequence<At...>) {
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
    kernels.pack_bf16_rows = bfloat16_pairs::pack_rows;
    kernels.pack_bf16_columns = bfloat16_pairs::pack_columns;
  }
}
#else
template <class T>
void choose_native_products(target, attention_kernels<T>&) {}
#endif
