// SPDX-License-Identifier: Apache-2.0
// Reference implementation of sparse_mix by its definition, one sample at a time. Its arithmetic is
// the operator's for exact bits, long double with an error bound, dual numbers, or integers.
#pragma once

#include "support/numbers.hpp"

#include <slicesort/dtype.hpp>
#include <slicesort/tensor_view.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace support {

using slicesort::index_t;

enum class residual_kind { per_factor, none, initial };

// A sample: its valid rows and the chain.
struct mix_chain {
  index_t rows, channels, factors, links;
  residual_kind residual;
  std::vector<index_t> offsets;  // [factors, links]

  index_t offset(index_t link, index_t factor) const {
    return offsets[static_cast<std::size_t>(factor * links + link)];
  }
  // Returns the row that link k of row i reads; with `reverse`, the row whose link k reads row i.
  index_t linked_row(index_t i, index_t link, index_t factor, bool reverse = false) const {
    index_t const distance = offset(link, factor) % rows;
    return (i + (reverse ? -distance : distance) + rows) % rows;
  }
  std::size_t element_index(index_t i, index_t c) const {
    return static_cast<std::size_t>(i * channels + c);
  }
  std::size_t weight_index(index_t factor, index_t i, index_t link) const {
    return static_cast<std::size_t>((factor * rows + i) * links + link);
  }
};

// A `Math` has the type `scalar` and the functions start(v), which returns an accumulator that
// begins with v, fma(a, b, accumulator), plus, and store(accumulator), which returns the next
// factor's input.
template <class Math>
using mix_values = std::vector<typename Math::scalar>;

// Returns V_0 .. V_M of a sample. w is [factors, rows, links], v is [rows, channels].
template <class Math>
std::vector<mix_values<Math>> mix_states(mix_chain const& chain, mix_values<Math> const& w,
                                         mix_values<Math> const& v) {
  std::vector<mix_values<Math>> states{v};
  for (index_t m = 0; m < chain.factors; ++m) {
    mix_values<Math> out(v.size());
    for (index_t i = 0; i < chain.rows; ++i)
      for (index_t c = 0; c < chain.channels; ++c) {
        auto sum = Math::start({});
        if (chain.residual == residual_kind::per_factor)
          sum = Math::start(states.back()[chain.element_index(i, c)]);
        if (chain.residual == residual_kind::initial)
          sum = Math::start(v[chain.element_index(i, c)]);
        for (index_t k = 0; k < chain.links; ++k)
          sum = Math::fma(w[chain.weight_index(m, i, k)],
                          states.back()[chain.element_index(chain.linked_row(i, k, m), c)], sum);
        out[chain.element_index(i, c)] = Math::store(sum);
      }
    states.push_back(out);
  }
  return states;
}

template <class Math>
struct mix_gradient {
  mix_values<Math> dx, dw;  // accumulators, not yet rounded to the element type
};

// `dw` initially holds zeros, or a gradient to accumulate into.
template <class Math>
mix_gradient<Math> mix_gradients(mix_chain const& chain, mix_values<Math> const& w,
                                 std::vector<mix_values<Math>> const& states, mix_values<Math> dz,
                                 mix_values<Math> dw) {
  mix_values<Math> dz_sum(dz.size(), Math::start({}));
  mix_values<Math> dx = dz;
  for (index_t m = chain.factors; m-- > 0;) {
    mix_values<Math> const& v = states[static_cast<std::size_t>(m)];
    for (index_t i = 0; i < chain.rows; ++i)
      for (index_t k = 0; k < chain.links; ++k) {
        auto& total = dw[chain.weight_index(m, i, k)];
        index_t const j = chain.linked_row(i, k, m);
        for (index_t block = 0; block < chain.channels; block += 32) {
          mix_values<Math> lane(16, Math::start({}));
          for (index_t l = 0; l < 16; ++l)
            for (index_t c = block + l; c < chain.channels && c < block + 32; c += 16) {
              auto& sum = lane[static_cast<std::size_t>(l)];
              sum = Math::fma(dz[chain.element_index(i, c)], v[chain.element_index(j, c)], sum);
            }
          for (std::size_t half : {8u, 4u, 2u, 1u})
            for (std::size_t l = 0; l < half; ++l) lane[l] = Math::plus(lane[l], lane[l + half]);
          total = Math::plus(total, lane[0]);
        }
      }
    mix_values<Math> next(dz.size());
    for (index_t p = 0; p < chain.rows; ++p)
      for (index_t c = 0; c < chain.channels; ++c) {
        auto const dz_value = Math::start(dz[chain.element_index(p, c)]);
        auto sum = chain.residual == residual_kind::per_factor ? dz_value : Math::start({});
        if (chain.residual == residual_kind::initial) {
          dz_sum[chain.element_index(p, c)] =
              Math::plus(dz_sum[chain.element_index(p, c)], dz_value);
          if (m == 0) sum = dz_sum[chain.element_index(p, c)];
        }
        for (index_t k = 0; k < chain.links; ++k) {
          index_t const j = chain.linked_row(p, k, m, true);
          sum = Math::fma(w[chain.weight_index(m, j, k)], dz[chain.element_index(j, c)], sum);
        }
        next[chain.element_index(p, c)] = m == 0 ? sum : Math::store(sum);
      }
    dx = dz = next;
  }
  return {dx, dw};
}

