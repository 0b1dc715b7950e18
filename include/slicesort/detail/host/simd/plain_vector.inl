// SPDX-License-Identifier: Apache-2.0
// SIMD vectors as arrays, for any C++17 compiler, with the functions of gnu_vector.inl. Included by
// vectors.inl.

template <class Lane, int Count>
struct vec {
  Lane lane[static_cast<std::size_t>(Count)] = {};

  Lane& operator[](int i) { return lane[i]; }
  Lane operator[](int i) const { return lane[i]; }

  template <class F>
  static vec map(F const& f) {
    vec r;
    for (int i = 0; i < Count; ++i) r.lane[i] = static_cast<Lane>(f(i));
    return r;
  }
  friend vec operator~(vec const& a) {
    return map([&](int i) { return ~a[i]; });
  }
  friend vec operator-(vec const& a) {
    return map([&](int i) { return -a[i]; });
  }
#define SLICESORT_LANEWISE(op)                         \
  friend vec operator op(vec const& a, vec const& b) { \
    return map([&](int i) { return a[i] op b[i]; });   \
  }
  SLICESORT_LANEWISE(&)
  SLICESORT_LANEWISE(|)
  SLICESORT_LANEWISE(^)
  SLICESORT_LANEWISE(+)
  SLICESORT_LANEWISE(-)
  SLICESORT_LANEWISE(*)
#undef SLICESORT_LANEWISE
  friend vec operator<<(vec const& a, int n) {
    return map([&](int i) { return a[i] << n; });
  }
  friend vec operator>>(vec const& a, int n) {
    return map([&](int i) { return a[i] >> n; });
  }
};

template <class V, class Lane>
SLICESORT_INLINE V broadcast(Lane value) {
  return V::map([&](int) { return value; });
}
template <class V>
SLICESORT_INLINE V load_lanes(void const* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
SLICESORT_INLINE void store_lanes(void* to, V const& v) {
  std::memcpy(to, &v, sizeof v);
}
template <class V>
SLICESORT_INLINE V min_lanes(V const& a, V const& b) {
  return V::map([&](int i) { return a[i] < b[i] ? a[i] : b[i]; });
}
template <class V>
SLICESORT_INLINE V max_lanes(V const& a, V const& b) {
  return V::map([&](int i) { return a[i] < b[i] ? b[i] : a[i]; });
}
template <class V>
SLICESORT_INLINE V divide_lanes(V const& a, V const& b) {
  return V::map([&](int i) { return a[i] / b[i]; });
}
template <class V>
SLICESORT_INLINE V equal(V const& a, V const& b) {
  return V::map([&](int i) { return a[i] == b[i] ? -1 : 0; });
}
template <class V>
SLICESORT_INLINE V greater(V const& a, V const& b) {
  return V::map([&](int i) { return a[i] > b[i] ? -1 : 0; });
}
template <class V>
SLICESORT_INLINE V select(V const& mask, V const& a, V const& b) {
  return V::map([&](int i) { return mask[i] != 0 ? a[i] : b[i]; });
}
template <class To, class V>
SLICESORT_INLINE To convert(V const& v) {
  return To::map([&](int i) { return v[i]; });
}
template <class Lane, int Count>
SLICESORT_INLINE vec<Lane, Count> spread_sign(vec<Lane, Count> const& v) {
  return vec<Lane, Count>::map(
      [&](int i) { return (v[i] >> (8 * sizeof(Lane) - 1)) != 0 ? -1 : 0; });
}
template <class V>
SLICESORT_INLINE bool any_set(V const& v) {
  bool found = false;
  for (auto lane : v.lane) found |= lane != 0;
  return found;
}
template <bool Second, class V>
SLICESORT_INLINE V zip(V const& a, V const& b) {
  constexpr int count = static_cast<int>(sizeof(V) / sizeof(V{}[0])),
                first = Second ? count / 2 : 0;
  return V::map([&](int i) { return (i % 2 == 0 ? a : b)[first + i / 2]; });
}
template <std::size_t Bits, class V>
SLICESORT_INLINE V swap_lanes(V const& v) {
  return V::map([&](int i) { return v[i ^ static_cast<int>(Bits)]; });
}
