// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of csp (element type, groups, shifts, alignment,
// shape, strides, lengths, threads, instruction set, data). Forward and backward must match the
// reference bit for bit and write nothing else.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "csp/problem.hpp"

using namespace support;

namespace {

template <class T>
void run_type(byte_reader& reader) {
  std::uint64_t const flags = reader.take(2);
  bool const in_place = (flags & 8) != 0, aligned = (flags & 16) != 0,
             has_lengths = (flags & 32) != 0;

  csp_problem<T> p;
  p.title = "fuzzed";
  extents3 const shape = read_extents(reader);
  auto const group_bits = static_cast<index_t>(reader.take(2));  // mostly small groups
  p.group = 1 + (group_bits < 0xc000 ? group_bits % 40 : group_bits % 3001);
  if (aligned && shape.channels > 0)
    p.reference = static_cast<index_t>(reader.take()) % shape.channels;
  p.order = reader.take() < 128 ? reader.take(8) : (flags & 128) != 0 ? up : down;
  for (index_t c = 0; c < shape.channels; ++c) {
    // A small shift takes one byte; an arbitrary one takes eight more.
    auto const byte = static_cast<index_t>(reader.take());
    p.shifts.table.push_back(byte < 200 ? byte - 100 : static_cast<index_t>(reader.take(8)));
  }
  if (has_lengths) p.lengths = read_lengths(reader, shape);
  std::uint64_t const seed = reader.take(4);
  p.x = read_tensor<T>(reader, shape, seed, (flags & 64) != 0);
  p.dy = random_bits_tensor<T>(shape, seed + 1);
  compute_expected(p);

  fuzzed_exec fuzzed(flags);
  auto const exec = fuzzed.get();
  with_csp(p, [&](auto const& op) {
    extents3 const saved_shape = op.saved_extents(shape);
    auto const make_saved = [&](layout memory) {
      return guarded_order_buffer(saved_shape, op.saved_width(shape), memory.strides,
                                  memory.offset);
    };
    check_permuting_operator(p, op, saved_shape, make_saved, p.saved, reader, exec, in_place,
                             describe_exec(exec));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // bfloat16 differs from float16 in one constant only, and would take another minute to compile.
  return fuzz_element_types<float16, float, double>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
