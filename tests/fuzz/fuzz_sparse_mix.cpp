// SPDX-License-Identifier: Apache-2.0
// libFuzzer harness: decodes bytes into a call of sparse_mix (element type, factors, links,
// offsets, residual, checkpoints, shape, layout, lengths, gradient mode, threads, instruction set,
// data). Forward and backward must match the reference bit for bit and write nothing else.
// Build: clang++ -fsanitize=fuzzer,address,undefined -Itests -Iinclude
#include "fuzz_input.hpp"

#include "sparse_mix/check.hpp"

#include <algorithm>

using namespace support;

namespace {

// Reads an offset: a small one takes one byte, an arbitrary one takes eight more.
index_t read_offset(byte_reader& reader) {
  auto const byte = static_cast<index_t>(reader.take());
  return byte < 220 ? byte - 110 : static_cast<index_t>(reader.take(8));
}

template <class T>
void run_type(byte_reader& reader) {
  std::uint64_t const flags = reader.take(3);
  bool const has_lengths = (flags & 32) != 0, has_special_values = (flags & 64) != 0;
  extents3 shape = read_extents(reader);
  auto factors = static_cast<index_t>(reader.take() % 6);
  auto links = static_cast<index_t>(reader.take() % 10);
  // The reference is slow.
  if (shape.size() > 600) shape.channels = std::min<index_t>(shape.channels, 3);
  if (shape.size() > 600) shape.batch = 1;
  if (shape.size() > 600)
    factors = std::min<index_t>(factors, 2), links = std::min<index_t>(links, 3);
  auto const save_interval = static_cast<index_t>(reader.take() % 9);
  memory_layout const layout{static_cast<int>(reader.take() % memory_layout::count)};

  auto p = normal_mix<T>(shape, 0, 0, static_cast<residual_kind>((flags >> 12) % 3), flags >> 16);
  p.factors = factors;
  p.links = links;
  p.offsets.clear();
  for (index_t i = 0; i < factors * links; ++i) p.offsets.push_back(read_offset(reader));
  if (has_lengths) p.lengths = read_lengths(reader, shape);
  p.mode = (flags & 128) != 0 ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
  p.shared_weights = false;
  p.w = normal_elements<T>(p.weight_extents().size(), flags, 0.5);
  p.dw_before = normal_elements<T>(p.weight_extents().size(), flags + 1);
  // Replaces the normal values by the fuzzer's bits, or by a kind of input for each column.
  if (has_special_values) p.x = read_tensor<T>(reader, shape, flags, (flags & 16) != 0);
  for (std::size_t i = 0; has_special_values && i < p.w.size() && reader.remaining() >= sizeof(T);
       i += 3)
    p.w[i] = from_bits<T>(reader.take(static_cast<int>(sizeof(T))));
  p.title = "fuzzed";
  compute_expected(p);

  fuzzed_exec fuzzed(flags);
  std::string const error = check_mix(p, fuzzed.get(), ss::save_every(save_interval), layout);
  require_no_error(error, "", "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // bfloat16 differs from float16 only in its conversions.
  return fuzz_element_types<double, float, float16>(
      data, size, [](byte_reader& reader, auto element) { run_type<decltype(element)>(reader); });
}
