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
struct absolute_value {
  static T apply(T a) { return a < 0 ? difference<T>::apply(0, a) : a; }
};
template <class T>
struct negate {
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
struct reverse_bits {
  static T apply(T a) {
    T r = 0;
    for (int i = 0; i < std::numeric_limits<T>::digits; ++i)
      r = static_cast<T>(r << 1 | ((a >> i) & 1));
    return r;
  }
};
template <class T>
struct extract_field {
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
struct insert_field {
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
std::uint32_t bit_mask(std::uint32_t position, std::uint32_t length) {
  if (!clamp) {
    position %= 32;
    length %= 32;
  }
  std::uint64_t const low = length < 32 ? (std::uint64_t{1} << length) - 1 : 0xffffffffu;
  return position < 32 ? static_cast<std::uint32_t>(low << position) : 0;
}

// Decodes `opcode.type d, a, ..;`: all operands have the same type.
template <template <class> class Operation>
void decode_same_type(statement& s, instruction& instr, std::initializer_list<type> types) {
  instr.result_type = s.take_type(types);
  instr.act = with_integer(instr.result_type,
                           [](auto tag) { return lanewise<Operation<decltype(tag)>::apply>; });
  s.take_result(instr, instr.result_type);
  for (std::size_t i = 0; i < lanewise_of<Operation<std::int32_t>::apply>::source_count; ++i)
    s.take_source(instr, instr.result_type);
}

type double_width_type(type t) {
  return t == type::u16   ? type::u32
         : t == type::s16 ? type::s32
         : t == type::u32 ? type::u64
                          : type::s64;
}

// Decodes mul and mad, which has a third source.
template <template <class> class Low, template <class> class High, template <class> class Wide>
void decode_product(statement& s, instruction& instr, bool has_c) {
  enum product_part : std::size_t { low, high, wide };
  std::size_t const part = s.take_one_of({"lo", "hi", "wide"});
  type const t = part != wide ? s.take_type(all_integers)
                              : s.take_type({type::u16, type::u32, type::s16, type::s32});
  instr.source_type = t;
  instr.result_type = part != wide ? t : double_width_type(t);
  instr.act = with_integer(t, [&](auto tag) -> action {
    using T = decltype(tag);
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4)
      if (part == wide) return lanewise<Wide<T>::apply>;
    return part == low ? lanewise<Low<T>::apply> : lanewise<High<T>::apply>;
  });
  s.take_result(instr, instr.result_type);
  s.take_source(instr, t);
  s.take_source(instr, t);
  if (has_c) s.take_source(instr, instr.result_type);
}
void decode_mul(statement& s, instruction& instr) {
  decode_product<low_product, high_product, wide_product>(s, instr, false);
}
void decode_mad(statement& s, instruction& instr) {
  decode_product<plus_c<low_product>::mad, plus_c<high_product>::mad, plus_c<wide_product>::mad>(
      s, instr, true);
}

// The result of a division by zero is unspecified.
template <auto f>
struct checked_division;
template <class T, T (*f)(T, T)>
struct checked_division<f> {
  static void act(warp& w, instruction const& instr, lane_mask active) {
    std::uint64_t* const result_lanes = w.result(instr.results[0]);
    std::uint64_t const* const a = w.source(instr.sources[0]);
    std::uint64_t const* const b = w.source(instr.sources[1]);
    for_each_lane(active, [&](unsigned lane) {
      if (b[lane] == 0) w.fail("division by zero in lane " + std::to_string(lane));
      result_lanes[lane] = widen(f(narrow<T>(a[lane]), narrow<T>(b[lane])));
    });
  }
};
template <template <class> class Operation>
void decode_division(statement& s, instruction& instr) {
  decode_same_type<Operation>(s, instr, all_integers);
  instr.act = with_integer(instr.result_type, [](auto tag) -> action {
    return checked_division<Operation<decltype(tag)>::apply>::act;
  });
}

// Decodes `opcode.b32 d, a;`: d is a count.
template <template <class> class Count>
void decode_count(statement& s, instruction& instr) {
  instr.source_type = s.take_type({type::b32, type::b64});
  instr.result_type = type::u32;
  instr.act = instr.source_type == type::b32 ? lanewise<Count<std::uint32_t>::apply>
                                             : lanewise<Count<std::uint64_t>::apply>;
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.source_type);
}

void decode_bfe(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::u32, type::u64, type::s32, type::s64});
  instr.act = with_integer(instr.result_type,
                           [](auto tag) { return lanewise<extract_field<decltype(tag)>::apply>; });
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, type::u32);
  s.take_source(instr, type::u32);
}

void decode_bfi(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::b32, type::b64});
  instr.act = instr.result_type == type::b32 ? lanewise<insert_field<std::uint32_t>::apply>
                                             : lanewise<insert_field<std::uint64_t>::apply>;
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, type::u32);
  s.take_source(instr, type::u32);
}

void decode_bmsk(statement& s, instruction& instr) {
  instr.act =
      s.take_one_of({"clamp", "wrap"}) == 0 ? lanewise<bit_mask<true>> : lanewise<bit_mask<false>>;
  instr.result_type = s.take_type({type::b32});
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
}

}  // namespace

std::vector<opcode_info> integer_arithmetic() {
  using S = statement;
  using I = instruction;
  constexpr type_class integer = type_class::integer;
  return {
      {"add", "9.7.1.1", [](S& s, I& instr) { decode_same_type<sum>(s, instr, all_integers); },
       integer},
      {"sub", "9.7.1.2",
       [](S& s, I& instr) { decode_same_type<difference>(s, instr, all_integers); }, integer},
      {"mul", "9.7.1.3", decode_mul, integer},
      {"mad", "9.7.1.4", decode_mad, integer},
      {"div", "9.7.1.8", decode_division<quotient>, integer},
      {"rem", "9.7.1.9", decode_division<remainder>},
      {"abs", "9.7.1.10",
       [](S& s, I& instr) { decode_same_type<absolute_value>(s, instr, signed_integers); },
       integer},
      {"neg", "9.7.1.11",
       [](S& s, I& instr) { decode_same_type<negate>(s, instr, signed_integers); }, integer},
      {"min", "9.7.1.12", [](S& s, I& instr) { decode_same_type<minimum>(s, instr, all_integers); },
       integer},
      {"max", "9.7.1.13", [](S& s, I& instr) { decode_same_type<maximum>(s, instr, all_integers); },
       integer},
      {"popc", "9.7.1.14", decode_count<population_count>},
      {"clz", "9.7.1.15", decode_count<leading_zeros>},
      {"brev", "9.7.1.18",
       [](S& s, I& instr) {
         decode_same_type<reverse_bits>(s, instr, {type::b32, type::b64});
       }},
      {"bfe", "9.7.1.19", decode_bfe},
      {"bfi", "9.7.1.20", decode_bfi},
      {"bmsk", "9.7.1.22", decode_bmsk},
  };
}

}  // namespace ptx
