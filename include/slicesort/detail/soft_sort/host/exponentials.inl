// SPDX-License-Identifier: Apache-2.0
// Exponentials of pools. Included once per instruction set.

// SIMD lanes that round a product before it is added, as unfused.hpp.
template <class T>
struct unfused_lane_values : lane_values<T> {
  using value = typename lane_values<T>::value;

  unfused_lane_values() {
    T const volatile unit = 1;
    hidden_one_ = this->splat(unit);
  }
  SLICESORT_INLINE value product(value const& a, value const& b) const {
#if defined(__GNUC__) && !defined(__clang__)
    return a * b * hidden_one_;
#else
    return a * b;
#endif
  }
  SLICESORT_INLINE value fused(value const& a, value const& b, value const& c) const {
    return c + product(a, b);
  }

 private:
  value hidden_one_;
};

// Replaces every x <= 0 by exp(x), with the bits of detail::exp_at_most_one.
inline void compute_exponentials(target, double* x, index_t count) {
  using values = unfused_lane_values<double>;
  values const ops;
  using functions = elementary<values>;
  for (index_t i = 0; i < count; i += values::count) {
    auto const exponent = ops.load(x + i);
    auto const flushes = ops.positive(functions::sum(
        ops, functions::negated(ops, exponent), ops.splat(binary_format<double>::min_argument)));
    ops.store(ops.value_of(ops.bits_of(functions::exponential(ops, exponent)) & ~flushes), x + i);
  }
}
