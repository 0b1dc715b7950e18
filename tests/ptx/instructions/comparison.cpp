// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.6 "Comparison and Selection Instructions".
#include "floating_point.hpp"
#include "form.hpp"
#include "lanes.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

// Ordered comparisons are false if either operand is a NaN.
template <class T>
struct eq {
  static bool apply(T a, T b) { return a == b; }
};
template <class T>
struct ne {
  static bool apply(T a, T b) { return a != b && a == a && b == b; }
};
template <class T>
struct lt {
  static bool apply(T a, T b) { return a < b; }
};
template <class T>
struct le {
  static bool apply(T a, T b) { return a <= b; }
};
template <class T>
struct gt {
  static bool apply(T a, T b) { return a > b; }
};
template <class T>
struct ge {
  static bool apply(T a, T b) { return a >= b; }
};
// Unordered comparisons are true for a NaN: each negates an ordered comparison.
template <template <class> class Ordered>
struct unordered {
  template <class T>
  struct comparison {
    static bool apply(T a, T b) { return !Ordered<T>::apply(a, b); }
  };
};
template <class T>
struct num {
  static bool apply(T a, T b) { return a == a && b == b; }
};

// setp.CmpOp.BoolOp p|q, a, b, c: p = compare(a, b) BoolOp c, q = !compare(a, b) BoolOp c. The mode
// is the truth table of BoolOp for (compare, c) = (0, 0), (0, 1), (1, 0), (1, 1), from the lowest
// bit. Without BoolOp, operand c is absent.
template <auto compare>
struct combined_comparison;
template <class T, bool (*compare)(T, T)>
struct combined_comparison<compare> {
  static void act(warp& w, instruction const& instr, lane_mask active) {
    std::uint64_t const* const a = w.source(instr.sources[0]);
    std::uint64_t const* const b = w.source(instr.sources[1]);
    std::uint64_t const* const c = instr.source_count > 2 ? w.source(instr.sources[2]) : nullptr;
    std::uint64_t* const p = w.result(instr.results[0]);
    std::uint64_t* const q = instr.result_count > 1 ? w.result(instr.results[1]) : nullptr;
    unsigned const table = instr.mode;
    for_each_lane(active, [&](unsigned lane) {
      unsigned const is_true = compare(narrow<T>(a[lane]), narrow<T>(b[lane]));
      auto const c_bit = c != nullptr ? static_cast<unsigned>(c[lane]) : 0;
      p[lane] = (table >> (2 * is_true + c_bit)) & 1;
      if (q != nullptr) q[lane] = (table >> (2 * (1 - is_true) + c_bit)) & 1;
    });
  }
};

constexpr std::uint8_t and_table = 0b1000, or_table = 0b1110, xor_table = 0b0110,
                       compare_only_table = 0b1100;
// The table with !c in place of c.
constexpr std::uint8_t negate_c(std::uint8_t table) {
  return static_cast<std::uint8_t>((table & 0b0101) << 1 | (table & 0b1010) >> 1);
}

struct comparison_actions {
  action plain, combined;
};

template <template <class> class Compare, bool has_integers>
comparison_actions actions_of(type t, bool flush) {
  if (t == type::f32 && flush) {
    constexpr auto f = with_flush<Compare<float>::apply>::apply;
    return {lanewise<f>, combined_comparison<f>::act};
  }
  if (t == type::f32)
    return {lanewise<Compare<float>::apply>, combined_comparison<Compare<float>::apply>::act};
  if (t == type::f64)
    return {lanewise<Compare<double>::apply>, combined_comparison<Compare<double>::apply>::act};
  comparison_actions found{nullptr, nullptr};
  if constexpr (has_integers)
    with_integer(t, [&](auto tag) -> action {
      using T = decltype(tag);
      found = {lanewise<Compare<T>::apply>, combined_comparison<Compare<T>::apply>::act};
      return nullptr;
    });
  return found;
}

