// SPDX-License-Identifier: Apache-2.0
// SIMD vectors as GNU vectors (GCC, Clang), whose operators the compiler maps to instructions.
// Included by vectors.inl for each instruction set.

template <class Lane, int Count>
struct vector_of {
  typedef Lane type __attribute__((vector_size(sizeof(Lane) * Count)));
};
template <class Lane, int Count>
using vec = typename vector_of<Lane, Count>::type;

template <class V, class Lane>
SLICESORT_INLINE V broadcast(Lane value) {
  return V{} + value;
}
template <class V>
SLICESORT_INLINE V load_lanes(void const* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
SLICESORT_INLINE void store_lanes(void* to, V const& v) {
  __builtin_memcpy(to, &v, sizeof v);
}
template <class V>
SLICESORT_INLINE V min_lanes(V const& a, V const& b) {
  return a < b ? a : b;
}
template <class V>
SLICESORT_INLINE V max_lanes(V const& a, V const& b) {
  return a < b ? b : a;
}
// Returns a / b, rounded once.
template <class V>
SLICESORT_INLINE V divide_lanes(V const& a, V const& b) {
  SLICESORT_AS_WRITTEN
  return a / b;
}
// Mask of a == b: all ones in lanes where it holds, else zero.
template <class V>
SLICESORT_INLINE V equal(V const& a, V const& b) {
  return reinterpret_cast<V>(a == b);
}
// Mask of a > b: all ones in lanes where it holds, else zero.
template <class V>
SLICESORT_INLINE V greater(V const& a, V const& b) {
  return reinterpret_cast<V>(a > b);
}
// Selects a in lanes whose mask is all ones, and b in lanes whose mask is zero.
template <class V>
SLICESORT_INLINE V select(V const& mask, V const& a, V const& b) {
  return mask != V{} ? a : b;
}
template <class To, class V>
SLICESORT_INLINE To convert(V const& v) {
#if SLICESORT_VECTOR_BYTES == 64 && !defined(__clang__)
  // GCC splits conversions between 16 and 32 bits into halves, or gathers lanes by a permutation.
  using short_lanes = vec<short, 16>;
  using int_lanes = vec<int, 16>;
  constexpr unsigned short every_lane = 0xffff;
  if constexpr (std::is_same_v<V, vec<std::uint16_t, 16>> &&
                std::is_same_v<To, vec<std::uint32_t, 16>>)
    return reinterpret_cast<To>(
        __builtin_ia32_pmovzxwd512_mask(reinterpret_cast<short_lanes>(v), int_lanes{}, every_lane));
  else if constexpr (std::is_same_v<V, vec<std::uint32_t, 16>> &&
                     std::is_same_v<To, vec<std::uint16_t, 16>>)
    return reinterpret_cast<To>(
        __builtin_ia32_pmovdw512_mask(reinterpret_cast<int_lanes>(v), short_lanes{}, every_lane));
  else
#endif
    return __builtin_convertvector(v, To);
}
// Broadcasts the sign bit of each lane to all bits of the lane.
template <class Lane, int Count>
SLICESORT_INLINE vec<Lane, Count> spread_sign(vec<Lane, Count> const& v) {
  using Signed = vec<std::make_signed_t<Lane>, Count>;
  return reinterpret_cast<vec<Lane, Count>>(reinterpret_cast<Signed>(v) >> (8 * sizeof(Lane) - 1));
}
template <class V>
SLICESORT_INLINE bool any_set(V const& v) {
  std::uint64_t chunks[sizeof(V) / 8 + (sizeof(V) < 8)] = {};
  __builtin_memcpy(chunks, &v, sizeof v);
  std::uint64_t bits = 0;
  for (std::uint64_t chunk : chunks) bits |= chunk;
  return bits != 0;
}
// Interleaves the first halves of a and b: a0 b0 a1 b1 ... With `Second`, interleaves their second
// halves.
template <bool Second, class V, std::size_t... Indices>
SLICESORT_INLINE V zip_lanes(V const& a, V const& b, std::index_sequence<Indices...>) {
  constexpr std::size_t count = sizeof...(Indices), first = Second ? count / 2 : 0;
#if defined(__clang__)
  return __builtin_shufflevector(a, b,
                                 static_cast<int>(first + Indices / 2 + Indices % 2 * count)...);
#else
  using Lane = std::remove_reference_t<decltype(V{}[0])>;
  return __builtin_shuffle(a, b,
                           V{static_cast<Lane>(first + Indices / 2 + Indices % 2 * count)...});
#endif
}
template <bool Second, class V>
SLICESORT_INLINE V zip(V const& a, V const& b) {
  return zip_lanes<Second>(a, b, std::make_index_sequence<sizeof(V) / sizeof(V{}[0])>{});
}
// Moves lane i ^ Bits to lane i.
template <std::size_t Bits, class V, std::size_t... Indices>
SLICESORT_INLINE V swap_lanes_of(V const& v, std::index_sequence<Indices...>) {
#if defined(__clang__)
  return __builtin_shufflevector(v, v, static_cast<int>(Indices ^ Bits)...);
#else
  using Lane = std::remove_reference_t<decltype(V{}[0])>;
  return __builtin_shuffle(v, V{static_cast<Lane>(Indices ^ Bits)...});
#endif
}
template <std::size_t Bits, class V>
SLICESORT_INLINE V swap_lanes(V const& v) {
  return swap_lanes_of<Bits>(v, std::make_index_sequence<sizeof(V) / sizeof(V{}[0])>{});
}
