// SPDX-License-Identifier: Apache-2.0
// Lanes of the accumulator's type for elements of type T: how they are loaded, rounded, added and
// stored. 16-bit types are converted by integer arithmetic, bit for bit as dtype.hpp does, but that
// NaN become one as in math/rounded.hpp. Included once per instruction set.

// clang-format off
#include <slicesort/detail/host/simd/fused_lanes.inl>
// clang-format on

// A loop whose counter is a constant of the compiler: f(0), f(1), .. f(Count - 1). In a function
// that is SLICESORT_FLATTEN, an array that f uses stays in registers.
template <int Count, int First = 0, class F>
SLICESORT_INLINE void unrolled(F const& f) {
  if constexpr (First < Count) {
    f(std::integral_constant<int, First>{});
    unrolled<Count, First + 1>(f);
  }
}

#if SLICESORT_GNU_VECTORS
template <class T>
struct number_lanes {
  using A = detail::accumulator_t<T>;
  static constexpr int count = vector_bytes / static_cast<int>(sizeof(A));
  using V = vec<A, count>;

  static SLICESORT_INLINE V every(A value) {
    return every_of(value, std::make_index_sequence<std::size_t{count}>{});
  }
  // a + b, which the compiler may not reassociate with other sums, -ffast-math or not.
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
  static SLICESORT_INLINE V load(T const* from) {
    if constexpr (std::is_same_v<T, A>)
      return load_lanes<V>(from);
    else
      return reinterpret_cast<V>(widened(convert<uint_lanes>(load_lanes<narrow>(from))));
  }
  // Rounds to T, and stores.
  template <bool Stream>
  static SLICESORT_INLINE void store(T* to, V const& v) {
    if constexpr (std::is_same_v<T, A>)
      store_vector<Stream>(to, with_one_nan(v));
    else
      store_vector<Stream>(to, convert<narrow>(narrowed(v)));
  }
  // Rounds to T a sum that is not stored: any NaN will do.
  static SLICESORT_INLINE V rounded(V const& v) {
    if constexpr (std::is_same_v<T, A>)
      return v;
    else
      return reinterpret_cast<V>(widened(narrowed(v)));
  }
  // Lane l is the sum of lanes l and l ^ Half of one vector: of a where bit `Half` of l is clear,
  // else of b. Folding `count` vectors pairwise with Half = count / 2, .., 2, 1 leaves one of all
  // their sums.
  template <int Half>
  static SLICESORT_INLINE V fold(V const& a, V const& b) {
    return fold_of<Half>(a, b, std::make_index_sequence<std::size_t{count}>{});
  }

 private:
  using uint_lanes = vec<std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>, count>;
  using narrow = vec<std::uint16_t, count>;
  static constexpr bool is_half = dtype_traits<T>::infinity == 0x7c00u;

  template <std::size_t... At>
  static SLICESORT_INLINE V every_of(A value, std::index_sequence<At...>) {
    return V{(void(At), value)...};
  }

  static SLICESORT_INLINE uint_lanes number(std::uint32_t value) {
    return broadcast<uint_lanes>(value);
  }
  static SLICESORT_INLINE uint_lanes widened(uint_lanes const& h) {
    if constexpr (is_half) {
      uint_lanes const sign = (h & number(0x8000u)) << 16, size = h & number(0x7fffu);
      uint_lanes const special =
          select(greater(size, number(0x7bffu)), number(0x70000000u), number(0x38000000u));
      // A subnormal is size * 2^-24; an integer below 1024 is exact in float.
      V const scaled = convert<V>(reinterpret_cast<vec<std::int32_t, count>>(size)) *
                       every(5.9604644775390625e-8f);
      return sign | select(greater(number(0x400u), size), reinterpret_cast<uint_lanes>(scaled),
                           (size << 13) + special);
    } else {
      return h << 16;
    }
  }
  static SLICESORT_INLINE uint_lanes narrowed(V const& v) {
    uint_lanes const u = reinterpret_cast<uint_lanes>(v), size = u & number(0x7fffffffu);
    uint_lanes const is_nan = greater(size, number(0x7f800000u));
    if constexpr (is_half) {
      uint_lanes const sign = (u >> 16) & number(0x8000u), rebiased = size - number(0x38000000u);
      uint_lanes const normal = (rebiased + number(0xfffu) + ((rebiased >> 13) & number(1u))) >> 13;
      // Added to 1/2, a float rounds to a multiple of the smallest float16 subnormal.
      V const beside = reinterpret_cast<V>(size) + every(0.5f);
      uint_lanes const subnormal = reinterpret_cast<uint_lanes>(beside) - number(0x3f000000u);
      uint_lanes r = select(greater(number(0x38800000u), size), subnormal, normal);
      r = select(greater(size, number(0x477fefffu)), number(0x7c00u), r);
      return select(is_nan, number(detail::nan_bits<T>), sign | r);
    } else {
      uint_lanes const even = (u + number(0x7fffu) + ((u >> 16) & number(1u))) >> 16;
      return select(is_nan, number(detail::nan_bits<T>), even);
    }
  }
  static SLICESORT_INLINE V with_one_nan(V const& v) {
    SLICESORT_AS_WRITTEN
    return v == v ? v : every(detail::bit_cast<A>(detail::nan_bits<A>));
  }

  template <int Half, std::size_t... At>
  static SLICESORT_INLINE V fold_of(V const& a, V const& b, std::index_sequence<At...>) {
    SLICESORT_AS_WRITTEN
#  if defined(__clang__)
    V const own = __builtin_shufflevector(a, b, own_lane<Half>(static_cast<int>(At))...);
    V const other = __builtin_shufflevector(a, b, other_lane<Half>(static_cast<int>(At))...);
#  else
    using index = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
    V const own = __builtin_shuffle(
        a, b, vec<index, count>{static_cast<index>(own_lane<Half>(static_cast<int>(At)))...});
    V const other = __builtin_shuffle(
        a, b, vec<index, count>{static_cast<index>(other_lane<Half>(static_cast<int>(At)))...});
#  endif
    return own + other;
  }
  template <int Half>
  static constexpr int own_lane(int lane) {
    return (lane & Half) != 0 ? count + lane : lane;
  }
  template <int Half>
  static constexpr int other_lane(int lane) {
    return own_lane<Half>(lane) ^ Half;
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
  static V load(T const* from) {
    return V::map([&](int i) { return static_cast<A>(from[i]); });
  }
  template <bool Stream>
  static void store(T* to, V const& v) {
    for (int i = 0; i < count; ++i) to[i] = detail::rounded<T>(v[i]);
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
