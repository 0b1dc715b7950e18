// SPDX-License-Identifier: Apache-2.0
// The cases of sparse_mix. Their policy is a name such as chord-per_factor-M:12; weights are
// random, and sums of absolute values bound the rounding errors.
#pragma once

#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/tensors.hpp"

#include <slicesort/sparse_mix.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace bench {

struct mix_policy {
  std::string topology, residual;
  ss::index_t factors;

  explicit mix_policy(std::string const& name)
      : topology(name.substr(0, name.find('-'))),
        residual(name.substr(topology.size() + 1, name.rfind("-M:") - topology.size() - 1)),
        factors(std::stol(name.substr(name.rfind(':') + 1))) {}

  bool chord() const { return topology == "chord"; }
  ss::index_t links() const { return chord() ? factors + 1 : 3; }
  // Written from the definition: 0, 1, 2, 4, .. or 0, 2^m, -2^m.
  ss::index_t offset(ss::index_t link, ss::index_t factor) const {
    if (link == 0) return 0;
    if (chord()) return ss::index_t{1} << (link - 1);
    return link == 1 ? ss::index_t{1} << factor : -(ss::index_t{1} << factor);
  }
};

// Calls `f` with the operator of the case.
template <class F>
auto with_mix(fields const& at, ss::checkpoints saved, F const& f) {
  mix_policy const p(at.policy);
  auto const with_residual = [&](auto topology, auto residual) {
    return f(ss::sparse_mix<decltype(topology), decltype(residual)>{topology, saved});
  };
  auto const with_topology = [&](auto topology) {
    if (p.residual == "none") return with_residual(topology, ss::residual::none{});
    if (p.residual == "initial") return with_residual(topology, ss::residual::initial{});
    return with_residual(topology, ss::residual::per_factor{});
  };
  return p.chord() ? with_topology(ss::topology::chord{}) : with_topology(ss::topology::cdil{1});
}

template <class T>
class mix_job : public job {
 public:
  explicit mix_job(fields const& f)
      : at(f),
        policy(f.policy),
        backward(f.direction != "forward" && f.direction != "forward_values"),
        shape{policy.factors, f.extents.batch, f.extents.length, policy.links()},
        x(get_dataset<T>(f.input, f.extents)),
        from(backward ? get_dataset<T>("uniform", f.extents) : x),
        weights(static_cast<std::size_t>(shape.size())),
        to(from->values.size()) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = rounded<T>((random_uniform(input_seed + 7, i) - 0.5) /
                              static_cast<double>(shape.channels));
    traffic_bytes = from->values.bytes() + to.bytes() + weights.bytes();
    // The gradient of the weights takes as many products again.
    flops = 2.0 * static_cast<double>(f.extents.size()) *
            static_cast<double>(shape.outer * shape.channels) *
            (f.direction == "backward" ? 2.0 : 1.0);
    // One rounding per link and factor, relative to the sums of absolute values.
    tolerance = static_cast<double>((shape.channels + 2) * shape.outer) * unit_roundoff<T>();
  }

  // Recomputes some columns of y or dx in double.
  double max_error() override {
    double error = 0;
    std::size_t const step = std::max<std::size_t>(1, x->verified.size() / 16);
    for (std::size_t k = 0; k < x->verified.size(); k += step)
      error = std::max(error, error_of_column(x->verified[k]));
    return error;
  }

 protected:
  auto w() const { return ss::tensor_stack<T const>(weights.data(), shape); }

  fields const at;
  mix_policy const policy;
  bool const backward;
  ss::stack_extents const shape;  // of the weights
  std::shared_ptr<dataset<T>> x, from;
  buffer<T> weights, to;

 private:
  double weight(ss::index_t m, ss::index_t b, ss::index_t i, ss::index_t k) const {
    return decoded(weights[static_cast<std::size_t>(
        ((m * shape.batch + b) * shape.length + i) * shape.channels + k)]);
  }
  double error_of_column(std::size_t number) const {
    auto const n = shape.length;
    ss::index_t const sample = static_cast<ss::index_t>(number) / at.extents.channels;
    std::vector<double> const first = from->column(number);
    std::vector<double> v = first, size = first, next(v.size()), next_size(v.size());
    for (double& s : size) s = std::abs(s);
    std::vector<double> const first_size = size;
    std::vector<double> kept(v.size(), 0.0), kept_size(v.size(), 0.0);  // initial, backward
    for (ss::index_t step = 0; step < shape.outer; ++step) {
      ss::index_t const m = backward ? shape.outer - 1 - step : step;
      for (std::size_t i = 0; i < v.size(); ++i) {
        next[i] = policy.residual == "per_factor" ? v[i] : 0.0;
        next_size[i] = policy.residual == "per_factor" ? size[i] : 0.0;
        if (policy.residual != "initial") continue;
        kept[i] += v[i], kept_size[i] += size[i];
        if (!backward) next[i] = first[i], next_size[i] = first_size[i];
        if (backward && m == 0) next[i] = kept[i], next_size[i] = kept_size[i];
      }
      for (ss::index_t i = 0; i < n; ++i)
        for (ss::index_t k = 0; k < shape.channels; ++k) {
          auto const one = static_cast<std::size_t>(i);
          auto const other = static_cast<std::size_t>(((i + policy.offset(k, m)) % n + n) % n);
          double const by = weight(m, sample, i, k);
          std::size_t const target = backward ? other : one, source = backward ? one : other;
          next[target] += by * v[source];
          next_size[target] += std::abs(by) * size[source];
        }
      v.swap(next), size.swap(next_size);
    }
    double error = 0;
    std::size_t const start = from->start(number);
    for (std::size_t i = 0; i < v.size(); ++i) {
      double const is = decoded(to[start + i * static_cast<std::size_t>(at.extents.channels)]);
      double const bound = size[i] + std::numeric_limits<double>::min();
      error = worst(error, std::abs(is - v[i]) / bound);
    }
    return error;
  }
};

}  // namespace bench
