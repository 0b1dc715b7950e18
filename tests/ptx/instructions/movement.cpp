// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.9 "Data Movement and Conversion Instructions": moves between registers.
#include "form.hpp"
#include "lanes.hpp"
#include "statement.hpp"

namespace ptx {

namespace {

std::uint64_t copy(std::uint64_t a) { return a; }

// Packs the elements into one register; element 0 has the lowest bits.
template <int elements, int bits>
void pack(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t* const to = w.result(instr.results[0]);
  for_each_lane(active, [&](unsigned lane) {
    std::uint64_t packed = 0;
    for (int i = 0; i < elements; ++i) packed |= w.source(instr.sources[i])[lane] << (bits * i);
    to[lane] = packed;
  });
}
template <int elements, int bits>
void unpack(warp& w, instruction const& instr, lane_mask active) {
  std::uint64_t const* const from = w.source(instr.sources[0]);
  for (int i = 0; i < elements; ++i) {
    std::uint64_t* const to = w.result(instr.results[i]);
    for_each_lane(active, [&](unsigned lane) {
      to[lane] = from[lane] << (64 - bits * (i + 1)) >> (64 - bits);
    });
  }
}

void decode_vector(statement& s, instruction& instr, std::size_t elements, bool is_packing) {
  std::size_t const bits = 8 * bytes_of(instr.result_type) / elements;
  type const element = bits == 32 ? type::b32 : type::b16;
  if (elements == 2 && bits == 16)
    instr.act = is_packing ? pack<2, 16> : unpack<2, 16>;
  else if (elements == 2 && bits == 32)
    instr.act = is_packing ? pack<2, 32> : unpack<2, 32>;
  else if (elements == 4 && bits == 16)
    instr.act = is_packing ? pack<4, 16> : unpack<4, 16>;
  else
    s.fail("unsupported number of elements");
  if (is_packing)
    s.take_sources(instr, element, elements);
  else
    s.take_source(instr, instr.result_type);
}

void decode_mov(statement& s, instruction& instr) {
  instr.result_type =
      s.take_type({type::pred, type::b16, type::b32, type::b64, type::u16, type::u32, type::u64,
                   type::s16, type::s32, type::s64, type::f32, type::f64});
  std::size_t const results = s.next_vector_size();
  if (results > 1) {
    s.take_results(instr, results * 4 == bytes_of(instr.result_type) ? type::b32 : type::b16,
                   results);
    return decode_vector(s, instr, results, false);
  }
  s.take_result(instr, instr.result_type);
  std::size_t const sources = s.next_vector_size();
  if (sources > 1) return decode_vector(s, instr, sources, true);
  s.take_source(instr, instr.result_type);
  instr.act = lanewise<copy>;
}

// prmt: each of the four selectors picks one of the eight bytes of b:a by three bits. Its top bit
// replicates the sign bit of that byte instead.
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
void decode_prmt(statement& s, instruction& instr) {
  instr.result_type = s.take_type({type::b32});
  instr.act = lanewise<permute>;
  s.take_result(instr, instr.result_type);
  for (int i = 0; i < 3; ++i) s.take_source(instr, instr.result_type);
}

}  // namespace

std::vector<opcode_info> movement() {
  return {{"mov", "9.7.9.3", decode_mov}, {"prmt", "9.7.9.7", decode_prmt}};
}

}  // namespace ptx
