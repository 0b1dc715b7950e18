// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.8 "Logic and Shift Instructions".
#include "form.hpp"
#include "lanes.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

// Operate on whole words, since the bits above an operand's type are zero.
std::uint64_t bitwise_and(std::uint64_t a, std::uint64_t b) { return a & b; }
std::uint64_t bitwise_or(std::uint64_t a, std::uint64_t b) { return a | b; }
std::uint64_t bitwise_xor(std::uint64_t a, std::uint64_t b) { return a ^ b; }

template <auto f>
void decode_bitwise(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::pred, type::b16, type::b32, type::b64});
  instr.act = lanewise<f>;
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
}

template <class T>
T bitwise_not(T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
void decode_not(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::pred, type::b16, type::b32, type::b64});
  instr.act = instr.result_type == type::pred ? lanewise<bitwise_not<bool>>
                                              : with_integer(instr.result_type, [](auto tag) {
                                                  return lanewise<bitwise_not<decltype(tag)>>;
                                                });
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
}

// A count of at least the width shifts out all bits.
template <class T>
T shift_left(T a, std::uint32_t count) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  return count < width ? static_cast<T>(a << (count % width)) : T{0};
}
template <class T>
T shift_right(T a, std::uint32_t count) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  return static_cast<T>(a >> (count < width ? count : width - 1) >> (count < width ? 0 : 1));
}

void take_shift_operands(statement& s, instruction& instr) {
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, type::u32);
}
void decode_shl(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::b16, type::b32, type::b64});
  instr.act =
      with_integer(instr.result_type, [](auto tag) { return lanewise<shift_left<decltype(tag)>>; });
  take_shift_operands(s, instr);
}
void decode_shr(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::b16, type::b32, type::b64, type::u16, type::u32, type::u64,
                                   type::s16, type::s32, type::s64});
  instr.act = with_integer(instr.result_type,
                           [](auto tag) { return lanewise<shift_right<decltype(tag)>>; });
  take_shift_operands(s, instr);
}

// lop3: bit 4 a + 2 b + c of the table is the result for bits a, b and c.
void apply_lop3(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t const* const a = w.source(instr.sources[0]);
  std::uint64_t const* const b = w.source(instr.sources[1]);
  std::uint64_t const* const c = w.source(instr.sources[2]);
  std::uint64_t* const result_lanes = w.result(instr.results[0]);
  for_each_lane(active, [&](unsigned lane) {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < 8; ++i)
      if ((instr.mode >> i & 1) != 0)
        result |= (i & 4 ? a[lane] : ~a[lane]) & (i & 2 ? b[lane] : ~b[lane]) &
                  (i & 1 ? c[lane] : ~c[lane]);
    result_lanes[lane] = static_cast<std::uint32_t>(result);
  });
}
void decode_lop3(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::b32});
  instr.act = apply_lop3;
  s.take_result(instr, instr.result_type);
  for (int i = 0; i < 3; ++i) s.take_source(instr, instr.result_type);
  std::int64_t const table = s.take_integer();
  if (table < 0 || table > 255) s.fail("a table of more than 8 bits");
  instr.mode = static_cast<std::uint8_t>(table);
}

// shf: the upper half of b:a shifted left, or its lower half shifted right.
template <bool to_left>
std::uint32_t funnel_shift(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
  std::uint64_t const concatenated = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>(to_left ? concatenated << count >> 32 : concatenated >> count);
}
template <bool to_left>
std::uint32_t funnel_shift_clamp(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
  return funnel_shift<to_left>(a, b, count < 32 ? count : 32);
}
template <bool to_left>
std::uint32_t funnel_shift_wrap(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
  return funnel_shift<to_left>(a, b, count % 32);
}
void decode_shf(statement& s, instruction& instr) {
  bool const to_left = s.take_one_of({"l", "r"}) == 0,
             wraps = s.take_one_of({"clamp", "wrap"}) == 1;
  instr.result_type = s.take_type({type::b32});
  instr.act =
      to_left ? (wraps ? lanewise<funnel_shift_wrap<true>> : lanewise<funnel_shift_clamp<true>>)
              : (wraps ? lanewise<funnel_shift_wrap<false>> : lanewise<funnel_shift_clamp<false>>);
  s.take_result(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, instr.result_type);
  s.take_source(instr, type::u32);
}

}  // namespace

std::vector<opcode_info> logic_and_shift() {
  return {{"and", "9.7.8.1", decode_bitwise<bitwise_and>},
          {"or", "9.7.8.2", decode_bitwise<bitwise_or>},
          {"xor", "9.7.8.3", decode_bitwise<bitwise_xor>},
          {"not", "9.7.8.4", decode_not},
          {"lop3", "9.7.8.6", decode_lop3},
          {"shf", "9.7.8.7", decode_shf},
          {"shl", "9.7.8.8", decode_shl},
          {"shr", "9.7.8.9", decode_shr}};
}

}  // namespace ptx
