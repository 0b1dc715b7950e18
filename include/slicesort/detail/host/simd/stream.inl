// SPDX-License-Identifier: Apache-2.0
// Stores of vectors, through the cache or around it (`Stream`). Included by vectors.inl, once per
// instruction set, after the vectors.

template <bool Stream, class V>
SLICESORT_INLINE void store_vector(void* to, V const& v) {
#if SLICESORT_X86_DISPATCH
  if constexpr (Stream && sizeof(V) >= 16) {
#  if defined(__clang__)
    __builtin_nontemporal_store(v, static_cast<V*>(to));
#  else
    using chunks = vec<long long, static_cast<int>(sizeof(V) / 8)>;
    if constexpr (sizeof(V) == 16)
      __builtin_ia32_movntdq(static_cast<chunks*>(to), reinterpret_cast<chunks>(v));
    else if constexpr (sizeof(V) == 32)
      __builtin_ia32_movntdq256(static_cast<chunks*>(to), reinterpret_cast<chunks>(v));
    else
      __builtin_ia32_movntdq512(static_cast<chunks*>(to), reinterpret_cast<chunks>(v));
#  endif
    return;
  }
#endif
  store_lanes(to, v);
}

// Makes streamed stores visible to other threads before the work is reported as done.
template <bool Stream>
SLICESORT_INLINE void finish_streaming() {
#if SLICESORT_X86_DISPATCH
  if constexpr (Stream) __builtin_ia32_sfence();
#endif
}
