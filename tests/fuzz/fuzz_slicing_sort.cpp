// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of slicing_sort (element type, order, shape,
// strides, lengths, threads, instruction set, saved index type, data). Forward and backward must
// match the reference bit for bit and write nothing else.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "slicing_sort/check.hpp"

using namespace support;

namespace {

template <class Index, class T, class Exec>
void run(sort_problem<T> const& p, byte_reader& reader, Exec const& exec, bool in_place) {
  extents3 const shape = p.x.extents();
  auto const make_saved = [&](layout memory) {
    return strided_tensor<Index>(shape, memory.strides, memory.offset);
  };
  check_permuting_operator(p, ss::slicing_sort<pattern_order>(pattern_order{p.order}), shape,
                           make_saved, p.perm, reader, exec, in_place,
                           describe_exec(exec) + " perm=" + type_name<Index>());
}

template <class T>
void run_type(byte_reader& reader) {
  std::uint64_t const flags = reader.take(2);
  bool const in_place = (flags & 8) != 0, narrow_index = (flags & 16) != 0,
             has_lengths = (flags & 32) != 0, column_patterned = (flags & 64) != 0;

  extents3 const shape = read_extents(reader);
  sort_problem<T> p;
  p.order = reader.take() < 128 ? reader.take(8) : (flags & 128) != 0 ? up : down;
  p.title = "fuzzed";
  if (has_lengths) p.lengths = read_lengths(reader, shape);
  std::uint64_t const seed = reader.take(4);
  p.x = read_tensor<T>(reader, shape, seed, column_patterned);
  p.dy = tensor<T>(shape);
  random_stream random(seed);
  for (T& gradient : p.dy.elements())
    gradient = from_bits<T>(random.bits() & format_of<T>().mask());
  compute_expected(p);

  fuzzed_exec fuzzed(flags);
  auto const exec = fuzzed.get();
  if (narrow_index)
    run<std::uint16_t>(p, reader, exec, in_place);
  else
    run<std::uint32_t>(p, reader, exec, in_place);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<float, double, float16, bfloat16>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
