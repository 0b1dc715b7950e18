// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.8 "Logic and Shift Instructions".
#include "form.hpp"
#include "lanes.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

// These work on whole words, since the bits above an operand's type are zero.
std::uint64_t conjunction(std::uint64_t a, std::uint64_t b) { return a & b; }
std::uint64_t disjunction(std::uint64_t a, std::uint64_t b) { return a | b; }
std::uint64_t exclusive_or(std::uint64_t a, std::uint64_t b) { return a ^ b; }

template <auto f>
void decode_words(statement& s, instruction& n) {
  n.t = s.take_type({type::pred, type::b16, type::b32, type::b64});
  n.act = lanewise<f>;
  s.result(n, n.t);
  s.source(n, n.t);
  s.source(n, n.t);
}

template <class T>
T complement(T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
void decode_not(statement& s, instruction& n) {
  n.t = s.take_type({type::pred, type::b16, type::b32, type::b64});
  n.act = n.t == type::pred
              ? lanewise<complement<bool>>
              : with_integer(n.t, [](auto z) { return lanewise<complement<decltype(z)>>; });
  s.result(n, n.t);
  s.source(n, n.t);
}

// A count of at least the width shifts out all bits.
template <class T>
T shifted_left(T a, std::uint32_t count) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  return count < width ? static_cast<T>(a << (count % width)) : T{0};
}
template <class T>
T shifted_right(T a, std::uint32_t count) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  return static_cast<T>(a >> (count < width ? count : width - 1) >> (count < width ? 0 : 1));
}

void shift_operands(statement& s, instruction& n) {
  s.result(n, n.t);
  s.source(n, n.t);
  s.source(n, type::u32);
}
void decode_shl(statement& s, instruction& n) {
  n.t = s.take_type({type::b16, type::b32, type::b64});
  n.act = with_integer(n.t, [](auto z) { return lanewise<shifted_left<decltype(z)>>; });
  shift_operands(s, n);
}
void decode_shr(statement& s, instruction& n) {
  n.t = s.take_type({type::b16, type::b32, type::b64, type::u16, type::u32, type::u64, type::s16,
                     type::s32, type::s64});
  n.act = with_integer(n.t, [](auto z) { return lanewise<shifted_right<decltype(z)>>; });
  shift_operands(s, n);
}

// lop3: bit 4 a + 2 b + c of the table is the result for bits a, b and c.
void combine_three(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t const* const a = w.source(n.sources[0]);
  std::uint64_t const* const b = w.source(n.sources[1]);
  std::uint64_t const* const c = w.source(n.sources[2]);
  std::uint64_t* const result_lanes = w.result(n.results[0]);
  for_each_lane(active, [&](unsigned l) {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < 8; ++i)
      if ((n.mode >> i & 1) != 0)
        result |= (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) & (i & 1 ? c[l] : ~c[l]);
    result_lanes[l] = static_cast<std::uint32_t>(result);
  });
}
void decode_lop3(statement& s, instruction& n) {
  n.t = s.take_type({type::b32});
  n.act = combine_three;
  s.result(n, n.t);
  for (int i = 0; i < 3; ++i) s.source(n, n.t);
  std::int64_t const table = s.integer();
  if (table < 0 || table > 255) s.fail("a table of more than 8 bits");
  n.mode = static_cast<std::uint8_t>(table);
}

// shf: the upper half of b:a shifted left, or its lower half shifted right.
template <bool to_left>
std::uint32_t funnel(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
  std::uint64_t const concatenated = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>(to_left ? concatenated << count >> 32 : concatenated >> count);
}
template <bool to_left>
std::uint32_t funnel_clamped(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
  return funnel<to_left>(a, b, count < 32 ? count : 32);
}
template <bool to_left>
std::uint32_t funnel_wrapped(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
  return funnel<to_left>(a, b, count % 32);
}
void decode_shf(statement& s, instruction& n) {
  bool const to_left = s.take_one_of({"l", "r"}) == 0, wrap = s.take_one_of({"clamp", "wrap"}) == 1;
  n.t = s.take_type({type::b32});
  n.act = to_left ? (wrap ? lanewise<funnel_wrapped<true>> : lanewise<funnel_clamped<true>>)
                  : (wrap ? lanewise<funnel_wrapped<false>> : lanewise<funnel_clamped<false>>);
  s.result(n, n.t);
  s.source(n, n.t);
  s.source(n, n.t);
  s.source(n, type::u32);
}

}  // namespace

std::vector<form> logic_and_shift() {
  return {{"and", "9.7.8.1", decode_words<conjunction>},
          {"or", "9.7.8.2", decode_words<disjunction>},
          {"xor", "9.7.8.3", decode_words<exclusive_or>},
          {"not", "9.7.8.4", decode_not},
          {"lop3", "9.7.8.6", decode_lop3},
          {"shf", "9.7.8.7", decode_shf},
          {"shl", "9.7.8.8", decode_shl},
          {"shr", "9.7.8.9", decode_shr}};
}

}  // namespace ptx
