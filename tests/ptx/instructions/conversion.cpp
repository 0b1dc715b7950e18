// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.9.21 "Data Movement and Conversion Instructions: cvt".
#include "floating_point.hpp"
#include "form.hpp"
#include "lanes.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

constexpr std::initializer_list<type> integers = {type::u8, type::u16, type::u32, type::u64,
                                                  type::s8, type::s16, type::s32, type::s64};
bool is_integer(type t) { return t >= type::u8 && t <= type::s64; }

// Sign-extends a signed result to the width of the register.
template <auto f>
struct sign_extend_result;
template <class R, class A, R (*f)(A)>
struct sign_extend_result<f> {
  static void act(warp& w, instruction const& instr, lane_mask active) {
    std::uint64_t* const to = w.result(instr.results[0]);
    std::uint64_t const* const from = w.source(instr.sources[0]);
    std::uint64_t const result_mask = ~std::uint64_t{0} >> (64 - 8 * instr.results[0].bytes);
    for_each_lane(active, [&](unsigned lane) {
      to[lane] = static_cast<std::uint64_t>(std::int64_t{f(narrow<A>(from[lane]))}) & result_mask;
    });
  }
};
template <auto f, class R>
constexpr action to_integer = [] {
  if constexpr (std::is_signed_v<R>)
    return sign_extend_result<f>::act;
  else
    return lanewise<f>;
}();

template <class To, class From>
To resize(From a) {
  return static_cast<To>(a);
}

enum class rounding { nearest, zero, down, up };

template <rounding mode, class T>
T round(T a) {
  if constexpr (mode == rounding::nearest)
    return std::nearbyint(a);  // ties to even
  else if constexpr (mode == rounding::zero)
    return std::trunc(a);
  else if constexpr (mode == rounding::down)
    return std::floor(a);
  else
    return std::ceil(a);
}

// Rounds and clamps to the range of To. For a NaN, see PTX ISA 9.7.9.21.
template <class To, class From, rounding mode>
To saturate(From a) {
  using range = std::numeric_limits<To>;
  From const r = round<mode>(a);
  if (r != r)
    return sizeof(From) == 8 || sizeof(To) == 8
               ? static_cast<To>(std::make_unsigned_t<To>{1} << (8 * sizeof(To) - 1))
               : To{0};
  if (r < static_cast<From>(range::min())) return range::min();
  if (r >= std::ldexp(From{1}, range::digits)) return range::max();
  return static_cast<To>(r);
}
template <class To, rounding mode>
To saturate_ftz(float a) {
  return saturate<To, float, mode>(flush(a));
}

template <class To, rounding mode>
action integer_action(type from, bool flush) {
  if (from == type::f64) return to_integer<saturate<To, double, mode>, To>;
  if (flush) return to_integer<saturate_ftz<To, mode>, To>;
  return to_integer<saturate<To, float, mode>, To>;
}
template <rounding mode>
action integer_action(type to, type from, bool flush) {
  return with_integer(to,
                      [&](auto tag) { return integer_action<decltype(tag), mode>(from, flush); });
}

template <class To, class From>
To convert(From a) {
  return static_cast<To>(a);
}
double widen_to_double(float a) { return canonicalize(static_cast<double>(a)); }
double widen_ftz(float a) { return widen_to_double(flush(a)); }
float narrow_to_float(double a) { return canonicalize(static_cast<float>(a)); }
float narrow_ftz(double a) { return flush(narrow_to_float(a)); }

template <std::uint16_t (*f)(float)>
std::uint32_t pack_pair(float high, float low) {
  return static_cast<std::uint32_t>(f(high)) << 16 | f(low);
}

template <rounding mode, class T>
T round_to_integral(T a) {
  return canonicalize(round<mode>(a));
}
template <rounding mode>
action integral_action(type t, bool flush) {
  if (t == type::f64) return lanewise<round_to_integral<mode, double>>;
  return flush ? lanewise<with_flush<round_to_integral<mode, float>>::apply>
               : lanewise<round_to_integral<mode, float>>;
}