using select_function = comparison_actions (*)(type, bool);
struct named_comparison {
  std::string_view name;
  select_function select_actions;
  enum { bits, integers, unsigned_integers, floats } operands;  // supported types
};

constexpr named_comparison comparisons[] = {
    {"eq", actions_of<eq, true>, named_comparison::bits},
    {"ne", actions_of<ne, true>, named_comparison::bits},
    {"lt", actions_of<lt, true>, named_comparison::integers},
    {"le", actions_of<le, true>, named_comparison::integers},
    {"gt", actions_of<gt, true>, named_comparison::integers},
    {"ge", actions_of<ge, true>, named_comparison::integers},
    {"lo", actions_of<lt, true>, named_comparison::unsigned_integers},
    {"ls", actions_of<le, true>, named_comparison::unsigned_integers},
    {"hi", actions_of<gt, true>, named_comparison::unsigned_integers},
    {"hs", actions_of<ge, true>, named_comparison::unsigned_integers},
    {"equ", actions_of<unordered<ne>::comparison, false>, named_comparison::floats},
    {"neu", actions_of<unordered<eq>::comparison, false>, named_comparison::floats},
    {"ltu", actions_of<unordered<ge>::comparison, false>, named_comparison::floats},
    {"leu", actions_of<unordered<gt>::comparison, false>, named_comparison::floats},
    {"gtu", actions_of<unordered<le>::comparison, false>, named_comparison::floats},
    {"geu", actions_of<unordered<lt>::comparison, false>, named_comparison::floats},
    {"num", actions_of<num, false>, named_comparison::floats},
    {"nan", actions_of<unordered<num>::comparison, false>, named_comparison::floats},
};

named_comparison const& take_comparison(statement& s) {
  for (named_comparison const& c : comparisons)
    if (s.take(c.name)) return c;
  s.fail("unknown comparison");
}

type take_compared_type(statement& s, named_comparison const& c, bool flush) {
  if (flush) return s.take_type({type::f32});
  if (c.operands == named_comparison::floats) return s.take_type({type::f32, type::f64});
  if (c.operands == named_comparison::unsigned_integers)
    return s.take_type({type::u16, type::u32, type::u64});
  if (c.operands == named_comparison::integers)
    return s.take_type(
        {type::u16, type::u32, type::u64, type::s16, type::s32, type::s64, type::f32, type::f64});
  return s.take_type({type::b16, type::b32, type::b64, type::u16, type::u32, type::u64, type::s16,
                      type::s32, type::s64, type::f32, type::f64});
}

void decode_setp(statement& s, instruction& instr) {
  named_comparison const& c = take_comparison(s);
  bool const is_and = s.take("and"), is_or = !is_and && s.take("or");
  bool const has_c = is_and || is_or || s.take("xor");
  bool const flush = s.take("ftz");
  instr.source_type = take_compared_type(s, c, flush);
  instr.result_type = type::pred;
  s.take_result(instr, type::pred);
  bool const has_second_result = s.take_bar();
  if (has_second_result) s.take_result(instr, type::pred);
  s.take_source(instr, instr.source_type);
  s.take_source(instr, instr.source_type);
  comparison_actions const actions = c.select_actions(instr.source_type, flush);
  instr.act = has_c || has_second_result ? actions.combined : actions.plain;
  instr.mode = is_and ? and_table : is_or ? or_table : has_c ? xor_table : compare_only_table;
  if (has_c) {
    if (s.take_not()) instr.mode = negate_c(instr.mode);
    s.take_source(instr, type::pred);
  }
}

std::uint64_t select(std::uint64_t a, std::uint64_t b, bool c) { return c ? a : b; }

void decode_selp(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::b16, type::b32, type::b64, type::u16, type::u32, type::u64,
                                   type::s16, type::s32, type::s64, type::f32, type::f64});
  instr.act = lanewise<select>;
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, type::pred);
}

}  // namespace

std::vector<opcode_info> comparison() {
  return {{"setp", "9.7.6.2", decode_setp}, {"selp", "9.7.6.3", decode_selp}};
}

}  // namespace ptx
