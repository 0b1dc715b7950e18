// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of softmax_attention (element type, algorithm, mask,
// scale, shape, layout, bias, lengths, gradients, threads, instruction set, data). Forward and
// backward must stay within the oracle's bounds and write nothing else; with arbitrary bits as data
// they must run without faults.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "softmax_attention/check.hpp"

#include <algorithm>

using namespace support;

namespace {

pattern_mask read_mask(byte_reader& reader) {
  auto const kind = static_cast<mask_kind>(reader.take() % mask_kinds);
  auto const a = static_cast<index_t>(reader.take()), b = static_cast<index_t>(reader.take());
  switch (kind) {
    case mask_kind::causal:
      return {kind, a - 128, 0};
    case mask_kind::block_local:
      return {kind, a + 1, 0};
    case mask_kind::strided:
      return {kind, a + 1, b % 20};
    case mask_kind::causal_strided:
      return {kind, a - 128, b + 1};
    default:
      return {kind, a, b};
  }
}

attention_size read_size(byte_reader& reader) {
  auto const extent = [&](index_t typical, index_t max) {
    return read_extent(reader, typical, max);
  };
  attention_size size{extent(2, 3),    extent(2, 3),  extent(40, 150),
                      extent(40, 150), extent(9, 70), extent(9, 70)};
  // The oracle is slow.
  if (size.queries * size.keys > 3000) size.batch = std::min<index_t>(size.batch, 1);
  if (size.queries * size.keys > 3000) size.heads = std::min<index_t>(size.heads, 2);
  if (size.queries * size.keys > 6000) size.channels %= 10, size.values %= 10;
  return size;
}

template <class T>
void run_type(byte_reader& reader) {
  std::uint64_t const flags = reader.take(4);
  attention_size const size = read_size(reader);
  auto p = normal_attention<T>(size, read_mask(reader), flags >> 16, (flags & 32) != 0);
  auto const scale = static_cast<double>(reader.take());
  if ((flags & 64) != 0) p.scale = (scale - 128) / 64;
  share(p, (flags & 128) != 0, (flags & 256) != 0);
  if ((flags & 512) != 0) p.lengths = read_lengths(reader, {size.batch, size.keys, 1});
  if ((flags & 1024) != 0) p.query_lengths = read_lengths(reader, {size.batch, size.queries, 1});
  p.requested = static_cast<unsigned>(reader.take() % 16);
  p.mode = (flags & 2048) != 0 ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
  memory_layout const layout{static_cast<int>(reader.take() % memory_layout::count)};
  bool const any_bits = (flags & 4096) != 0, streaming = (flags & 8192) != 0;
  ss::streaming const tiled{(flags & 32768) != 0 ? ss::products::native : ss::products::exact};
  p.title = "fuzzed";

  fuzzed_exec fuzzed(flags >> 3);
  auto const exec = fuzzed.get();
  if (any_bits) {
    // Arbitrary bits (NaN, infinities, subnormal numbers): there is no oracle; two runs must give
    // the same bits.
    p.shared_keys = p.shared_bias = false;
    for (std::vector<T>* values : {&p.q, &p.k, &p.v, &p.bias, &p.dy})
      for (std::size_t i = 0; i < values->size() && reader.remaining() > 0;
           i += 1 + reader.take() % 7)
        (*values)[i] = from_bits<T>(reader.take(static_cast<int>(sizeof(T))));
    auto const twice = [&](auto algorithm) {
      auto const first = run_attention(p, exec, algorithm, layout);
      auto const second = run_attention(p, exec, algorithm, layout);
      if (first.wrong != "y depends on whether the state is saved")  // may differ for NaN
        require(first.wrong, p.describe(), describe_exec(exec));
      if (!same_bits(first.state, second.state))
        fail("two states", p.describe(), describe_exec(exec));
    };
    streaming ? twice(tiled) : twice(ss::materialized<>{});
    return;
  }
  solved_attention<T> const solved(p);
  require(streaming ? check_attention(solved, exec, tiled, layout)
                    : check_attention(solved, exec, ss::materialized<>{}, layout),
          "", "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<float, double, float16, bfloat16>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
