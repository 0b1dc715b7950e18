// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of softmax_attention (element type, algorithm, mask,
// scale, shape, layout, bias, lengths, gradients, threads, instruction set, data). Forward and
// backward must stay within the error bounds of the reference and write nothing else; with
// arbitrary bits as data they must run without faults.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_attention.hpp"
#include "fuzz_input.hpp"

#include "softmax_attention/check.hpp"

#include <algorithm>

using namespace support;

namespace {

template <class T>
void run_type(byte_reader& reader) {
  attention_flags const flags{reader.take(4)};
  bool const streaming = flags.has(13), shares_kv_head = flags.has(14),
             native_products = flags.has(15);
  attention_size size = read_size(reader);
  if (streaming && shares_kv_head) size.group = std::max<index_t>(size.heads, 1);
  auto p = read_attention<T>(reader, flags, size);
  memory_layout const layout{static_cast<int>(reader.take() % memory_layout::count)};
  ss::streaming const streaming_algorithm{native_products ? ss::products::native
                                                          : ss::products::exact};

  fuzzed_exec fuzzed(flags.bits >> 3);
  auto const exec = fuzzed.get();
  if (flags.arbitrary_bits()) {
    // With arbitrary bits (NaN, infinities, subnormal numbers) there is no reference; two runs must
    // give the same bits.
    read_arbitrary_bits(reader, p);
    auto const check_repeatable = [&](auto algorithm) {
      auto const result = run_attention(p, exec, algorithm, layout);
      auto const repeated = run_attention(p, exec, algorithm, layout);
      if (result.wrong != "y depends on whether the state is saved")  // may differ for NaN
        require_no_error(result.wrong, p.describe(), describe_exec(exec));
      if (!same_bits(result.state, repeated.state))
        fail("a repeated call saves a different state", p.describe(), describe_exec(exec));
    };
    streaming ? check_repeatable(streaming_algorithm) : check_repeatable(ss::materialized<>{});
    return;
  }
  solved_attention<T> const solved(p);
  require_no_error(streaming ? check_attention(solved, exec, streaming_algorithm, layout)
                             : check_attention(solved, exec, ss::materialized<>{}, layout),
                   "", "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<float, double, float16, bfloat16>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
