// SPDX-License-Identifier: Apache-2.0
// SIMD loads, sums, roundings and stores of elements T in the accumulator's type. Converts 16-bit
// types by integer arithmetic. Results are bitwise equal to dtype.hpp, except that every NaN
// becomes the canonical NaN of math/rounded.hpp. Included for each instruction set.

// clang-format off
#include <slicesort/detail/host/simd/fused_lanes.inl>
// clang-format on

// Calls f(0), f(1), .. f(Count - 1) with compile-time constants. In a SLICESORT_FLATTEN function,
// arrays that f uses stay in registers.
template <int Count, int First = 0, class F>
SLICESORT_INLINE void unrolled(F const& f) {
  if constexpr (First < Count) {
    f(std::integral_constant<int, First>{});
    unrolled<Count, First + 1>(f);
  }
}

#if SLICESORT_GNU_VECTORS
template <class T>
struct value_lanes {
  using A = detail::accumulator_t<T>;
  static constexpr int count = vector_bytes / static_cast<int>(sizeof(A));
  using V = vec<A, count>;

  static SLICESORT_INLINE V splat(A value) {
    return splat_lanes(value, std::make_index_sequence<std::size_t{count}>{});
  }
  // Returns a + b without reassociation, even under -ffast-math.
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
      return reinterpret_cast<V>(widen(convert<uint_lanes>(load_lanes<narrow_lanes>(from))));
  }
  template <bool Stream>
  static SLICESORT_INLINE void store(T* to, V const& v) {
    if constexpr (std::is_same_v<T, A>)
      store_vector<Stream>(to, canonicalize_nan(v));
    else
      store_vector<Stream>(to, convert<narrow_lanes>(narrow(v)));
  }
  // Rounds to T without canonicalizing NaN, for sums that are not stored.
  static SLICESORT_INLINE V rounded(V const& v) {
    if constexpr (std::is_same_v<T, A>)
      return v;
    else
      return reinterpret_cast<V>(widen(narrow(v)));
  }
  // Lane l of the result is the sum of lanes l and l ^ Half of a or, if bit `Half` of l is set, of
  // b. Folding `count` vectors pairwise with Half = count / 2, .., 2, 1 yields the vector of their
  // sums.
  template <int Half>
  static SLICESORT_INLINE V fold(V const& a, V const& b) {
    return fold_lanes<Half>(a, b, std::make_index_sequence<std::size_t{count}>{});
  }

 private:
  using uint_lanes = vec<std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>, count>;
  using narrow_lanes = vec<std::uint16_t, count>;
  static constexpr bool is_float16 = dtype_traits<T>::infinity == 0x7c00u;

  template <std::size_t... Indices>
  static SLICESORT_INLINE V splat_lanes(A value, std::index_sequence<Indices...>) {
    return V{(void(Indices), value)...};
  }

  static SLICESORT_INLINE uint_lanes splat_bits(std::uint32_t value) {
    return broadcast<uint_lanes>(value);
  }
  static SLICESORT_INLINE uint_lanes widen(uint_lanes const& half) {
    if constexpr (is_float16) {
      uint_lanes const sign = (half & splat_bits(0x8000u)) << 16,
                       magnitude = half & splat_bits(0x7fffu);
      uint_lanes const special = select(greater(magnitude, splat_bits(0x7bffu)),
                                        splat_bits(0x70000000u), splat_bits(0x38000000u));
      // Subnormals are size * 2^-24, which is exact in float.
      V const scaled = convert<V>(reinterpret_cast<vec<std::int32_t, count>>(magnitude)) *
                       splat(5.9604644775390625e-8f);
      return sign | select(greater(splat_bits(0x400u), magnitude),
                           reinterpret_cast<uint_lanes>(scaled), (magnitude << 13) + special);
    } else {
      return half << 16;
    }
  }
  static SLICESORT_INLINE uint_lanes narrow(V const& v) {
    uint_lanes const bits = reinterpret_cast<uint_lanes>(v),
                     magnitude = bits & splat_bits(0x7fffffffu);
    uint_lanes const is_nan = greater(magnitude, splat_bits(0x7f800000u));
    if constexpr (is_float16) {
      uint_lanes const sign = (bits >> 16) & splat_bits(0x8000u),
                       rebiased = magnitude - splat_bits(0x38000000u);
      uint_lanes const normal =
          (rebiased + splat_bits(0xfffu) + ((rebiased >> 13) & splat_bits(1u))) >> 13;
      // Adding 1/2 rounds to a multiple of the smallest float16 subnormal.
      V const shifted = reinterpret_cast<V>(magnitude) + splat(0.5f);
      uint_lanes const subnormal = reinterpret_cast<uint_lanes>(shifted) - splat_bits(0x3f000000u);
      uint_lanes result = select(greater(splat_bits(0x38800000u), magnitude), subnormal, normal);
      result = select(greater(magnitude, splat_bits(0x477fefffu)), splat_bits(0x7c00u), result);
      return select(is_nan, splat_bits(detail::nan_bits<T>), sign | result);
    } else {
      uint_lanes const rounded_bits =
          (bits + splat_bits(0x7fffu) + ((bits >> 16) & splat_bits(1u))) >> 16;
      return select(is_nan, splat_bits(detail::nan_bits<T>), rounded_bits);
    }
  }
  static SLICESORT_INLINE V canonicalize_nan(V const& v) {
    SLICESORT_AS_WRITTEN
    return v == v ? v : splat(detail::bit_cast<A>(detail::nan_bits<A>));
  }

  template <int Half, std::size_t... Indices>
  static SLICESORT_INLINE V fold_lanes(V const& a, V const& b, std::index_sequence<Indices...>) {
    SLICESORT_AS_WRITTEN
#  if defined(__clang__)
    V const first = __builtin_shufflevector(a, b, first_lane<Half>(static_cast<int>(Indices))...);
    V const second = __builtin_shufflevector(a, b, second_lane<Half>(static_cast<int>(Indices))...);
#  else
    using index = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;
    V const first = __builtin_shuffle(
        a, b,
        vec<index, count>{static_cast<index>(first_lane<Half>(static_cast<int>(Indices)))...});
    V const second = __builtin_shuffle(
        a, b,
        vec<index, count>{static_cast<index>(second_lane<Half>(static_cast<int>(Indices)))...});
#  endif
    return first + second;
  }
  template <int Half>
  static constexpr int first_lane(int lane) {
    return (lane & Half) != 0 ? count + lane : lane;
  }
  template <int Half>
  static constexpr int second_lane(int lane) {
    return first_lane<Half>(lane) ^ Half;
  }
};
#else
template <class T>
struct value_lanes {
  using A = detail::accumulator_t<T>;
  static constexpr int count = vector_bytes / static_cast<int>(sizeof(A));
  using V = vec<A, count>;

  static V splat(A value) { return broadcast<V>(value); }
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
