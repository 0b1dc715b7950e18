// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.8 "Logic and Shift Instructions".
#include "form.hpp"
#include "lanes.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

// Of words, whatever the type: above the type's bits all words are zero.
std::uint64_t conjunction(std::uint64_t a, std::uint64_t b) { return a & b; }
std::uint64_t disjunction(std::uint64_t a, std::uint64_t b) { return a | b; }
std::uint64_t exclusive(std::uint64_t a, std::uint64_t b) { return a ^ b; }

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

// Counts from the width on shift everything out.
template <class T>
T shifted_left(T a, std::uint32_t by) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  return by < width ? static_cast<T>(a << (by % width)) : T{0};
}
template <class T>
T shifted_right(T a, std::uint32_t by) {
  constexpr std::uint32_t width = 8 * sizeof(T);
  return static_cast<T>(a >> (by < width ? by : width - 1) >> (by < width ? 0 : 1));
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

// Bit 4 a + 2 b + c of the table is the result for those bits.
void combine_three(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t const* const a = w.source(n.sources[0]);
  std::uint64_t const* const b = w.source(n.sources[1]);
  std::uint64_t const* const c = w.source(n.sources[2]);
  std::uint64_t* const to = w.result(n.results[0]);
  each_lane(active, [&](unsigned l) {
    std::uint64_t found = 0;
    for (unsigned i = 0; i < 8; ++i)
      if ((n.mode >> i & 1) != 0)
        found |= (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) & (i & 1 ? c[l] : ~c[l]);
    to[l] = static_cast<std::uint32_t>(found);
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

// The upper half of b:a shifted to the left, or the lower half of it shifted to the right.
template <bool left>
std::uint32_t funnel(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
  std::uint64_t const both = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>(left ? both << by >> 32 : both >> by);
}
template <bool left>
std::uint32_t funnel_clamped(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
  return funnel<left>(a, b, by < 32 ? by : 32);
}
template <bool left>
std::uint32_t funnel_wrapped(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
  return funnel<left>(a, b, by % 32);
}
void decode_shf(statement& s, instruction& n) {
  bool const left = s.take_one_of({"l", "r"}) == 0, wrap = s.take_one_of({"clamp", "wrap"}) == 1;
  n.t = s.take_type({type::b32});
  n.act = left ? (wrap ? lanewise<funnel_wrapped<true>> : lanewise<funnel_clamped<true>>)
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
          {"xor", "9.7.8.3", decode_words<exclusive>},
          {"not", "9.7.8.4", decode_not},
          {"lop3", "9.7.8.6", decode_lop3},
          {"shf", "9.7.8.7", decode_shf},
          {"shl", "9.7.8.8", decode_shl},
          {"shr", "9.7.8.9", decode_shr}};
}

}  // namespace ptx
