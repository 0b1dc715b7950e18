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

// A signed result fills a register that is wider than it with its sign.
template <auto f>
struct signed_lanes;
template <class R, class A, R (*f)(A)>
struct signed_lanes<f> {
  static void act(warp& w, instruction const& n, lane_mask active) {
    std::uint64_t* const to = w.result(n.results[0]);
    std::uint64_t const* const from = w.source(n.sources[0]);
    std::uint64_t const kept = ~std::uint64_t{0} >> (64 - 8 * n.results[0].bytes);
    each_lane(active, [&](unsigned l) {
      to[l] = static_cast<std::uint64_t>(std::int64_t{f(narrow<A>(from[l]))}) & kept;
    });
  }
};
template <auto f, class R>
constexpr action to_integer = [] {
  if constexpr (std::is_signed_v<R>)
    return signed_lanes<f>::act;
  else
    return lanewise<f>;
}();

template <class To, class From>
To resized(From a) {
  return static_cast<To>(a);
}

enum class rounding { nearest, zero, down, up };

template <rounding how, class T>
T rounded(T a) {
  if constexpr (how == rounding::nearest)
    return std::nearbyint(a);  // ties to even
  else if constexpr (how == rounding::zero)
    return std::trunc(a);
  else if constexpr (how == rounding::down)
    return std::floor(a);
  else
    return std::ceil(a);
}

// What does not fit becomes the nearest that does.
template <class To, class From, rounding how>
To integer_of(From a) {
  using range = std::numeric_limits<To>;
  From const r = rounded<how>(a);
  if (r != r)
    return sizeof(From) == 8 || sizeof(To) == 8
               ? static_cast<To>(std::make_unsigned_t<To>{1} << (8 * sizeof(To) - 1))
               : To{0};
  if (r < static_cast<From>(range::min())) return range::min();
  if (r >= std::ldexp(From{1}, range::digits)) return range::max();
  return static_cast<To>(r);
}
template <class To, rounding how>
To integer_of_flushed(float a) {
  return integer_of<To, float, how>(flushed(a));
}

template <class To, rounding how>
action integer_action(type from, bool flush) {
  if (from == type::f64) return to_integer<integer_of<To, double, how>, To>;
  if (flush) return to_integer<integer_of_flushed<To, how>, To>;
  return to_integer<integer_of<To, float, how>, To>;
}
template <rounding how>
action integer_action(type to, type from, bool flush) {
  return with_integer(to, [&](auto z) { return integer_action<decltype(z), how>(from, flush); });
}

template <class To, class From>
To float_of(From a) {
  return static_cast<To>(a);
}
double widened(float a) { return canonical(static_cast<double>(a)); }
double widened_flushed(float a) { return widened(flushed(a)); }
float narrowed(double a) { return canonical(static_cast<float>(a)); }
float narrowed_flushed(double a) { return flushed(narrowed(a)); }

template <std::uint16_t (*f)(float)>
std::uint32_t pair_of(float high, float low) {
  return static_cast<std::uint32_t>(f(high)) << 16 | f(low);
}

template <rounding how, class T>
T whole(T a) {
  return canonical(rounded<how>(a));
}
template <rounding how>
action whole_action(type t, bool flush) {
  if (t == type::f64) return lanewise<whole<how, double>>;
  return flush ? lanewise<flushing<whole<how, float>>::of> : lanewise<whole<how, float>>;
}

// `cvt.rzi.s32.f32`, and `cvt.rzi.f32.f32`, which rounds to a whole number.
void decode_to_whole(statement& s, instruction& n, rounding how) {
  bool const flush = s.take("ftz");
  n.t = s.take_type({type::u8, type::u16, type::u32, type::u64, type::s8, type::s16, type::s32,
                     type::s64, type::f32, type::f64});
  n.from = is_integer(n.t) ? s.take_type({type::f32, type::f64}) : s.take_type({n.t});
  if (flush && n.from != type::f32) s.fail("unknown modifier .ftz");
  auto const choose = [&](auto constant) {
    constexpr rounding rule = decltype(constant)::value;
    return is_integer(n.t) ? integer_action<rule>(n.t, n.from, flush)
                           : whole_action<rule>(n.t, flush);
  };
  using std::integral_constant;
  n.act = how == rounding::nearest ? choose(integral_constant<rounding, rounding::nearest>{})
          : how == rounding::zero  ? choose(integral_constant<rounding, rounding::zero>{})
          : how == rounding::down  ? choose(integral_constant<rounding, rounding::down>{})
                                   : choose(integral_constant<rounding, rounding::up>{});
  s.result(n, n.t, is_integer(n.t));
  s.source(n, n.from);
}

