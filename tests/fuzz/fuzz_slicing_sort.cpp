// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: bytes become a whole call of slicing-sort (element type, order, shape,
// strides, lengths, threads, instruction set, saved form, data); forward and backward must match
// the oracle bit for bit and touch nothing else. Build: clang++ -fsanitize=fuzzer,address,undefined
// -Itests -Iinclude.
#include "fuzz_input.hpp"

#include "slicing_sort/check.hpp"

using namespace support;

namespace {

template <class Index, class T, class Exec>
void run(sort_problem<T> const& p, byte_reader& in, Exec const& exec, bool in_place) {
  extents3 const e = p.x.extents();
  auto const memory = [&](layout l) { return strided_tensor<Index>(e, l.strides, l.shift); };
  require_moves(p, ss::slicing_sort<pattern_order>(pattern_order{p.order}), e, memory, p.perm, in,
                exec, in_place, describe_exec(exec) + " perm=" + type_name<Index>());
}

template <class T>
void run_type(byte_reader& in) {
  std::uint64_t const flags = in.take(2);
  bool const in_place = (flags & 8) != 0, narrow = (flags & 16) != 0, ragged = (flags & 32) != 0,
             wide_data = (flags & 64) != 0;

  extents3 const e = read_extents(in);
  sort_problem<T> p;
  p.order = in.take() < 128 ? in.take(8) : (flags & 128) != 0 ? up : down;
  p.title = "fuzzed";
  if (ragged) p.lengths = read_lengths(in, e);
  std::uint64_t const seed = in.take(4);
  p.x = read_tensor<T>(in, e, seed, wide_data);
  p.dy = tensor<T>(e);
  random_stream random(seed);
  for (T& gradient : p.dy.elements())
    gradient = from_bits<T>(random.bits() & format_of<T>().mask());
  solve(p);

  fuzzed_exec exec(flags);
  auto const exec = exec.get();
  if (narrow)
    run<std::uint16_t>(p, in, exec, in_place);
  else
    run<std::uint32_t>(p, in, exec, in_place);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<float, double, float16, bfloat16>(
      data, size, [](byte_reader& in, auto element) { run_type<decltype(element)>(in); });
}
