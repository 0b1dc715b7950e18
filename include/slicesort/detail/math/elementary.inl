// SPDX-License-Identifier: Apache-2.0
// Elementary functions as fixed sequences of fused multiply-adds and integer operations. Scalars
// and SIMD lanes, host and device get the same bits. elementary.hpp includes this file for scalars,
// host/simd/lane_values.hpp for each instruction set.
//
// `Ops` has the types A (scalar), `value` (scalar or lanes), `bits` (integers like `value`), and
//   fused(a, b, c)          a * b + c, rounded once
//   divide(a, b)            a / b, rounded once
//   splat(A), splat_bits(integer)
//   bits_of(value), value_of(bits)
//   max(a, b)               the larger one; a if a is NaN
//   positive(a)             all ones where a > 0, else 0
//   load(address), store(a, address), for `count` adjacent scalars
template <class Ops>
struct elementary {
  using Value = typename Ops::value;
  using Bits = typename Ops::bits;
  using A = typename Ops::A;
  using format = detail::binary_format<A>;
  using integer = typename format::integer;
  // The last bits of exponent_shift + n are the exponent field of 2^(n - 1).
  static constexpr A exponent_shift = format::integer_shift + static_cast<A>(format::bias - 1);

  static SLICESORT_MATH_INLINE Value product(Ops const& ops, Value const& a, Value const& b) {
    return ops.fused(a, b, ops.splat(A(0)));
  }
  static SLICESORT_MATH_INLINE Value sum(Ops const& ops, Value const& a, Value const& b) {
    return ops.fused(a, ops.splat(A(1)), b);
  }
  static SLICESORT_MATH_INLINE Value negated(Ops const& ops, Value const& a) {
    return ops.value_of(ops.bits_of(a) ^
                        ops.splat_bits(integer{1} << (8 * static_cast<int>(sizeof(A)) - 1)));
  }

  // Returns exp(x) for x <= 0, with an error of up to 2 ulp. Subnormal results, and some slightly
  // larger ones, flush to 0; NaN propagates. Like detail::exp_at_most_one, with two differences.
  // First, the whole number n includes the exponent bias minus one, so its bits yield 2^(n - 1), or
  // 0 at the lower clamp of x. Second, the series computes twice the exponential.
  static SLICESORT_MATH_INLINE Value exponential(Ops const& ops, Value const& argument) {
    constexpr A min_x = static_cast<A>(-(format::bias - 1) * 0.6931471805599453);
    Value biased;
    Value const near_two = reduced_exponential(ops, ops.max(argument, ops.splat(min_x)), biased);
    return product(ops, near_two, ops.value_of(ops.bits_of(biased) << format::fraction_bits));
  }
  // Returns 1 / (1 + exp(-x)), computed from exp(-|x|), whose relative error is up to two epsilons;
  // the sum and the quotient each add half an epsilon. If exp(x) flushes to 0, so does the result.
  // NaN propagates.
  static SLICESORT_MATH_INLINE Value sigmoid(Ops const& ops, Value const& x) {
    Bits const sign = ops.splat_bits(integer{1} << (8 * static_cast<int>(sizeof(A)) - 1));
    Value const unit = ops.splat(A(1)),
                power = exponential(ops, ops.value_of(ops.bits_of(x) | sign));
    Bits const power_bits = ops.bits_of(power);
    Value const numerator =
        ops.value_of(power_bits ^ ((power_bits ^ ops.bits_of(unit)) & ops.positive(x)));
    return ops.divide(numerator, sum(ops, power, unit));
  }
  // Returns exp(x) * 2^(1 - exponent), in sqrt(2) .. 2 sqrt(2), for x <= 0. `exponent` is a whole
  // number, at least `lowest`, to which x is clamped. NaN propagates.
  static SLICESORT_MATH_INLINE Value twice_exponential(Ops const& ops, Value const& argument,
                                                       A lowest, Value& exponent) {
    Value biased;
    Value const near_two = reduced_exponential(
        ops, ops.max(argument, ops.splat(lowest * static_cast<A>(0.6931471805599453))), biased);
    exponent = sum(ops, biased, ops.splat(-exponent_shift));
    return near_two;
  }
  // Returns x * 2^(exponent - 1) for whole numbers `exponent` <= bias, and 0 if the power is
  // subnormal.
  static SLICESORT_MATH_INLINE Value times_half_power(Ops const& ops, Value const& x,
                                                      Value const& exponent) {
    Value const biased =
        ops.max(ops.splat(format::integer_shift), sum(ops, exponent, ops.splat(exponent_shift)));
    return product(ops, x, ops.value_of(ops.bits_of(biased) << format::fraction_bits));
  }
  // Returns the mantissa x * 2^-exponent, in sqrt(1/2) .. sqrt(2), for normal x > 0. NaN
  // propagates.
  static SLICESORT_MATH_INLINE Value split_exponent(Ops const& ops, Value const& x,
                                                    Value& exponent) {
    // Difference of the bits of 1 and sqrt(1/2).
    constexpr auto half_octave = static_cast<integer>(
        (2 - 1.4142135623730951) * static_cast<double>(integer{1} << format::fraction_bits));
    Bits const biased = (ops.bits_of(x) + ops.splat_bits(half_octave)) >> format::fraction_bits;
    exponent = sum(ops, ops.value_of(ops.bits_of(ops.splat(format::integer_shift)) + biased),
                   ops.splat(-format::integer_shift - static_cast<A>(format::bias)));
    return product(
        ops, x, ops.value_of((ops.splat_bits(2 * format::bias) - biased) << format::fraction_bits));
  }

