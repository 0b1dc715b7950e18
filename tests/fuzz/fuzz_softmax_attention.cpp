// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of softmax_attention (element type, algorithm, mask,
// scale, shape, layout, bias, lengths, gradients, threads, instruction set, data). Forward and
// backward must stay within the error bounds of the reference and write nothing else; with
// arbitrary bits as data they must run without faults.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "softmax_attention/check.hpp"

#include <algorithm>

using namespace support;

namespace {

pattern_mask read_mask(byte_reader& reader) {
  auto const kind = static_cast<mask_kind>(reader.take() % mask_kinds);
  auto const first = static_cast<index_t>(reader.take()),
             second = static_cast<index_t>(reader.take());
  switch (kind) {
    case mask_kind::causal:
      return {kind, first - 128, 0};
    case mask_kind::block_local:
      return {kind, first + 1, 0};
    case mask_kind::strided:
      return {kind, first + 1, second % 20};
    case mask_kind::causal_strided:
      return {kind, first - 128, second + 1};
    default:
      return {kind, first, second};
  }
}

attention_size read_size(byte_reader& reader) {
  auto const extent = [&](index_t typical, index_t max) {
    return read_extent(reader, typical, max);
  };
  attention_size size{extent(2, 3),    extent(2, 3),  extent(40, 150),
                      extent(40, 150), extent(9, 70), extent(9, 70)};
  // The reference is slow.
  if (size.queries * size.keys > 3000) size.batch = std::min<index_t>(size.batch, 1);
  if (size.queries * size.keys > 3000) size.heads = std::min<index_t>(size.heads, 2);
  if (size.queries * size.keys > 6000) size.channels %= 10, size.values %= 10;
  return size;
}

template <class T>
void run_type(byte_reader& reader) {
  std::uint64_t const flags = reader.take(4);
  bool const has_bias = (flags & 32) != 0, explicit_scale = (flags & 64) != 0,
             shares_keys = (flags & 128) != 0, shares_bias = (flags & 256) != 0,
             has_lengths = (flags & 512) != 0, has_query_lengths = (flags & 1024) != 0,
             accumulates = (flags & 2048) != 0, arbitrary_bits = (flags & 4096) != 0,
             streaming = (flags & 8192) != 0, shares_kv_head = (flags & 16384) != 0,
             native_products = (flags & 32768) != 0;
  attention_size size = read_size(reader);
  if (streaming && shares_kv_head) size.group = std::max<index_t>(size.heads, 1);
  auto p = normal_attention<T>(size, read_mask(reader), flags >> 16, has_bias);
  auto const scale = static_cast<double>(reader.take());
  if (explicit_scale) p.scale = (scale - 128) / 64;
  share(p, shares_keys, shares_bias);
  if (has_lengths) p.lengths = read_lengths(reader, {size.batch, size.keys, 1});
  if (has_query_lengths) p.query_lengths = read_lengths(reader, {size.batch, size.queries, 1});
  p.requested = static_cast<unsigned>(reader.take() % 16);
  p.mode = accumulates ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
  memory_layout const layout{static_cast<int>(reader.take() % memory_layout::count)};
  ss::streaming const streaming_algorithm{native_products ? ss::products::native
                                                          : ss::products::exact};
  p.title = "fuzzed";

  fuzzed_exec fuzzed(flags >> 3);
  auto const exec = fuzzed.get();
  if (arbitrary_bits) {
    // With arbitrary bits (NaN, infinities, subnormal numbers) there is no reference; two runs must
    // give the same bits.
    p.shared_keys = p.shared_bias = false;
    for (std::vector<T>* values : {&p.q, &p.k, &p.v, &p.bias, &p.dy})
      for (std::size_t i = 0; i < values->size() && reader.remaining() > 0;
           i += 1 + reader.take() % 7)
        (*values)[i] = from_bits<T>(reader.take(static_cast<int>(sizeof(T))));
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
