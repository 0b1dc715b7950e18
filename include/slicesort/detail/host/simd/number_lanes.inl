// SPDX-License-Identifier: Apache-2.0
// Lanes of the accumulator's type for elements of type T: how they come from memory, are rounded, and
// multiplied. 16-bit types are rounded by integer arithmetic, bit for bit as dtype.hpp does. Included
// once per instruction set, after its `fused_lanes`.

#if SLICESORT_GNU_VECTORS
template <class T>
struct number_lanes {
  using A = detail::accumulator_t<T>;
  static constexpr int count = vector_bytes / static_cast<int>(sizeof(A));
  using V = vec<A, count>;

  static SLICESORT_INLINE V every(A value) {
    return every_of(value, std::make_index_sequence<std::size_t{count}>{});
  }
  // A sum that nobody may reorder, whatever the compiler was told of arithmetic.
  static SLICESORT_INLINE V plus(V const& a, V const& b) {
    SLICESORT_AS_WRITTEN
    V sum = a + b;
#  if defined(__x86_64__)
    __asm__("" : "+x"(sum));
#  elif defined(__aarch64__)
    __asm__("" : "+w"(sum));
#  else
    __asm__("" : "+m"(sum));
#  endif
    return sum;
  }
  static SLICESORT_INLINE V take(T const* from) {
    if constexpr (std::is_same_v<T, A>)
      return load_lanes<V>(from);
    else
      return reinterpret_cast<V>(widened(convert<words>(load_lanes<narrow>(from))));
  }
  // Rounds.
  template <bool Stream>
  static SLICESORT_INLINE void give(T* to, V const& v) {
    if constexpr (std::is_same_v<T, A>)
      put<Stream>(to, v);
    else
      store_lanes(to, convert<narrow>(narrowed(v)));
  }
  static SLICESORT_INLINE V rounded(V const& v) {
    if constexpr (std::is_same_v<T, A>)
      return v;
    else
      return reinterpret_cast<V>(widened(narrowed(v)));
  }
  // a where bit `Half` of the lane's number is clear, else b; each plus the lane `Half` away.
  template <int Half>
  static SLICESORT_INLINE V fold(V const& a, V const& b) {
    return fold_of<Half>(a, b, std::make_index_sequence<std::size_t{count}>{});
  }

 private:
  using words = vec<std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>, count>;
  using narrow = vec<std::uint16_t, count>;
  static constexpr bool is_half = dtype_traits<T>::infinity == 0x7c00u;

  template <std::size_t... At>
  static SLICESORT_INLINE V every_of(A value, std::index_sequence<At...>) {
    return V{(void(At), value)...};
  }

  static SLICESORT_INLINE words number(std::uint32_t value) { return broadcast<words>(value); }
  static SLICESORT_INLINE words widened(words const& h) {
    if constexpr (is_half) {
      words const sign = (h & number(0x8000u)) << 16, size = h & number(0x7fffu);
      words const special =
          select(greater(size, number(0x7bffu)), number(0x70000000u), number(0x38000000u));
      // A subnormal is size * 2^-24; an integer below 1024 is exact in float.
      V const scaled = convert<V>(reinterpret_cast<vec<std::int32_t, count>>(size)) *
                       every(5.9604644775390625e-8f);
      return sign | select(greater(number(0x400u), size), reinterpret_cast<words>(scaled),
                           (size << 13) + special);
    } else {
      return h << 16;
    }
  }
  static SLICESORT_INLINE words narrowed(V const& v) {
    words const u = reinterpret_cast<words>(v), size = u & number(0x7fffffffu);
    words const is_nan = greater(size, number(0x7f800000u));
    if constexpr (is_half) {
      words const sign = (u >> 16) & number(0x8000u), rebiased = size - number(0x38000000u);
      words const normal = (rebiased + number(0xfffu) + ((rebiased >> 13) & number(1u))) >> 13;
      // Next to 1/2, the last bit of a float counts the smallest subnormals.
      V const beside = reinterpret_cast<V>(size) + every(0.5f);
      words const subnormal = reinterpret_cast<words>(beside) - number(0x3f000000u);
      words r = select(greater(number(0x38800000u), size), subnormal, normal);
      r = select(greater(size, number(0x477fefffu)), number(0x7c00u), r);
      r = select(is_nan, number(0x7e00u) | ((size >> 13) & number(0x3ffu)), r);
      return sign | r;
    } else {
      words const even = (u + number(0x7fffu) + ((u >> 16) & number(1u))) >> 16;
      return select(is_nan, (u >> 16) | number(0x40u), even);
    }
  }

  template <int Half, std::size_t... At>
  static SLICESORT_INLINE V fold_of(V const& a, V const& b, std::index_sequence<At...>) {
    SLICESORT_AS_WRITTEN
#  if defined(__clang__)
    V const own = __builtin_shufflevector(a, b, own_place<Half>(static_cast<int>(At))...);
    V const other = __builtin_shufflevector(a, b, other_place<Half>(static_cast<int>(At))...);
#  else
    using place = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
    V const own = __builtin_shuffle(
        a, b, vec<place, count>{static_cast<place>(own_place<Half>(static_cast<int>(At)))...});
    V const other = __builtin_shuffle(
        a, b, vec<place, count>{static_cast<place>(other_place<Half>(static_cast<int>(At)))...});
#  endif
    return own + other;
  }
  template <int Half>
  static constexpr int own_place(int lane) {
    return (lane & Half) != 0 ? count + lane : lane;
  }
  template <int Half>
  static constexpr int other_place(int lane) {
    return own_place<Half>(lane) ^ Half;
  }
};
#else
template <class T>
struct number_lanes {
  using A = detail::accumulator_t<T>;
  static constexpr int count = vector_bytes / static_cast<int>(sizeof(A));
  using V = vec<A, count>;

  static V every(A value) { return broadcast<V>(value); }
  static V plus(V const& a, V const& b) {
    return V::map([&](int i) { return a[i] + b[i]; });
  }
  static V take(T const* from) {
    return V::map([&](int i) { return static_cast<A>(from[i]); });
  }
  template <bool Stream>
  static void give(T* to, V const& v) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<T>(v[i]);
  }
  static V rounded(V const& v) {
    return V::map([&](int i) { return static_cast<A>(static_cast<T>(v[i])); });
  }
  template <int Half>
  static V fold(V const& a, V const& b) {
    return V::map([&](int i) {
      V const& from = (i & Half) != 0 ? b : a;
      return from[i] + from[i ^ Half];
    });
  }
};
#endif
