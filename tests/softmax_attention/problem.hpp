// SPDX-License-Identifier: Apache-2.0
// Problems of softmax attention: contiguous tensors with a mask, lengths, and requested gradients.
#pragma once

#include "operators/types_of_tags.hpp"
#include "support/backends.hpp"
#include "support/inputs.hpp"
#include "support/pattern_mask.hpp"
#include "support/problems.hpp"
#include "support/sparse_mask.hpp"
#include "support/stacks.hpp"

#include <slicesort/softmax_attention.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace support {

struct attention_size {
  index_t batch, heads, queries, keys, channels, values;
  index_t group = 1;  // query heads per head of k and v

  extents4 q() const { return {batch, heads, queries, channels}; }
  extents4 k() const { return {batch, heads / group, keys, channels}; }
  extents4 v() const { return {batch, heads / group, keys, values}; }
  extents4 y() const { return {batch, heads, queries, values}; }
  extents4 pairs() const { return {batch, heads, queries, keys}; }
  // Returns the offset of element (b, h, i, c).
  static std::size_t offset_of(extents4 e, index_t b, index_t h, index_t i, index_t c) {
    return static_cast<std::size_t>(((b * e.heads + h) * e.length + i) * e.channels + c);
  }
};

// Each extent 0 or 1 at least once.
inline constexpr attention_size tiny_attention_sizes[] = {
    {0, 2, 5, 6, 4, 3}, {2, 0, 5, 6, 4, 3}, {2, 2, 0, 6, 4, 3}, {2, 2, 5, 0, 4, 3},
    {2, 2, 5, 6, 0, 3}, {2, 2, 5, 6, 4, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1},
    {3, 3, 1, 1, 2, 2}, {2, 3, 1, 9, 4, 4}, {2, 3, 9, 1, 4, 4}};

// Bits of requested gradients.
inline constexpr unsigned wants_dq = 1, wants_dk = 2, wants_dv = 4, wants_dbias = 8,
                          all_gradients = 15;

// Layout of a bias or its gradient: broadcast over samples or heads (extent 1), and relative (one
// value per distance from query to key) or dense (one value per pair).
struct attention_bias_layout {
  bool shares_samples = false, shares_heads = false, is_relative = false;

  extents4 extents(attention_size s) const {
    return {shares_samples ? 1 : s.batch, shares_heads ? 1 : s.heads, is_relative ? 1 : s.queries,
            is_relative ? std::max<index_t>(s.queries + s.keys - 1, 0) : s.keys};
  }
  std::size_t offset_of(attention_size s, index_t b, index_t h, index_t i, index_t j) const {
    return attention_size::offset_of(extents(s), shares_samples ? 0 : b, shares_heads ? 0 : h,
                                     is_relative ? 0 : i, is_relative ? j - i + s.queries - 1 : j);
  }
  std::string describe() const {
    return std::string(shares_samples ? " of all samples" : "") +
           (shares_heads ? " of all heads" : "") + (is_relative ? " by distance" : "");
  }
};

// A value, and a bound of its error.
struct bounded {
  long double value = 0, error = 0;
};

// Function of a score that replaces the softmax (pointwise_attention). Results include the rounding
// errors of an implementation whose half unit in the last place is u.
struct score_oracle {
  virtual ~score_oracle() = default;
  virtual bounded value(bounded score, long double u) const = 0;
  virtual bounded slope(bounded score, long double u) const = 0;
};

template <class T>
struct attention_problem {
  attention_size size;
  pattern_mask mask;
  std::optional<sparse_mask> sparse;  // replaces `mask`
  std::optional<double> scale;
  score_oracle const* function = nullptr;  // replaces the softmax
  bool per_key = false;                    // replaces the scale by 1 / (number of valid keys)
  // Replaces both masks.
  std::function<bool(index_t sample, index_t head, index_t query, index_t key)> is_visible;
  std::vector<T> q, k, v, bias, dy;  // bias is empty or has bias_shape()
  attention_bias_layout bias_layout{}, dbias_layout{};
  ss::dropout dropout;
  // True if heads share keys and values, or queries share a row of bias, by strides of 0.
  bool shared_keys = false, shared_bias = false;
  std::vector<index_t> lengths, query_lengths;  // empty if not given
  unsigned requested = all_gradients;
  ss::grad_mode mode = ss::grad_mode::overwrite;
  std::vector<T> dq, dk, dv, dbias;  // previous values, for accumulation
  std::string title;

