// SPDX-License-Identifier: Apache-2.0
// Writing a vector, through the cache or around it. Included once per instruction set, after the vectors.

template <bool Stream, class V>
SLICESORT_INLINE void put(void* to, V const& v) {
#if SLICESORT_X86_DISPATCH
  if constexpr (Stream && sizeof(V) >= 16) {
#  if defined(__clang__)
    __builtin_nontemporal_store(v, static_cast<V*>(to));
#  else
    using Words = vec<long long, sizeof(V) / 8>;
    if constexpr (sizeof(V) == 16)
      __builtin_ia32_movntdq(static_cast<Words*>(to), reinterpret_cast<Words>(v));
    else
      stream_wide(static_cast<Words*>(to), reinterpret_cast<Words>(v));
#  endif
    return;
  }
#endif
  store_lanes(to, v);
}