// `cvt.rn.f32.f64`: to nearest, ties to even.
void decode_rounded(statement& s, instruction& n) {
  bool const flush = s.take("ftz");
  n.t = s.take_type({type::f16x2, type::bf16x2, type::f16, type::bf16, type::f32, type::f64});
  if (n.t == type::f16x2 || n.t == type::bf16x2) {  // the first source becomes the upper half
    n.from = s.take_type({type::f32});
    n.act =
        n.t == type::f16x2 ? lanewise<pair_of<half_of_float>> : lanewise<pair_of<bfloat_of_float>>;
    s.result(n, type::b32);
    s.source(n, type::f32);
    s.source(n, type::f32);
  } else if (n.t == type::f16 || n.t == type::bf16) {
    n.from = s.take_type({type::f32});
    n.act = n.t == type::f16 ? lanewise<half_of_float> : lanewise<bfloat_of_float>;
    s.result(n, n.t);
    s.source(n, n.from);
  } else if (n.t == type::f32 && s.take("f64")) {
    n.from = type::f64;
    n.act = flush ? lanewise<narrowed_flushed> : lanewise<narrowed>;
    s.result(n, n.t);
    s.source(n, n.from);
    return;
  } else {
    n.from = s.take_type(integers);
    n.act = with_integer(n.from, [&](auto z) {
      using From = decltype(z);
      return n.t == type::f32 ? lanewise<float_of<float, From>> : lanewise<float_of<double, From>>;
    });
    s.result(n, n.t);
    s.source(n, n.from, true);
  }
  if (flush) s.fail("unknown modifier .ftz");
}

void decode_resized(statement& s, instruction& n) {
  n.from = s.take_type(integers);
  n.act = with_integer(n.t, [&](auto to) {
    using To = decltype(to);
    return with_integer(n.from, [](auto from) {
      using From = decltype(from);
      return to_integer<resized<To, From>, To>;
    });
  });
  s.result(n, n.t, true);
  s.source(n, n.from, true);
}

// Every float is a double, every half is a float.
void decode_widened(statement& s, instruction& n, bool flush) {
  n.from = n.t == type::f64 ? s.take_type({type::f32}) : s.take_type({type::f16, type::bf16});
  n.act = n.from == type::f16    ? lanewise<float_of_half>
          : n.from == type::bf16 ? lanewise<float_of_bfloat>
          : flush                ? lanewise<widened_flushed>
                                 : lanewise<widened>;
  if (flush && n.from != type::f32) s.fail("unknown modifier .ftz");
  s.result(n, n.t);
  s.source(n, n.from);
}

void decode_cvt(statement& s, instruction& n) {
  if (s.take("rni")) return decode_to_whole(s, n, rounding::nearest);
  if (s.take("rzi")) return decode_to_whole(s, n, rounding::zero);
  if (s.take("rmi")) return decode_to_whole(s, n, rounding::down);
  if (s.take("rpi")) return decode_to_whole(s, n, rounding::up);
  if (s.take("rn")) return decode_rounded(s, n);
  bool const flush = s.take("ftz");
  n.t = flush ? s.take_type({type::f64})
              : s.take_type({type::u8, type::u16, type::u32, type::u64, type::s8, type::s16,
                             type::s32, type::s64, type::f32, type::f64});
  if (is_integer(n.t))
    decode_resized(s, n);
  else
    decode_widened(s, n, flush);
}

}  // namespace

std::vector<form> conversion() { return {{"cvt", "9.7.9.21", decode_cvt}}; }

}  // namespace ptx
