// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.1 "Integer Arithmetic Instructions".
#include "form.hpp"
#include "lanes.hpp"
#include "statement.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace ptx {

namespace {

constexpr std::initializer_list<type> all_integers = {type::u16, type::u32, type::u64,
                                                      type::s16, type::s32, type::s64};
constexpr std::initializer_list<type> signed_integers = {type::s16, type::s32, type::s64};

// Unsigned type in which sums and products of T wrap around. Avoids the promotion to int.
template <class T>
using modular = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

template <class T>
constexpr auto double_width_type() {
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 2)
    return std::conditional_t<is_signed, std::int32_t, std::uint32_t>{};
  else if constexpr (sizeof(T) == 4)
    return std::conditional_t<is_signed, std::int64_t, std::uint64_t>{};
  else
    return std::conditional_t<is_signed, int128, uint128>{};
}
template <class T>
using double_width = decltype(double_width_type<T>());

template <class T>
struct sum {
  static T apply(T a, T b) { return static_cast<T>(modular<T>(a) + modular<T>(b)); }
};
template <class T>
struct difference {
  static T apply(T a, T b) { return static_cast<T>(modular<T>(a) - modular<T>(b)); }
};
template <class T>
struct low_product {
  static T apply(T a, T b) { return static_cast<T>(modular<T>(a) * modular<T>(b)); }
};
template <class T>
struct high_product {
  static T apply(T a, T b) {
    return static_cast<T>(double_width<T>(a) * double_width<T>(b) >>
                          std::numeric_limits<std::make_unsigned_t<T>>::digits);
  }
};
template <class T>
struct wide_product {
  static double_width<T> apply(T a, T b) { return double_width<T>(a) * double_width<T>(b); }
};
// mad: the product of the same name, plus c.
template <template <class> class Product>
struct plus_c {
  template <class T>
  struct mad {
    using result = decltype(Product<T>::apply(T{}, T{}));
    static result apply(T a, T b, result c) {
      return sum<result>::apply(Product<T>::apply(a, b), c);
    }
  };
};
template <class T>
struct quotient {
  static T apply(T a, T b) {
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return difference<T>::apply(0, a);
    return static_cast<T>(a / b);
  }
};
template <class T>
struct remainder {
  static T apply(T a, T b) {
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
template <class T>
struct absolute {
  static T apply(T a) { return a < 0 ? difference<T>::apply(0, a) : a; }
};
template <class T>
struct negative {
  static T apply(T a) { return difference<T>::apply(0, a); }
};
template <class T>
struct minimum {
  static T apply(T a, T b) { return std::min(a, b); }
};
template <class T>
struct maximum {
  static T apply(T a, T b) { return std::max(a, b); }
};
template <class T>
struct population_count {
  static std::uint32_t apply(T a) { return static_cast<std::uint32_t>(__builtin_popcountll(a)); }
};
template <class T>
struct leading_zeros {
  static std::uint32_t apply(T a) {
    constexpr int width = std::numeric_limits<T>::digits;
    return static_cast<std::uint32_t>(a == 0 ? width : __builtin_clzll(a) - (64 - width));
  }
};
template <class T>
struct bit_reversed {
  static T apply(T a) {
    T r = 0;
    for (int i = 0; i < std::numeric_limits<T>::digits; ++i)
      r = static_cast<T>(r << 1 | ((a >> i) & 1));
    return r;
  }
};
template <class T>
struct extracted_field {
  static T apply(T a, std::uint32_t position, std::uint32_t length) {
    constexpr std::uint32_t width = 8 * sizeof(T);
    position &= 0xff;
    length &= 0xff;
    if (length == 0) return 0;
    // Beyond its last bit, a is sign-extended.
    T const field =
        position < width ? static_cast<T>(a >> position) : static_cast<T>(a < 0 ? -1 : 0);
    if (length >= width) return field;
    std::uint32_t const spare = width - length;
    return static_cast<T>(static_cast<T>(modular<T>(field) << spare) >> spare);
  }
};
template <class T>
struct inserted_field {
  static T apply(T a, T b, std::uint32_t position, std::uint32_t length) {
    constexpr std::uint32_t width = 8 * sizeof(T);
    position &= 0xff;
    length &= 0xff;
    if (position >= width) return b;
    T const low = length >= width ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
    T const field = static_cast<T>(low << position);
    return static_cast<T>((b & ~field) | (static_cast<T>(a << position) & field));
  }
};

// `length` ones from `position` upwards.
template <bool clamp>
std::uint32_t mask(std::uint32_t position, std::uint32_t length) {
  if (!clamp) {
    position %= 32;
    length %= 32;
  }
  std::uint64_t const low = length < 32 ? (std::uint64_t{1} << length) - 1 : 0xffffffffu;
  return position < 32 ? static_cast<std::uint32_t>(low << position) : 0;
}

// Decodes `opcode.type d, a, ..;`: all operands have the same type.
template <template <class> class Operation>
void decode_same_type(statement& s, instruction& n, std::initializer_list<type> types) {
  n.t = s.take_type(types);
  n.act = with_integer(n.t, [](auto z) { return lanewise<Operation<decltype(z)>::apply>; });
  s.result(n, n.t);
  for (std::size_t i = 0; i < lanewise_of<Operation<std::int32_t>::apply>::sources; ++i)
    s.source(n, n.t);
}

type double_width_type(type t) {
  return t == type::u16   ? type::u32
         : t == type::s16 ? type::s32
         : t == type::u32 ? type::u64
                          : type::s64;
}

// Decodes mul and mad, which has a third source.
template <template <class> class Low, template <class> class High, template <class> class Wide>
void decode_product(statement& s, instruction& n, bool has_c) {
  std::size_t const half = s.take_one_of({"lo", "hi", "wide"});
  type const t = half < 2 ? s.take_type(all_integers)
                          : s.take_type({type::u16, type::u32, type::s16, type::s32});
  n.source_type = t;
  n.t = half < 2 ? t : double_width_type(t);
  n.act = with_integer(t, [&](auto z) -> action {
    using T = decltype(z);
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4)
      if (half == 2) return lanewise<Wide<T>::apply>;
    return half == 0 ? lanewise<Low<T>::apply> : lanewise<High<T>::apply>;
  });
  s.result(n, n.t);
  s.source(n, t);
  s.source(n, t);
  if (has_c) s.source(n, n.t);
}
void decode_mul(statement& s, instruction& n) {
  decode_product<low_product, high_product, wide_product>(s, n, false);
}
void decode_mad(statement& s, instruction& n) {
  decode_product<plus_c<low_product>::mad, plus_c<high_product>::mad, plus_c<wide_product>::mad>(
      s, n, true);
}

// The result of a division by zero is unspecified.
template <auto f>
struct dividing;
template <class T, T (*f)(T, T)>
struct dividing<f> {
  static void act(warp& w, instruction const& n, lane_mask active) {
    std::uint64_t* const result_lanes = w.result(n.results[0]);
    std::uint64_t const* const a = w.source(n.sources[0]);
    std::uint64_t const* const b = w.source(n.sources[1]);
    for_each_lane(active, [&](unsigned l) {
      if (b[l] == 0) w.fail("division by zero in lane " + std::to_string(l));
      result_lanes[l] = widen(f(narrow<T>(a[l]), narrow<T>(b[l])));
    });
  }
};
template <template <class> class Operation>
void decode_division(statement& s, instruction& n) {
  decode_same_type<Operation>(s, n, all_integers);
  n.act = with_integer(
      n.t, [](auto z) -> action { return dividing<Operation<decltype(z)>::apply>::act; });
}

// Decodes `opcode.b32 d, a;`: d is a count.
template <template <class> class Count>
void decode_count(statement& s, instruction& n) {
  n.source_type = s.take_type({type::b32, type::b64});
  n.t = type::u32;
  n.act = n.source_type == type::b32 ? lanewise<Count<std::uint32_t>::apply>
                                     : lanewise<Count<std::uint64_t>::apply>;
  s.result(n, n.t);
  s.source(n, n.source_type);
}

void decode_bfe(statement& s, instruction& n) {
  n.t = s.take_type({type::u32, type::u64, type::s32, type::s64});
  n.act = with_integer(n.t, [](auto z) { return lanewise<extracted_field<decltype(z)>::apply>; });
  s.result(n, n.t);
  s.source(n, n.t);
  s.source(n, type::u32);
  s.source(n, type::u32);
}

void decode_bfi(statement& s, instruction& n) {
  n.t = s.take_type({type::b32, type::b64});
  n.act = n.t == type::b32 ? lanewise<inserted_field<std::uint32_t>::apply>
                           : lanewise<inserted_field<std::uint64_t>::apply>;
  s.result(n, n.t);
  s.source(n, n.t);
  s.source(n, n.t);
  s.source(n, type::u32);
  s.source(n, type::u32);
}

void decode_bmsk(statement& s, instruction& n) {
  n.act = s.take_one_of({"clamp", "wrap"}) == 0 ? lanewise<mask<true>> : lanewise<mask<false>>;
  n.t = s.take_type({type::b32});
  s.result(n, n.t);
  s.source(n, n.t);
  s.source(n, n.t);
}

}  // namespace

