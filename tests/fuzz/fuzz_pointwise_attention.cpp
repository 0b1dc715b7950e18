// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of pointwise_attention (element type, function,
// mask, scale, shape, layout, bias, lengths, gradients, threads, instruction set, data). Forward
// and backward must stay within the error bounds of the reference and write nothing else; with
// arbitrary bits as data they must run without faults.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_attention.hpp"
#include "fuzz_input.hpp"

#include "pointwise_attention/check.hpp"

#include <algorithm>
#include <cstdint>

using namespace support;

namespace {

template <class T>
void run_type(byte_reader& reader) {
  attention_flags const flags{reader.take(4)};
  attention_size size = read_size(reader);
  if (flags.has(13)) size.group = std::max<index_t>(size.heads, 1);
  auto p = read_attention<T>(reader, flags, size);
  p.per_key = flags.has(14);
  memory_layout const layout{static_cast<int>(reader.take() % memory_layout::count)};
  fuzzed_exec fuzzed(flags.bits >> 3);
  auto const exec = fuzzed.get();
  if (flags.arbitrary_bits()) read_arbitrary_bits(reader, p);
  std::uint64_t const chosen = reader.take() % 4;
  std::uint64_t index = 0;
  for_each_score_function<T>([&](auto const& function, auto const& oracle) {
    if (index++ != chosen) return;
    auto const results = run_pointwise(p, function, exec, layout);
    if (flags.arbitrary_bits())  // there is no reference
      return require_no_error(results.wrong, p.describe(), describe_exec(exec));
    solved_attention<T> const solved(with_function(p, oracle));
    require_no_error(pointwise_error(solved, exec, results), "", "");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<float, double, float16, bfloat16>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