// `cvt.rzi.s32.f32`, and `cvt.rzi.f32.f32`, which rounds to an integral value.
void decode_to_integral(statement& s, instruction& instr, rounding mode) {
  bool const flush = s.take("ftz");
  instr.result_type = s.take_type({type::u8, type::u16, type::u32, type::u64, type::s8, type::s16,
                                   type::s32, type::s64, type::f32, type::f64});
  instr.source_type = is_integer(instr.result_type) ? s.take_type({type::f32, type::f64})
                                                    : s.take_type({instr.result_type});
  if (flush && instr.source_type != type::f32) s.fail("unknown modifier .ftz");
  auto const select_action = [&](auto constant) {
    constexpr rounding constant_mode = decltype(constant)::value;
    return is_integer(instr.result_type)
               ? integer_action<constant_mode>(instr.result_type, instr.source_type, flush)
               : integral_action<constant_mode>(instr.result_type, flush);
  };
  using std::integral_constant;
  instr.act =
      mode == rounding::nearest ? select_action(integral_constant<rounding, rounding::nearest>{})
      : mode == rounding::zero  ? select_action(integral_constant<rounding, rounding::zero>{})
      : mode == rounding::down  ? select_action(integral_constant<rounding, rounding::down>{})
                                : select_action(integral_constant<rounding, rounding::up>{});
  s.take_result(instr, instr.result_type, is_integer(instr.result_type));
  s.take_source(instr, instr.source_type);
}

// `cvt.rn.f32.f64`: to nearest, ties to even.
void decode_rounding(statement& s, instruction& instr) {
  bool const flush = s.take("ftz");
  instr.result_type =
      s.take_type({type::f16x2, type::bf16x2, type::f16, type::bf16, type::f32, type::f64});
  if (instr.result_type == type::f16x2 ||
      instr.result_type == type::bf16x2) {  // the first source becomes the upper half
    instr.source_type = s.take_type({type::f32});
    instr.act = instr.result_type == type::f16x2 ? lanewise<pack_pair<float_to_half>>
                                                 : lanewise<pack_pair<float_to_bfloat16>>;
    s.take_result(instr, type::b32);
    s.take_source(instr, type::f32);
    s.take_source(instr, type::f32);
  } else if (instr.result_type == type::f16 || instr.result_type == type::bf16) {
    instr.source_type = s.take_type({type::f32});
    instr.act =
        instr.result_type == type::f16 ? lanewise<float_to_half> : lanewise<float_to_bfloat16>;
    s.take_result(instr, instr.result_type);
    s.take_source(instr, instr.source_type);
  } else if (instr.result_type == type::f32 && s.take("f64")) {
    instr.source_type = type::f64;
    instr.act = flush ? lanewise<narrow_ftz> : lanewise<narrow_to_float>;
    s.take_result(instr, instr.result_type);
    s.take_source(instr, instr.source_type);
    return;
  } else {
    instr.source_type = s.take_type(integers);
    instr.act = with_integer(instr.source_type, [&](auto tag) {
      using From = decltype(tag);
      return instr.result_type == type::f32 ? lanewise<convert<float, From>>
                                            : lanewise<convert<double, From>>;
    });
    s.take_result(instr, instr.result_type);
    s.take_source(instr, instr.source_type, true);
  }
  if (flush) s.fail("unknown modifier .ftz");
}

void decode_resizing(statement& s, instruction& instr) {
  instr.source_type = s.take_type(integers);
  instr.act = with_integer(instr.result_type, [&](auto to) {
    using To = decltype(to);
    return with_integer(instr.source_type, [](auto from) {
      using From = decltype(from);
      return to_integer<resize<To, From>, To>;
    });
  });
  s.take_result(instr, instr.result_type, true);
  s.take_source(instr, instr.source_type, true);
}

// Conversions to a wider floating-point type, which are exact.
void decode_widening(statement& s, instruction& instr, bool flush) {
  instr.source_type = instr.result_type == type::f64 ? s.take_type({type::f32})
                                                     : s.take_type({type::f16, type::bf16});
  instr.act = instr.source_type == type::f16    ? lanewise<half_to_float>
              : instr.source_type == type::bf16 ? lanewise<bfloat16_to_float>
              : flush                           ? lanewise<widen_ftz>
                                                : lanewise<widen_to_double>;
  if (flush && instr.source_type != type::f32) s.fail("unknown modifier .ftz");
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.source_type);
}

void decode_cvt(statement& s, instruction& instr) {
  if (s.take("rni")) return decode_to_integral(s, instr, rounding::nearest);
  if (s.take("rzi")) return decode_to_integral(s, instr, rounding::zero);
  if (s.take("rmi")) return decode_to_integral(s, instr, rounding::down);
  if (s.take("rpi")) return decode_to_integral(s, instr, rounding::up);
  if (s.take("rn")) return decode_rounding(s, instr);
  bool const flush = s.take("ftz");
  instr.result_type = flush ? s.take_type({type::f64})
                            : s.take_type({type::u8, type::u16, type::u32, type::u64, type::s8,
                                           type::s16, type::s32, type::s64, type::f32, type::f64});
  if (is_integer(instr.result_type))
    decode_resizing(s, instr);
  else
    decode_widening(s, instr, flush);
}

}  // namespace

std::vector<opcode_info> conversion() { return {{"cvt", "9.7.9.21", decode_cvt}}; }

}  // namespace ptx
