// SPDX-License-Identifier: Apache-2.0
// Decodes bytes into a problem of attention: mask, scale, shape, bias, lengths, gradients, data.
#pragma once

#include "fuzz_input.hpp"

#include "softmax_attention/problem.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace support {

inline pattern_mask read_mask(byte_reader& reader) {
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

inline attention_size read_size(byte_reader& reader) {
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

// Options of a problem, as bits; the low 5 bits and those from 16 on are left to the caller.
struct attention_flags {
  std::uint64_t bits;

  bool has(int bit) const { return (bits >> bit & 1) != 0; }
  bool has_bias() const { return has(5); }
  bool explicit_scale() const { return has(6); }
  bool shares_keys() const { return has(7); }
  bool shares_bias() const { return has(8); }
  bool has_lengths() const { return has(9); }
  bool has_query_lengths() const { return has(10); }
  bool accumulates() const { return has(11); }
  bool arbitrary_bits() const { return has(12); }
};

template <class T>
attention_problem<T> read_attention(byte_reader& reader, attention_flags flags,
                                    attention_size size) {
  auto p = normal_attention<T>(size, read_mask(reader), flags.bits >> 16, flags.has_bias());
  auto const scale = static_cast<double>(reader.take());
  if (flags.explicit_scale()) p.scale = (scale - 128) / 64;
  share(p, flags.shares_keys(), flags.shares_bias());
  if (flags.has_lengths()) p.lengths = read_lengths(reader, {size.batch, size.keys, 1});
  if (flags.has_query_lengths())
    p.query_lengths = read_lengths(reader, {size.batch, size.queries, 1});
  p.requested = static_cast<unsigned>(reader.take() % 16);
  p.mode = flags.accumulates() ? ss::grad_mode::accumulate : ss::grad_mode::overwrite;
  p.title = "fuzzed";
  return p;
}
// Replaces values by arbitrary bits: NaN, infinities, subnormal numbers.
template <class T>
void read_arbitrary_bits(byte_reader& reader, attention_problem<T>& p) {
  p.shared_keys = p.shared_bias = false;
  for (std::vector<T>* values : {&p.q, &p.k, &p.v, &p.bias, &p.dy})
    for (std::size_t i = 0; i < values->size() && reader.remaining() > 0;
         i += 1 + reader.take() % 7)
      (*values)[i] = from_bits<T>(reader.take(static_cast<int>(sizeof(T))));
}

}  // namespace support