std::vector<form> integer_arithmetic() {
  using S = statement;
  using I = instruction;
  constexpr number_kind integer = number_kind::integer;
  return {
      {"add", "9.7.1.1", [](S& s, I& n) { decode_same_type<sum>(s, n, all_integers); }, integer},
      {"sub", "9.7.1.2", [](S& s, I& n) { decode_same_type<difference>(s, n, all_integers); },
       integer},
      {"mul", "9.7.1.3", decode_mul, integer},
      {"mad", "9.7.1.4", decode_mad, integer},
      {"div", "9.7.1.8", decode_division<quotient>, integer},
      {"rem", "9.7.1.9", decode_division<remainder>},
      {"abs", "9.7.1.10", [](S& s, I& n) { decode_same_type<absolute>(s, n, signed_integers); },
       integer},
      {"neg", "9.7.1.11", [](S& s, I& n) { decode_same_type<negative>(s, n, signed_integers); },
       integer},
      {"min", "9.7.1.12", [](S& s, I& n) { decode_same_type<minimum>(s, n, all_integers); },
       integer},
      {"max", "9.7.1.13", [](S& s, I& n) { decode_same_type<maximum>(s, n, all_integers); },
       integer},
      {"popc", "9.7.1.14", decode_count<population_count>},
      {"clz", "9.7.1.15", decode_count<leading_zeros>},
      {"brev", "9.7.1.18",
       [](S& s, I& n) {
         decode_same_type<bit_reversed>(s, n, {type::b32, type::b64});
       }},
      {"bfe", "9.7.1.19", decode_bfe},
      {"bfi", "9.7.1.20", decode_bfi},
      {"bmsk", "9.7.1.22", decode_bmsk},
  };
}

}  // namespace ptx
