// SPDX-License-Identifier: Apache-2.0
// Random sparse_mix calls with their expected results, bit for bit.
#pragma once

#include "oracle.hpp"
#include "support/inputs.hpp"
#include "support/problems.hpp"
#include "support/stacks.hpp"

#include <slicesort/options.hpp>
#include <slicesort/sparse_mix.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace support {

// Topology with arbitrary offsets, [factors][links].
struct table_topology {
  std::vector<index_t> table;
  index_t count = 0;

  index_t offset(index_t link, index_t factor) const {
    return table[static_cast<std::size_t>(factor * count + link)];
  }
};

template <class T>
struct mix_problem {
  extents3 e;
  index_t factors = 0, links = 0;
  residual_kind residual = residual_kind::per_factor;
  std::vector<index_t> offsets;  // [factors][links]
  tensor<T> x, dy;
  std::vector<T> w;              // [factors, batch, length, links]
  bool shared_weights = false;   // true if all samples use the first sample's weights
  std::vector<index_t> lengths;  // may be empty
  ss::grad_mode mode = ss::grad_mode::overwrite;
  tensor<T> dx_before;  // initial gradients, for accumulation
  std::vector<T> dw_before;
  std::string title;
  // Expected results.
  tensor<T> y, dx;
  std::vector<tensor<T>> states;  // inputs of factors 0, 1, ...
  std::vector<T> dw;

  stack_extents weight_extents() const { return {factors, e.batch, e.length, links}; }
  index_t rows(index_t b) const {
    return lengths.empty() ? e.length : lengths[static_cast<std::size_t>(b)];
  }
  std::size_t weight_index(index_t m, index_t b, index_t i, index_t k) const {
    return static_cast<std::size_t>(((m * e.batch + b) * e.length + i) * links + k);
  }
  mix_chain chain(index_t b) const {
    return {rows(b), e.channels, factors, links, residual, offsets};
  }
  std::string describe() const {
    constexpr char const* names[] = {"per_factor", "none", "initial"};
    std::ostringstream out;
    out << type_name<T>() << " M=" << factors << " links=" << links << " residual "
        << names[static_cast<int>(residual)] << " [B,N,C]=[" << e.batch << "," << e.length << ","
        << e.channels << "] " << title << (shared_weights ? " shared weights" : "")
        << (mode == ss::grad_mode::accumulate ? " accumulate" : "");
    if (!lengths.empty()) {
      out << " lengths=";
      for (index_t n : lengths) out << n << ",";
    }
    return out.str();
  }
  std::uint64_t backend_seed() const { return hash_of(describe()); }
};

// Calls f(op) with the operator of a problem.
template <class T, class F>
void with_mix(mix_problem<T> const& p, ss::checkpoints saved, F const& f) {
  table_topology const topology{p.offsets, p.links};
  if (p.residual == residual_kind::per_factor)
    f(ss::sparse_mix<table_topology, ss::residual::per_factor>(topology, saved));
  else if (p.residual == residual_kind::none)
    f(ss::sparse_mix<table_topology, ss::residual::none>(topology, saved));
  else
    f(ss::sparse_mix<table_topology, ss::residual::initial>(topology, saved));
}

// Converts the values of one sample for the oracle by make(element).
template <class Math, class T, class Make>
mix_values<Math> rows_of_sample(mix_problem<T> const& p, tensor<T> const& t, index_t b,
                                Make const& make) {
  mix_values<Math> values;
  for (index_t i = 0; i < p.rows(b); ++i)
    for (index_t c = 0; c < p.e.channels; ++c) values.push_back(make(t(b, i, c)));
  return values;
}
template <class Math, class T, class Make>
mix_values<Math> weights_of_sample(mix_problem<T> const& p, std::vector<T> const& w, index_t b,
                                   Make const& make) {
  mix_values<Math> values;
  for (index_t m = 0; m < p.factors; ++m)
    for (index_t i = 0; i < p.rows(b); ++i)
      for (index_t k = 0; k < p.links; ++k) values.push_back(make(w[p.weight_index(m, b, i, k)]));
  return values;
}

// Computes the expected results.
template <class T>
void compute_expected(mix_problem<T>& p) {
  using math = mix_exact<T>;
  using scalar = typename math::scalar;
  auto const widen = [](T v) { return static_cast<scalar>(v); };
  bool const accumulates = p.mode == ss::grad_mode::accumulate;
  p.states.assign(static_cast<std::size_t>(p.factors), p.x);
  p.y = p.x;
  p.dx = accumulates ? p.dx_before : tensor<T>(p.e);
  p.dw = accumulates ? p.dw_before : std::vector<T>(p.w.size());
  auto const round_to_element = [](scalar sum) { return with_canonical_nan(static_cast<T>(sum)); };
  for (index_t b = 0; b < p.e.batch; ++b) {
    mix_chain const chain = p.chain(b);
    auto const w = weights_of_sample<math>(p, p.w, b, widen);
    auto const states = mix_states<math>(chain, w, rows_of_sample<math>(p, p.x, b, widen));
    auto const grads =
        mix_gradients<math>(chain, w, states, rows_of_sample<math>(p, p.dy, b, widen),
                            weights_of_sample<math>(p, p.dw, b, widen));
    for (index_t i = 0; i < p.e.length; ++i)
      for (index_t c = 0; c < p.e.channels; ++c) {
        bool const is_mixed = i < chain.rows && p.factors > 0;
        T const& dy = p.dy(b, i, c);
        T& dx = p.dx(b, i, c);
        scalar const sum = is_mixed ? grads.dx[chain.element_index(i, c)] : widen(dy);
        dx = accumulates ? round_to_element(widen(dx) + sum)
             : is_mixed  ? round_to_element(sum)
                         : dy;
        if (!is_mixed) continue;
        p.y(b, i, c) = round_to_element(states.back()[chain.element_index(i, c)]);
        for (std::size_t m = 1; m < p.states.size(); ++m)
          p.states[m](b, i, c) = round_to_element(states[m][chain.element_index(i, c)]);
      }
    for (index_t m = 0; m < p.factors; ++m)
      for (index_t i = 0; i < chain.rows; ++i)
        for (index_t k = 0; k < p.links; ++k)
          p.dw[p.weight_index(m, b, i, k)] =
              round_to_element(grads.dw[chain.weight_index(m, i, k)]);
  }
}

