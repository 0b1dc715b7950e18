// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: bytes become a whole call of CSP (element type, groups, shifts, alignment,
// shape, strides, lengths, threads, instruction set, data); forward and backward must match the
// oracle bit for bit and touch nothing else.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "csp/problem.hpp"

using namespace support;

namespace {

template <class T>
void run_type(byte_reader& in) {
  std::uint64_t const flags = in.take(2);
  bool const in_place = (flags & 8) != 0, aligned = (flags & 16) != 0, ragged = (flags & 32) != 0;

  csp_problem<T> p;
  p.title = "fuzzed";
  extents3 const e = read_extents(in);
  auto const wanted = static_cast<index_t>(in.take(2));  // mostly small groups
  p.group = 1 + (wanted < 0xc000 ? wanted % 40 : wanted % 3001);
  if (aligned && e.channels > 0) p.reference = static_cast<index_t>(in.take()) % e.channels;
  p.order = in.take() < 128 ? in.take(8) : (flags & 128) != 0 ? up : down;
  for (index_t c = 0; c < e.channels; ++c) {
    // One byte for a small shift, or eight for any.
    auto const byte = static_cast<index_t>(in.take());
    p.shifts.table.push_back(byte < 200 ? byte - 100 : static_cast<index_t>(in.take(8)));
  }
  if (ragged) p.lengths = read_lengths(in, e);
  std::uint64_t const seed = in.take(4);
  p.x = read_tensor<T>(in, e, seed, (flags & 64) != 0);
  p.dy = random_bits_tensor<T>(e, seed + 1);
  solve(p);

  fuzzed_exec exec(flags);
  auto const exec = exec.get();
  with_csp(p, [&](auto const& op) {
    extents3 const saved = op.saved_extents(e);
    auto const memory = [&](layout l) {
      return order_memory(saved, op.saved_width(e), l.strides, l.shift);
    };
    require_moves(p, op, saved, memory, p.saved, in, exec, in_place, describe_exec(exec));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // bfloat16 differs from float16 in a constant, and costs a minute to build.
  return fuzz_element_types<float16, float, double>(
      data, size, [](byte_reader& in, auto element) { run_type<decltype(element)>(in); });
}