  extents4 bias_shape() const { return bias_layout.extents(size); }
  extents4 dbias_shape() const { return dbias_layout.extents(size); }
  index_t valid_keys(index_t b) const {
    return lengths.empty() ? size.keys : lengths[static_cast<std::size_t>(b)];
  }
  index_t valid_queries(index_t b) const {
    return query_lengths.empty() ? size.queries : query_lengths[static_cast<std::size_t>(b)];
  }
  template <class Algorithm>
  ss::softmax_attention<pattern_mask, Algorithm> op(Algorithm algorithm) const {
    return ss::softmax_attention<pattern_mask, Algorithm>(mask, scale, algorithm);
  }
  ss::attention_options options() const {
    return {ss::lengths(view_of(lengths), view_of(query_lengths)), dropout};
  }
  ss::attention_backward_options backward_options() const {
    return {mode, ss::lengths(view_of(lengths), view_of(query_lengths)), dropout};
  }

  std::string describe() const {
    constexpr char const* names[] = {"full",    "causal",         "window",   "block_local",
                                     "strided", "causal_strided", "scattered"};
    std::ostringstream out;
    out << type_name<T>() << " ";
    if (sparse)
      out << sparse->describe();
    else
      out << names[static_cast<int>(mask.kind)] << "{" << mask.a << "," << mask.b << "}";
    out << " [B,H,N,M,D,E]=[" << size.batch << "," << size.heads << "," << size.queries << ","
        << size.keys << "," << size.channels << "," << size.values << "] " << title
        << (size.group == 1 ? "" : " group=" + std::to_string(size.group))
        << (bias.empty() ? "" : " bias" + bias_layout.describe())
        << (shared_keys ? " shared keys" : "") << (shared_bias ? " shared bias" : "")
        << (mode == ss::grad_mode::accumulate ? " accumulate" : "");
    if (scale) out << " scale=" << *scale;
    if (per_key) out << " scale per key";
    if (requested != all_gradients) out << " wanted=" << requested;
    if (std::string const layout_text = dbias_layout.describe(); !layout_text.empty())
      out << " dbias" << layout_text;
    if (dropout.rate != 0) out << " dropout=" << dropout.rate;
    for (auto const& [name, list] :
         {std::pair(" lengths=", &lengths), std::pair(" query_lengths=", &query_lengths)}) {
      if (list->empty()) continue;
      out << name;
      for (index_t n : *list) out << n << ",";
    }
    return out.str();
  }
  // Selects an execution policy of a backend (see for_each_backend).
  std::uint64_t backend_seed() const { return hash_of(describe()); }
};

// Returns a problem with normally distributed values, and a scale that gives several keys a
// noticeable weight.
template <class T>
attention_problem<T> normal_attention(attention_size size, pattern_mask mask, std::uint64_t seed,
                                      bool has_bias = false) {
  random_stream random(seed);
  attention_problem<T> p;
  p.size = size;
  p.mask = mask;
  auto const fill = [&](extents4 e, double scale = 1) {
    std::vector<T> values(static_cast<std::size_t>(e.size()));
    for (T& v : values) v = from_double<T>(scale * random.normal());
    return values;
  };
  p.q = fill(size.q());
  p.k = fill(size.k());
  p.v = fill(size.v());
  if (has_bias) p.bias = fill(size.pairs());
  p.dy = fill(size.y());
  p.dq = fill(size.q());
  p.dk = fill(size.k());
  p.dv = fill(size.v());
  p.dbias = fill(size.pairs());
  p.title = "seed=" + std::to_string(seed);
  return p;
}

// Draws new values of the bias, if any, and of its previous gradient.
template <class T>
void draw_bias(attention_problem<T>& p, std::uint64_t seed) {
  random_stream random(seed + 2000);
  auto const fill = [&](extents4 e, std::vector<T>& values) {
    values.resize(static_cast<std::size_t>(e.size()));
    for (T& v : values) v = from_double<T>(random.normal());
  };
  if (!p.bias.empty()) fill(p.bias_shape(), p.bias);
  fill(p.dbias_shape(), p.dbias);
}

// Bits of a combination of bias layouts.
enum bias_layout_bit : unsigned {
  relative_bias = 1,  // relative bias and gradient
  bias_shares_samples = 2,
  bias_shares_heads = 4,
  dbias_shares_samples = 8,
  dbias_shares_heads = 16,
  dbias_differs = 32,  // the gradient is relative if the bias is not, and vice versa
  bias_layout_cases = 64
};
template <class T>
attention_problem<T> with_bias_layouts(attention_problem<T> p, unsigned layout_bits,
                                       std::uint64_t seed) {
  auto const has = [&](bias_layout_bit bit) { return (layout_bits & bit) != 0; };
  p.bias_layout = {has(bias_shares_samples), has(bias_shares_heads), has(relative_bias)};
  p.dbias_layout = {has(dbias_shares_samples), has(dbias_shares_heads),
                    has(relative_bias) != has(dbias_differs)};
  draw_bias(p, seed);
  return p;
}

