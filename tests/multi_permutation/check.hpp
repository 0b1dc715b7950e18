// SPDX-License-Identifier: Apache-2.0
// Compares multi_permutation with dense matrices: powers by repeated products, sums in long double,
// and error bounds derived from the roundings.
#pragma once

#include "slicing_sort/check.hpp"
#include "slicing_sort/oracle.hpp"
#include "support/numbers.hpp"
#include "support/variants.hpp"

#include <slicesort/multi_permutation.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

template <class T>
using accumulator = typename ss::dtype_traits<T>::accumulator;

// Unit roundoff: half a unit in the last place of 1.
template <class T>
long double unit_roundoff() {
  return std::ldexp(1.0L, -format_of<T>().fraction_bits - 1);
}
// Bound of n successive roundings (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
inline long double rounding_bound(long double n, long double u) { return n * u / (1 - n * u); }

template <class T>
struct multi_case {
  index_t components = 1;
  std::vector<accumulator<T>> weights;  // uniform if empty
  std::uint64_t order = irregular;

  ss::multi_permutation<pattern_order> op() const {
    return ss::multi_permutation<pattern_order>(components, pattern_order{order});
  }
  long double weight(index_t k) const {
    if (weights.empty()) return 1.0L / static_cast<long double>(components);
    return static_cast<long double>(weights[static_cast<std::size_t>(k - 1)]);
  }
  // Calls f(uniform_weights) or f(view of the weights).
  template <class F>
  void with_weights(F const& f) const {
    if (weights.empty())
      f(ss::uniform_weights);
    else
      f(ss::tensor1<accumulator<T> const>(weights.data(), components));
  }

  // Returns a function that runs forward and backward.
  template <class Index = std::uint32_t>
  auto make_runner() const {
    return [this](any_exec const& exec, auto x, auto y, auto dy, auto dx, auto lengths) {
      extents3 const e = x.extents();
      auto const operation = op();
      tensor<Index> perm(e);
      std::size_t const bytes = operation.template workspace_bytes<T>(exec, e);
      guarded_workspace forward_workspace(bytes), backward_workspace(bytes, 37, 0);
      with_weights([&](auto w) {
        operation.forward(exec, x, w, y, {perm.view()}, forward_workspace.get(), {lengths});
        operation.backward(exec, dy, w, {perm.view()}, dx, backward_workspace.get(),
                           {ss::grad_mode::overwrite, lengths});
      });
      CHECK((forward_workspace.red_zones_intact() && backward_workspace.red_zones_intact()));
    };
  }
};

// Returns cases with uniform weights, and with weights of both signs.
template <class T>
std::vector<multi_case<T>> multi_cases() {
  using A = accumulator<T>;
  return {{1, {}, up},
          {2, {}, irregular},
          {3, {A(0.7), A(-1.3), A(0.1)}, down},
          {5, {}, zigzag},
          {6, {A(1), A(-1), A(0.5), A(0), A(3), A(-0.3)}, irregular}};
}

// Returns values whose products neither overflow nor underflow.
template <class T>
tensor<T> tame_tensor(extents3 e, std::uint64_t seed) {
  constexpr input_kind kinds[] = {input_kind::normal, input_kind::few_unique, input_kind::relu,
                                  input_kind::uniform};
  return tensor_of_columns<T>(e, [=](std::uint64_t column) {
    return make_column<T>(kinds[(column + seed) % 4], static_cast<std::size_t>(e.length),
                          seed + 7919 * column);
  });
}

// Largest ratio of an error to its bound; must be at most 1.
struct error_ratio {
  long double max = 0;
  void add(long double error, long double bound) {
    if (error != 0) max = max_or_nan(max, bound > 0 ? std::fabs(error) / bound : 1e30L);
  }
};

// Compares `actual` with sum_k a_k P^k v for the values v, or with its transpose, for the valid
// rows of one column.
template <class T>
void compare_column(multi_case<T> const& m, permutation_matrix const& sorting, bool transpose,
                    std::vector<T> const& values, std::vector<T> const& actual,
                    error_ratio& ratio) {
  std::vector<long double> sum(values.size()), magnitude(values.size());
  std::vector<T> power = values;
  for (index_t k = 1; k <= m.components; ++k) {
    power = transpose ? sorting.transpose_times(power) : sorting.times(power);
    for (std::size_t n = 0; n < values.size(); ++n) {
      long double const term = m.weight(k) * decode(power[n]).value;
      sum[n] += term;
      magnitude[n] += std::fabs(term);
    }
  }
  for (std::size_t n = 0; n < values.size(); ++n) {
    // Roundings of a product, a sum and, for uniform weights, a quotient, followed by the rounding
    // to 16 bits.
    long double bound = rounding_bound(static_cast<long double>(m.components + 1),
                                       unit_roundoff<accumulator<T>>()) *
                        magnitude[n];
    if (sizeof(T) == 2)
      bound += unit_roundoff<T>() * (std::fabs(sum[n]) + bound) +
               std::ldexp(1.0L, -format_of<T>().bias() - format_of<T>().fraction_bits);
    ratio.add(as_double(actual[n]) - sum[n], bound);
  }
}

}  // namespace support
