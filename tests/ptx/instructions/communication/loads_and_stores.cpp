// SPDX-License-Identifier: Apache-2.0
// PTX ISA 9.7.9.8 "ld", 9.7.9.9 "ld.global.nc", 9.7.9.12 "st".
#include "../form.hpp"
#include "../statement.hpp"
#include "access.hpp"

#include <cstring>
#include <initializer_list>
#include <mutex>

namespace ptx {

namespace {

using find_function = void (*)(warp&, instruction const&, operand const&, lane_mask,
                               host_pointers&);

// Serializes relaxed accesses of different host threads, so that vector accesses are atomic.
std::mutex relaxed_access_mutex;
constexpr std::uint8_t relaxed = 1;  // instruction::mode

template <std::size_t Bytes>
std::uint64_t load_word(unsigned char const* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, Bytes);
  return word;
}

template <std::size_t Bytes, std::size_t Count, find_function find>
void load(warp& w, instruction const& instr, lane_mask active) {
  host_pointers pointers;
  find(w, instr, instr.sources[0], active, pointers);
  std::unique_lock<std::mutex> lock(relaxed_access_mutex, std::defer_lock);
  if (instr.mode == relaxed) lock.lock();
  for (std::size_t i = 0; i < Count; ++i) {
    std::uint64_t* const to = w.result(instr.results[i]);
    for_each_lane_in_order(
        active, [&](unsigned lane) { to[lane] = load_word<Bytes>(pointers[lane] + i * Bytes); });
  }
}

template <std::size_t Bytes, std::size_t Count, find_function find>
void store(warp& w, instruction const& instr, lane_mask active) {
  host_pointers pointers;
  find(w, instr, instr.sources[0], active, pointers);
  std::unique_lock<std::mutex> lock(relaxed_access_mutex, std::defer_lock);
  if (instr.mode == relaxed) lock.lock();
  for (std::size_t i = 0; i < Count; ++i) {
    std::uint64_t const* const from = w.source(instr.sources[1 + i]);
    for_each_lane_in_order(active, [&](unsigned lane) {
      std::memcpy(pointers[lane] + i * Bytes, &from[lane], Bytes);
    });
  }
}

template <std::size_t Bytes, std::size_t Count>
void load_parameter(warp& w, instruction const& instr, lane_mask active) {
  std::vector<unsigned char> const& parameters = w.block->cluster->launch.parameters;
  std::uint64_t const* const base = w.source(instr.sources[0]);
  auto const address_of = [&](unsigned lane) {
    std::uint64_t const offset = base[lane] + static_cast<std::uint64_t>(instr.offset);
    if (offset % (Bytes * Count) != 0) w.fail("reads a parameter, misaligned", lane, offset);
    if (offset > parameters.size() || Bytes * Count > parameters.size() - offset)
      w.fail("reads past the parameters", lane, offset);
    return parameters.data() + offset;
  };
  if (instr.sources[0].is_constant) {  // a parameter's name: the same address in all lanes
    unsigned char const* const source = address_of(static_cast<unsigned>(__builtin_ctz(active)));
    for (std::size_t i = 0; i < Count; ++i) {
      std::uint64_t const word = load_word<Bytes>(source + i * Bytes);
      std::uint64_t* const to = w.result(instr.results[i]);
      for_each_lane(active, [&](unsigned lane) { to[lane] = word; });
    }
    return;
  }
  for_each_lane_in_order(active, [&](unsigned lane) {
    unsigned char const* const source = address_of(lane);
    for (std::size_t i = 0; i < Count; ++i)
      w.result(instr.results[i])[lane] = load_word<Bytes>(source + i * Bytes);
  });
}

// Sign-extends narrow values to the width of the register.
template <action load>
void load_signed(warp& w, instruction const& instr, lane_mask active) {
  load(w, instr, active);
  std::size_t const loaded_shift = 64 - 8 * bytes_of(instr.result_type);
  for (std::size_t i = 0; i < instr.count; ++i) {
    std::uint64_t* const to = w.result(instr.results[i]);
    std::size_t const unused_bits = 64 - 8 * std::size_t{instr.results[i].bytes};
    for_each_lane_in_order(active, [&](unsigned lane) {
      auto const value = static_cast<std::int64_t>(to[lane] << loaded_shift) >> loaded_shift;
      to[lane] = static_cast<std::uint64_t>(value) << unused_bits >> unused_bits;
    });
  }
}

template <std::size_t Bytes, std::size_t Count>
action load_from(state_space space) {
  switch (space) {
    case state_space::shared:
      return load<Bytes, Count, find_shared<Bytes * Count, access_kind::read>>;
    case state_space::global:
      return load<Bytes, Count, find_global<Bytes * Count, access_kind::read>>;
    case state_space::param:
      return load_parameter<Bytes, Count>;
    default:
      return load<Bytes, Count, find_generic<Bytes * Count, access_kind::read>>;
  }
}
template <std::size_t Bytes>
action signed_load_from(state_space space) {
  switch (space) {
    case state_space::shared:
      return load_signed<load<Bytes, 1, find_shared<Bytes, access_kind::read>>>;
    case state_space::global:
      return load_signed<load<Bytes, 1, find_global<Bytes, access_kind::read>>>;
    case state_space::param:
      return load_signed<load_parameter<Bytes, 1>>;
    default:
      return load_signed<load<Bytes, 1, find_generic<Bytes, access_kind::read>>>;
  }
}
template <std::size_t Bytes, std::size_t Count>
action store_to(state_space space) {
  switch (space) {
    case state_space::shared:
      return store<Bytes, Count, find_shared<Bytes * Count, access_kind::write>>;
    case state_space::global:
      return store<Bytes, Count, find_global<Bytes * Count, access_kind::write>>;
    default:
      return store<Bytes, Count, find_generic<Bytes * Count, access_kind::write>>;
  }
}

struct access_width {
  std::size_t bytes, count;
  action (*load)(state_space);
  action (*store)(state_space);
};
constexpr access_width supported_widths[] = {
    {1, 1, load_from<1, 1>, store_to<1, 1>}, {1, 2, load_from<1, 2>, store_to<1, 2>},
    {1, 4, load_from<1, 4>, store_to<1, 4>}, {2, 1, load_from<2, 1>, store_to<2, 1>},
    {2, 2, load_from<2, 2>, store_to<2, 2>}, {2, 4, load_from<2, 4>, store_to<2, 4>},
    {4, 1, load_from<4, 1>, store_to<4, 1>}, {4, 2, load_from<4, 2>, store_to<4, 2>},
    {4, 4, load_from<4, 4>, store_to<4, 4>}, {8, 1, load_from<8, 1>, store_to<8, 1>},
    {8, 2, load_from<8, 2>, store_to<8, 2>}};

// Decodes modifiers such as `.relaxed.gpu.global.v2.u64`; only the type is required.
access_width const& take_modifiers(statement& s, instruction& instr) {
  if (s.take("relaxed")) {
    s.take_one_of({"cta", "gpu"});
    instr.mode = relaxed;
  } else {
    s.take("volatile");  // every access is volatile
  }
  if (s.take("global"))
    instr.space = state_space::global;
  else if (s.take("shared"))
    instr.space = state_space::shared;
  else if (s.opcode() == "ld" && s.take("param"))
    instr.space = state_space::param;
  // .nc promises read-only memory. machine_options::global_races detects writes.
  if (s.opcode() == "ld" && instr.space == state_space::global) s.take("nc");
  instr.count = s.take("v2") ? 2 : s.take("v4") ? 4 : 1;
  instr.result_type =
      s.take_type({type::b8, type::u8, type::s8, type::b16, type::u16, type::s16, type::b32,
                   type::u32, type::s32, type::f32, type::b64, type::u64, type::s64, type::f64});
  for (access_width const& w : supported_widths)
    if (w.bytes == bytes_of(instr.result_type) && w.count == instr.count) return w;
  s.fail("a vector of more than 16 bytes");
}

void decode_ld(statement& s, instruction& instr) {
  access_width const& w = take_modifiers(s, instr);
  s.take_results(instr, instr.result_type, instr.count, true);
  instr.offset = s.take_address(instr, instr.space);
  instr.act = w.load(instr.space);
  bool const is_signed = instr.result_type == type::s8 || instr.result_type == type::s16 ||
                         instr.result_type == type::s32;
  if (!is_signed || instr.results[0].bytes == w.bytes) return;
  if (instr.count != 1) s.fail("a vector of numbers that are narrower than their registers");
  instr.act = w.bytes == 1   ? signed_load_from<1>(instr.space)
              : w.bytes == 2 ? signed_load_from<2>(instr.space)
                             : signed_load_from<4>(instr.space);
}

void decode_st(statement& s, instruction& instr) {
  access_width const& w = take_modifiers(s, instr);
  instr.offset = s.take_address(instr, instr.space);
  s.take_sources(instr, instr.result_type, instr.count, true);
  instr.act = w.store(instr.space);
}

}  // namespace

std::vector<opcode_info> loads_and_stores() {
  return {{"ld", "9.7.9.8", decode_ld}, {"st", "9.7.9.12", decode_st}};
}

}  // namespace ptx
