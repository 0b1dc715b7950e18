// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: bytes become a whole call of softmax_attention (element type, algorithm, mask,
// scale, shape, layout, bias, lengths, gradients, threads, instruction set, data); forward and
// backward must stay within the oracle's bounds, or, of any bits, be free of faults, and touch
// nothing else.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "softmax_attention/check.hpp"

#include <algorithm>

using namespace support;

namespace {

pattern_mask read_mask(byte_reader& in) {
  auto const kind = static_cast<mask_kind>(in.take() % mask_kinds);
  auto const a = static_cast<index_t>(in.take()), b = static_cast<index_t>(in.take());
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

attention_size read_size(byte_reader& in) {
  auto const up_to = [&](index_t usual, index_t most) { return read_extent(in, usual, most); };
  attention_size s{up_to(2, 3),    up_to(2, 3),  up_to(40, 150),
                   up_to(40, 150), up_to(9, 70), up_to(9, 70)};
  // The oracle takes its time.
  if (s.queries * s.keys > 3000) s.batch = std::min<index_t>(s.batch, 1);
  if (s.queries * s.keys > 3000) s.heads = std::min<index_t>(s.heads, 2);
  if (s.queries * s.keys > 6000) s.channels %= 10, s.values %= 10;
  return s;
}

template <class T>
void run_type(byte_reader& in) {
  std::uint64_t const flags = in.take(4);
  attention_size const size = read_size(in);
  auto p = normal_attention<T>(size, read_mask(in), flags >> 16, (flags & 32) != 0);
  auto const scale = static_cast<double>(in.take());
  if ((flags & 64) != 0) p.scale = (scale - 128) / 64;
  share(p, (flags & 128) != 0, (flags & 256) != 0);
  if ((flags & 512) != 0) p.lengths = read_lengths(in, {size.batch, size.keys, 1});
  if ((flags & 1024) != 0) p.query_lengths = read_lengths(in, {size.batch, size.queries, 1});
  p.wanted = static_cast<unsigned>(in.take() % 16);
  p.mode = (flags & 2048) != 0 ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
  memory_layout const layout{static_cast<int>(in.take() % memory_layout::count)};
  bool const any_bits = (flags & 4096) != 0, streaming = (flags & 8192) != 0;
  ss::streaming const tiled{(flags & 32768) != 0 ? ss::products::native : ss::products::exact};
  p.title = "fuzzed";

  fuzzed_exec exec(flags >> 3);
  auto const exec = exec.get();
  if (any_bits) {
    // NaN, infinities, denormals: no answer, but no fault either, and the same bits twice.
    p.shared_keys = p.shared_bias = false;
    for (std::vector<T>* values : {&p.q, &p.k, &p.v, &p.bias, &p.dy})
      for (std::size_t i = 0; i < values->size() && in.left() > 0; i += 1 + in.take() % 7)
        (*values)[i] = from_bits<T>(in.take(static_cast<int>(sizeof(T))));
    auto const twice = [&](auto algorithm) {
      auto const one = run_attention(p, exec, algorithm, layout);
      auto const two = run_attention(p, exec, algorithm, layout);
      if (one.wrong != "y depends on whether the state is saved")  // as NaN may
        require(one.wrong, p.describe(), describe_exec(exec));
      if (!same_bits(one.state, two.state)) fail("two states", p.describe(), describe_exec(exec));
    };
    streaming ? twice(tiled) : twice(ss::materialized<>{});
    return;
  }
  solved_attention<T> const s(p);
  require(streaming ? check_attention(s, exec, tiled, layout)
                    : check_attention(s, exec, ss::materialized<>{}, layout),
          "", "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return fuzz_element_types<float, double, float16, bfloat16>(
      data, size, [](byte_reader& in, auto element) { run_type<decltype(element)>(in); });
}