// Arithmetic of the operator for elements T.
template <class T>
struct mix_exact {
  using scalar = slicesort::detail::accumulator_t<T>;
  static scalar start(scalar v) { return v; }
  static scalar fma(scalar a, scalar b, scalar sum) { return std::fma(a, b, sum); }
  static scalar plus(scalar a, scalar b) { return a + b; }
  static scalar store(scalar sum) { return static_cast<scalar>(static_cast<T>(sum)); }
};

// Unrounded arithmetic, of integers or dual numbers.
template <class N>
struct mix_unrounded {
  using scalar = N;
  static N start(N v) { return v; }
  static N fma(N a, N b, N sum) { return a * b + sum; }
  static N plus(N a, N b) { return a + b; }
  static N store(N sum) { return sum; }
};

// Dual number: a value and its derivative.
struct mix_dual {
  double value = 0, slope = 0;

  friend mix_dual operator+(mix_dual a, mix_dual b) {
    return {a.value + b.value, a.slope + b.slope};
  }
  friend mix_dual operator*(mix_dual a, mix_dual b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
};

// A value, the error bound of the operator's result and, for an accumulator, the sum of the
// magnitudes of its terms and the maximum of their roundings.
//
// If no term of a sum goes through more than n roundings, the error is at most gamma_n = n u / (1
// - n u) times the sum of the terms' magnitudes (u: half a unit of the accumulator's last place); a
// narrower element type adds half a unit of its last place. Errors of inputs propagate through the
// same sums of absolute values. Underflow adds half the smallest subnormal number per rounding.
template <class T>
struct mix_bounded {
  struct scalar {
    long double value = 0, error = 0, terms = 0;
    int roundings = 0;
  };
  static long double unit(number_format f) { return std::ldexp(1.0L, -(f.fraction_bits + 1)); }
  static long double min_subnormal(number_format f) {
    return std::ldexp(1.0L, -(f.bias() + f.fraction_bits));
  }
  static constexpr number_format element = format_of<T>();
  static constexpr number_format accumulator = format_of<slicesort::detail::accumulator_t<T>>();

  static scalar start(scalar v) { return {v.value, v.error, std::fabs(v.value) + v.error, 0}; }
  static scalar fma(scalar a, scalar b, scalar sum) {
    long double const in_a = std::fabs(a.value), in_b = std::fabs(b.value);
    long double const error = in_a * b.error + a.error * in_b + a.error * b.error;
    return {a.value * b.value + sum.value, sum.error + error + min_subnormal(accumulator),
            sum.terms + in_a * in_b + error, sum.roundings + 1};
  }
  static scalar plus(scalar a, scalar b) {
    return {a.value + b.value, a.error + b.error, a.terms + b.terms,
            (a.roundings > b.roundings ? a.roundings : b.roundings) + 1};
  }
  static scalar store(scalar sum) {
    // Allows for the roundings of long double.
    long double const n = 1.002L * sum.roundings * unit(accumulator), gamma = n / (1 - n);
    long double error = sum.error + gamma * sum.terms;
    if (sizeof(T) < sizeof(slicesort::detail::accumulator_t<T>))
      error += unit(element) * (std::fabs(sum.value) + error) + min_subnormal(element);
    return {sum.value, error, 0, 0};
  }
};

}  // namespace support