  // Returns log(x) for finite x >= 1, with an error of up to 2 ulp of max(log(x), 1). NaN
  // propagates.
  static SLICESORT_MATH_INLINE Value logarithm(Ops const& ops, Value const& x) {
    constexpr integer one_bits = integer{format::bias} << format::fraction_bits,
                      exponent_unit = integer{1} << format::fraction_bits;
    Bits const x_bits = ops.bits_of(x);
    Value const mantissa = ops.value_of((x_bits & ops.splat_bits(exponent_unit - 1)) |
                                        ops.splat_bits(one_bits));  // in [1, 2)
    Bits const is_halved = ops.positive(sum(ops, mantissa, ops.splat(A(-1.4142135623730951))));
    Value const centered = ops.value_of(ops.bits_of(mantissa) +
                                        (is_halved & ops.splat_bits(integer{0} - exponent_unit)));
    Bits const exponent = (x_bits >> format::fraction_bits) +
                          ops.splat_bits(integer{0} - format::bias) +
                          (is_halved & ops.splat_bits(integer{1}));
    // The last bits of `integer_shift` plus an integer hold the integer.
    Value const shift = ops.splat(format::integer_shift);
    Value const power =
        sum(ops, ops.value_of(ops.bits_of(shift) + exponent), ops.splat(-format::integer_shift));
    Value const s =
        ops.divide(sum(ops, centered, ops.splat(A(-1))), sum(ops, centered, ops.splat(A(1))));
    Value const series = log_terms_after<format::log_terms - 2>(
        ops, product(ops, s, s), ops.splat(static_cast<A>(2.0 / (2 * format::log_terms - 1))));
    Value const low = ops.fused(s, series, product(ops, power, ops.splat(format::log2_low)));
    Value const zero_or_nan = ops.fused(x, ops.splat(A(-1)), x);
    return sum(ops, ops.fused(power, ops.splat(format::log2_high), low), zero_or_nan);
  }

 private:
  // Returns twice exp(x - n log 2) for x <= 0 and the whole number n next to x / log 2, as
  // biased = exponent_shift + n.
  static SLICESORT_MATH_INLINE Value reduced_exponential(Ops const& ops, Value const& x,
                                                         Value& biased) {
    biased = ops.fused(x, ops.splat(static_cast<A>(1.4426950408889634)), ops.splat(exponent_shift));
    Value const power = sum(ops, biased, ops.splat(-exponent_shift));
    Value r = ops.fused(power, ops.splat(-format::log2_high), x);
    r = ops.fused(power, ops.splat(-format::log2_low), r);
    return exp_terms_after<format::exp_terms - 2>(
        ops, r, ops.splat(2 * detail::reciprocal_factorial<A>(format::exp_terms - 1)));
  }
  template <int K>
  static SLICESORT_MATH_INLINE Value exp_terms_after(Ops const& ops, Value const& r,
                                                     Value const& partial) {
    if constexpr (K < 0)
      return partial;
    else
      return exp_terms_after<K - 1>(
          ops, r, ops.fused(partial, r, ops.splat(2 * detail::reciprocal_factorial<A>(K))));
  }
  template <int K>
  static SLICESORT_MATH_INLINE Value log_terms_after(Ops const& ops, Value const& square,
                                                     Value const& partial) {
    if constexpr (K < 0)
      return partial;
    else
      return log_terms_after<K - 1>(
          ops, square, ops.fused(partial, square, ops.splat(static_cast<A>(2.0 / (2 * K + 1)))));
  }
};