// Returns random offsets: small, negative, far beyond the length, and several to the same row.
inline std::vector<index_t> random_offsets(index_t factors, index_t links, index_t length,
                                           std::uint64_t seed) {
  random_stream random(seed);
  index_t const far = index_t{1} << 62, limits = std::numeric_limits<index_t>::max();
  index_t const n = length > 0 ? length : 1;
  std::vector<index_t> offsets;
  while (offsets.size() < static_cast<std::size_t>(factors * links)) {
    index_t const small = static_cast<index_t>(random.below(7)) - 3;
    index_t const special[] = {0,           small,  far + small,   -far + small, limits,
                               -limits - 1, -n + 1, n * 3 + small, small};
    if (random.below(3) == 0)
      offsets.push_back(special[random.below(9)]);
    else if (!offsets.empty() && random.below(5) == 0)
      offsets.push_back((offsets.back() % n) - n);  // the same row as the previous link
    else
      offsets.push_back(static_cast<index_t>(random.below(static_cast<std::uint64_t>(4 * n))) -
                        2 * n);
  }
  return offsets;
}

// Returns no lengths, or a random length per sample.
inline std::vector<index_t> random_lengths(extents3 e, std::uint64_t seed) {
  random_stream random(seed);
  std::vector<index_t> lengths;
  if (random.below(2) == 0) return lengths;
  for (index_t b = 0; b < e.batch; ++b) {
    index_t const choices[] = {0,
                               e.length,
                               std::min<index_t>(1, e.length),
                               e.length / 2,
                               std::max<index_t>(e.length - 1, 0),
                               (e.length + 2) / 3};
    lengths.push_back(choices[random.below(6)]);
  }
  return lengths;
}

template <class T>
std::vector<T> normal_elements(index_t size, std::uint64_t seed, double scale = 1) {
  random_stream random(seed);
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& v : values) v = from_double<T>(scale * random.normal());
  return values;
}
template <class T>
tensor<T> normal_values(extents3 e, std::uint64_t seed) {
  tensor<T> t(e);
  t.elements() = normal_elements<T>(e.size(), seed);
  return t;
}

// Returns a problem with values that stay bounded through a chain, and random offsets. Some
// problems share weights or accumulate gradients.
template <class T>
mix_problem<T> normal_mix(extents3 e, index_t factors, index_t links, residual_kind residual,
                          std::uint64_t seed, std::vector<index_t> lengths = {}) {
  mix_problem<T> p;
  p.e = e;
  p.factors = factors;
  p.links = links;
  p.residual = residual;
  p.offsets = random_offsets(factors, links, e.length, seed);
  p.x = normal_values<T>(e, seed + 1);
  p.dy = normal_values<T>(e, seed + 2);
  p.w = normal_elements<T>(p.weight_extents().size(), seed + 3,
                           0.7 / std::sqrt(static_cast<double>(links > 0 ? links : 1)));
  p.lengths = std::move(lengths);
  random_stream random(seed + 6);
  p.shared_weights = random.below(4) == 0;
  if (p.shared_weights && e.batch > 1)
    for (index_t m = 0; m < factors; ++m)
      for (index_t b = 1; b < e.batch; ++b)
        for (index_t i = 0; i < e.length; ++i)
          for (index_t k = 0; k < links; ++k)
            p.w[p.weight_index(m, b, i, k)] = p.w[p.weight_index(m, 0, i, k)];
  if (random.below(3) == 0) p.mode = ss::grad_mode::accumulate;
  p.dx_before = normal_values<T>(e, seed + 4);
  p.dw_before = normal_elements<T>(p.weight_extents().size(), seed + 5);
  p.title = "seed=" + std::to_string(seed);
  compute_expected(p);
  return p;
}
// Returns a random problem with a shape within `limits`.
template <class T>
mix_problem<T> random_mix(extents3 limits, index_t factors, index_t links, residual_kind residual,
                          std::uint64_t seed) {
  random_stream random(seed + 77);
  auto const up_to = [&](index_t n) {
    return static_cast<index_t>(random.below(static_cast<std::uint64_t>(n))) + 1;
  };
  extents3 const e{up_to(limits.batch), up_to(limits.length), up_to(limits.channels)};
  return normal_mix<T>(e, factors, links, residual, seed, random_lengths(e, seed + 78));
}
template <class T>
mix_problem<T> with_mode(mix_problem<T> p, ss::grad_mode mode) {
  p.mode = mode;
  compute_expected(p);
  return p;
}

}  // namespace support