// Copies the keys and values of the first head to all heads, and the first row of the bias to all
// queries.
template <class T>
void share(attention_problem<T>& p, bool keys, bool bias) {
  auto const repeat = [](std::vector<T>& values, extents4 e, bool over_heads) {
    for (index_t b = 0; b < e.batch; ++b)
      for (index_t h = 0; h < e.heads; ++h)
        for (index_t i = 0; i < e.length; ++i)
          for (index_t c = 0; c < e.channels; ++c)
            values[attention_size::offset_of(e, b, h, i, c)] =
                values[attention_size::offset_of(e, b, over_heads ? 0 : h, over_heads ? i : 0, c)];
  };
  p.shared_keys = keys;
  p.shared_bias = bias && !p.bias.empty();
  if (p.shared_keys) repeat(p.k, p.size.k(), true), repeat(p.v, p.size.v(), true);
  if (p.shared_bias) repeat(p.bias, p.size.pairs(), false);
}

inline constexpr mask_kind all_mask_kinds[] = {
    mask_kind::full,    mask_kind::causal,         mask_kind::window,   mask_kind::block_local,
    mask_kind::strided, mask_kind::causal_strided, mask_kind::scattered};
constexpr mask_kind mask_kind_of(std::uint64_t seed) {
  return static_cast<mask_kind>(seed % mask_kinds);
}

// Returns a mask with random parameters.
inline pattern_mask random_mask(mask_kind kind, attention_size size, std::uint64_t seed) {
  random_stream random(seed);
  auto const up_to = [&](index_t n) {
    return static_cast<index_t>(random.below(static_cast<std::uint64_t>(n) + 1));
  };
  switch (kind) {
    case mask_kind::causal: {
      index_t const offsets[] = {0, size.keys - size.queries, -up_to(size.queries),
                                 up_to(size.keys)};
      return {mask_kind::causal, offsets[random.below(4)], 0};
    }
    case mask_kind::window:
      return {mask_kind::window, up_to(size.keys / 2), up_to(size.keys / 3)};
    case mask_kind::block_local:
      return {mask_kind::block_local, 1 + up_to(size.keys / 2), 0};
    case mask_kind::strided:
      return {mask_kind::strided, 1 + up_to(9), up_to(4)};
    case mask_kind::causal_strided:
      return {mask_kind::causal_strided, up_to(5) - 2, 1 + up_to(6)};
    default:
      return {kind, 0, 0};
  }
}

// Returns one of many sparse masks, some of them conservative or different per head.
inline sparse_mask random_sparse_mask(std::uint64_t seed) {
  constexpr index_t sizes[] = {64, 1, 50, 7, 128, 16};
  sparse_mask m;
  m.size = sizes[seed % 6];
  m.kind = seed / 6 % 2 == 0 ? sparse_kind::blocks : sparse_kind::stripes;
  random_stream random(seed + 3000);
  m.number =
      m.kind == sparse_kind::blocks ? 2 + static_cast<index_t>(random.below(5)) : (m.size + 4) / 5;
  m.by_head = random.below(2) == 0;
  m.causal = random.below(3) == 0;
  m.lazy_meets = random.below(5) == 0;
  m.lazy_covers = random.below(4) == 0;
  return m;
}
inline constexpr std::uint64_t sparse_mask_kinds = 12;

// Returns a problem of the given size with random mask, scale, bias, lengths, sharing and
// gradients.
template <class T>
attention_problem<T> random_attention(attention_size size, std::uint64_t seed,
                                      std::optional<mask_kind> kind = {}) {
  random_stream random(seed + 1000);
  auto const random_kind = static_cast<mask_kind>(random.below(mask_kinds));
  auto p = normal_attention<T>(size, random_mask(kind.value_or(random_kind), size, seed), seed,
                               random.below(3) == 0);
  if (random.below(4) == 0) p.scale = random.normal();
  share(p, random.below(5) == 0, random.below(2) == 0);
  auto const lengths = [&](index_t rows) {
    std::vector<index_t> list;
    for (index_t b = 0; b < size.batch; ++b) {
      index_t const choice[] = {0, rows, std::min<index_t>(1, rows), rows / 2,
                                std::max<index_t>(rows - 1, 0)};
      list.push_back(choice[random.below(5)]);
    }
    return list;
  };
  if (random.below(3) == 0) p.lengths = lengths(size.keys);
  if (random.below(4) == 0) p.query_lengths = lengths(size.queries);
  if (random.below(3) == 0) p.requested = static_cast<unsigned>(random.below(16));
  if (random.below(3) == 0) p.mode = ss::grad_mode::accumulate;
  return p;
}

}  // namespace support
