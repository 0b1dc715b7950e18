// SPDX-License-Identifier: Apache-2.0
// Writing a vector, through the cache or around it. Included once per instruction set, after the
// vectors.

template <bool Stream, class V>
SLICESORT_INLINE void put(void* to, V const& v) {
#if SLICESORT_X86_DISPATCH
  if constexpr (Stream && sizeof(V) >= 16) {
#  if defined(__clang__)
    __builtin_nontemporal_store(v, static_cast<V*>(to));
#  else
    using Words = vec<long long, static_cast<int>(sizeof(V) / 8)>;
    if constexpr (sizeof(V) == 16)
      __builtin_ia32_movntdq(static_cast<Words*>(to), reinterpret_cast<Words>(v));
    else if constexpr (sizeof(V) == 32)
      __builtin_ia32_movntdq256(static_cast<Words*>(to), reinterpret_cast<Words>(v));
    else
      __builtin_ia32_movntdq512(static_cast<Words*>(to), reinterpret_cast<Words>(v));
#  endif
    return;
  }
#endif
  store_lanes(to, v);
}

// Makes streamed lines visible to whoever is told that the work is done.
template <bool Stream>
SLICESORT_INLINE void finish_puts() {
#if SLICESORT_X86_DISPATCH
  if constexpr (Stream) __builtin_ia32_sfence();
#endif
}
