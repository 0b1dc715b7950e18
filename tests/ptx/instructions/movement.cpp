// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.9 "Data Movement and Conversion Instructions": moves between registers.
#include "form.hpp"
#include "lanes.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

std::uint64_t copy(std::uint64_t a) { return a; }

// The first element is the lowest.
template <int elements, int bits>
void pack(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t* const to = w.result(n.results[0]);
  for_each_lane(active, [&](unsigned l) {
    std::uint64_t packed = 0;
    for (int i = 0; i < elements; ++i) packed |= w.source(n.sources[i])[l] << (bits * i);
    to[l] = packed;
  });
}
template <int elements, int bits>
void unpack(warp& w, instruction const& n, lane_mask active) {
  std::uint64_t const* const from = w.source(n.sources[0]);
  for (int i = 0; i < elements; ++i) {
    std::uint64_t* const to = w.result(n.results[i]);
    for_each_lane(active,
                  [&](unsigned l) { to[l] = from[l] << (64 - bits * (i + 1)) >> (64 - bits); });
  }
}

void decode_vector(statement& s, instruction& n, std::size_t elements, bool packs) {
  std::size_t const bits = 8 * bytes_of(n.t) / elements;
  type const element = bits == 32 ? type::b32 : type::b16;
  if (elements == 2 && bits == 16)
    n.act = packs ? pack<2, 16> : unpack<2, 16>;
  else if (elements == 2 && bits == 32)
    n.act = packs ? pack<2, 32> : unpack<2, 32>;
  else if (elements == 4 && bits == 16)
    n.act = packs ? pack<4, 16> : unpack<4, 16>;
  else
    s.fail("unsupported number of elements");
  if (packs)
    s.sources(n, element, elements);
  else
    s.source(n, n.t);
}

void decode_mov(statement& s, instruction& n) {
  n.t = s.take_type({type::pred, type::b16, type::b32, type::b64, type::u16, type::u32, type::u64,
                     type::s16, type::s32, type::s64, type::f32, type::f64});
  std::size_t const results = s.vector_size();
  if (results > 1) {
    s.results(n, results * 4 == bytes_of(n.t) ? type::b32 : type::b16, results);
    return decode_vector(s, n, results, false);
  }
  s.result(n, n.t);
  std::size_t const sources = s.vector_size();
  if (sources > 1) return decode_vector(s, n, sources, true);
  s.source(n, n.t);
  n.act = lanewise<copy>;
}

// prmt: selects four of the eight bytes of b:a by three bits each; a fourth bit selects the byte's
// sign instead.
std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selection) {
  std::uint64_t const bytes = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    std::uint32_t const selector = selection >> (4 * i) & 15;
    auto const byte = static_cast<std::uint32_t>(bytes >> (8 * (selector & 7)) & 0xff);
    std::uint32_t const sign = (byte >> 7) * 0xff;
    result |= ((selector & 8) != 0 ? sign : byte) << (8 * i);
  }
  return result;
}
void decode_prmt(statement& s, instruction& n) {
  n.t = s.take_type({type::b32});
  n.act = lanewise<permute>;
  s.result(n, n.t);
  for (int i = 0; i < 3; ++i) s.source(n, n.t);
}

}  // namespace

std::vector<form> movement() {
  return {{"mov", "9.7.9.3", decode_mov}, {"prmt", "9.7.9.7", decode_prmt}};
}

}  // namespace ptx
