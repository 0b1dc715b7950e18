// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of sparse_mix. A policy such as chord-per_factor-M:12 names topology, residual and
// factors. Weights are random; sums of absolute values bound the rounding errors.
#pragma once

#include "driver/case.hpp"
#include "driver/dataset.hpp"
#include "driver/tensors.hpp"

#include <slicesort/sparse_mix.hpp>

#include <algorithm>
#include <cstddef>
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

  bool is_chord() const { return topology == "chord"; }
  ss::index_t links() const { return is_chord() ? factors + 1 : 3; }
  // The definition of chord: 0, 1, 2, 4, ..; and of cdil: 0, 2^m, -2^m.
  ss::index_t offset(ss::index_t link, ss::index_t factor) const {
    if (link == 0) return 0;
    if (is_chord()) return ss::index_t{1} << (link - 1);
    return link == 1 ? ss::index_t{1} << factor : -(ss::index_t{1} << factor);
  }
};

// Calls `f` with the operator of the case.
template <class F>
auto with_sparse_mix(case_params const& params, ss::checkpoints saved, F const& f) {
  mix_policy const policy(params.policy);
  auto const with_residual = [&](auto topology, auto residual) {
    return f(ss::sparse_mix<decltype(topology), decltype(residual)>{topology, saved});
  };
  auto const with_topology = [&](auto topology) {
    if (policy.residual == "none") return with_residual(topology, ss::residual::none{});
    if (policy.residual == "initial") return with_residual(topology, ss::residual::initial{});
    return with_residual(topology, ss::residual::per_factor{});
  };
  return policy.is_chord() ? with_topology(ss::topology::chord{})
                           : with_topology(ss::topology::cdil{1});
}

template <class T, class Backend = host_backend>
class mix_job : public backend_job<Backend> {
 public:
  explicit mix_job(case_params const& params)
      : backend_job<Backend>(params),
        policy(params.policy),
        is_backward(params.direction != "forward" && params.direction != "forward_values"),
        x(get_dataset<T>(params.input, Backend::host_params(params).extents)),
        from(is_backward ? get_dataset<T>("uniform", x->extents) : x),
        shape{policy.factors, params.extents.batch, params.extents.length, policy.links()},
        host_shape{policy.factors, x->extents.batch, params.extents.length, policy.links()},
        weights(static_cast<std::size_t>(host_shape.size())),
        to(from->values.size()),
        backend_from(params.extents, from->values),
        backend_to(params.extents, to),
        backend_weights(shape, draw_weights(weights, host_shape)) {
    this->traffic_bytes = backend_from.bytes() + backend_to.bytes() + backend_weights.bytes();
    // The gradient of the weights doubles the operations.
    this->flops = 2.0 * static_cast<double>(params.extents.size()) *
                  static_cast<double>(shape.outer * shape.channels) *
                  (params.direction == "backward" ? 2.0 : 1.0);
    // One rounding per link and factor, relative to the sums of absolute values.
    this->tolerance = static_cast<double>((shape.channels + 2) * shape.outer) * unit_roundoff<T>();
  }

  // Recomputes some columns of y or dx in double.
  double max_error() override {
    if (!backend_to.fetch(to)) return wrong_result;
    double error = 0;
    std::size_t const step = std::max<std::size_t>(1, x->verified_columns.size() / 16);
    for (std::size_t k = 0; k < x->verified_columns.size(); k += step)
      error = larger_error(error, column_error(x->verified_columns[k]));
    return error;
  }

 protected:
  mix_policy const policy;
  bool const is_backward;
  std::shared_ptr<dataset<T>> x, from;
  ss::stack_extents const shape,  // weights
      host_shape;                 // their copy on the host, which may have fewer samples
  buffer<T> weights, to;
  typename Backend::template tensor<T> backend_from, backend_to;
  typename Backend::template stack<T> backend_weights;

 private:
  static buffer<T> const& draw_weights(buffer<T> const& w, ss::stack_extents extents) {
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = from_double<T>((random_uniform(input_seed + 7, i) - 0.5) /
                            static_cast<double>(extents.channels));
    return w;
  }
  // Weight of factor m, sample b, row i and link k.
  double weight(ss::index_t m, ss::index_t b, ss::index_t i, ss::index_t k) const {
    return to_double(weights[static_cast<std::size_t>(
        ((m * host_shape.batch + b) * host_shape.length + i) * host_shape.channels + k)]);
  }
  double column_error(std::size_t column) const {
    auto const n = shape.length;
    ss::index_t const sample = static_cast<ss::index_t>(column) / this->params_.extents.channels;
    std::vector<tracked_sum> input;
    for (double const value : from->column(column)) input.push_back(tracked_sum::exact(value));
    std::vector<tracked_sum> v = input, next(v.size()), sum(v.size());  // sum: residual::initial
    for (ss::index_t step = 0; step < shape.outer; ++step) {
      ss::index_t const m = is_backward ? shape.outer - 1 - step : step;
      for (std::size_t i = 0; i < v.size(); ++i) {
        next[i] = policy.residual == "per_factor" ? v[i] : tracked_sum{};
        if (policy.residual != "initial") continue;
        sum[i] += v[i];
        if (!is_backward) next[i] = input[i];
        if (is_backward && m == 0) next[i] = sum[i];
      }
      for (ss::index_t i = 0; i < n; ++i)
        for (ss::index_t k = 0; k < shape.channels; ++k) {
          auto const row = static_cast<std::size_t>(i);
          auto const linked_row = static_cast<std::size_t>(((i + policy.offset(k, m)) % n + n) % n);
          next[is_backward ? linked_row : row] +=
              v[is_backward ? row : linked_row] * weight(m, sample, i, k);
        }
      v.swap(next);
    }
    double error = 0;
    auto const channels = static_cast<std::size_t>(this->params_.extents.channels);
    for (std::size_t i = 0; i < v.size(); ++i)
      error = larger_error(
          error, v[i].error_of(to_double(to[from->column_offset(column) + i * channels])));
    return error;
  }
};

// Job of one direction: forward saves all states, forward_values none. backward loads them or, for
// sparse_mix_recompute, recomputes them. backward_input computes only the gradient of x.
template <class T, class Backend>
class mix_call_job : public mix_job<T, Backend> {
 public:
  explicit mix_call_job(case_params const& params)
      : mix_job<T, Backend>(params),
        has_weight_gradients_(params.direction == "backward"),
        checkpoints_(params.subject == "sparse_mix_recompute" ? ss::recompute : ss::save_all),
        gradients(has_weight_gradients_ ? this->weights.size() : 0),
        states(static_cast<std::size_t>(has_weight_gradients_ || params.direction == "forward"
                                            ? state_extents(this->host_shape.batch).size()
                                            : 0)),
        backend_gradients(this->shape, gradients),
        backend_states(state_extents(params.extents.batch), states) {
    with_sparse_mix(params, checkpoints_, [&](auto const& op) {
      this->allocate_scratch(op.workspace_bytes(this->exec(), this->backend_from.const_view(),
                                                this->backend_weights.view()));
    });
    this->saved_bytes = backend_states.bytes();
    this->traffic_bytes += backend_states.bytes() + backend_gradients.bytes();
    if (!has_weight_gradients_) return;
    backend_x_ = typename Backend::template tensor<T>(params.extents, this->x->values);
    this->traffic_bytes += backend_x_.bytes();
    with_sparse_mix(params, checkpoints_, [&](auto const& op) {
      op.forward(this->exec(), backend_x_.const_view(), this->backend_weights.view(),
                 this->backend_to.view(), backend_states.view(), this->scratch);
      Backend::wait();
    });
  }
  void run() override {
    auto const source = this->backend_from.const_view();
    auto const target = this->backend_to.view();
    auto const w = this->backend_weights.view();
    with_sparse_mix(this->params_, checkpoints_, [&](auto const& op) {
      if (this->params_.direction == "forward")
        op.forward(this->exec(), source, w, target, backend_states.view(), this->scratch);
      else if (this->params_.direction == "forward_values")
        op.forward(this->exec(), source, w, target, ss::no_saved, this->scratch);
      else if (this->params_.direction == "backward_input")
        op.backward(this->exec(), source, w, target, this->scratch);
      else
        op.backward(this->exec(), source, backend_x_.const_view(), w, backend_states.view(), target,
                    backend_gradients.view(), this->scratch);
    });
  }

  // Also verifies the gradients of the weights.
  double max_error() override {
    double const error = mix_job<T, Backend>::max_error();
    return has_weight_gradients_ ? larger_error(error, weight_gradient_error()) : error;
  }

 private:
  ss::stack_extents state_extents(ss::index_t batch) const {
    return {checkpoints_.states(this->shape.outer), batch, this->params_.extents.length,
            this->params_.extents.channels};
  }

  // Error of the gradient of the last factor's weights; 0 if the factor's input was not saved.
  virtual double weight_gradient_error() const {
    if (!backend_gradients.fetch(gradients) || !backend_states.fetch(states)) return wrong_result;
    ss::index_t const m = this->shape.outer - 1;
    if (m > 0 && checkpoints_.every != 1) return 0.0;
    ss::extents3 const extents = this->x->extents;
    auto const v = m == 0 ? const_view(this->x->values, extents)
                          : ss::tensor3<T const>(ss::tensor_stack<T const>(
                                states.data(), state_extents(extents.batch))[m - 1]);
    auto const dz = const_view(this->from->values, extents);
    auto const dw = ss::tensor_stack<T>(gradients.data(), this->host_shape);
    double error = 0;
    ss::index_t const n = extents.length, step = std::max<ss::index_t>(1, n / 64) | 1;
    for (ss::index_t b = 0; b < extents.batch; ++b)
      for (ss::index_t i = 0; i < n; i += step)
        for (ss::index_t k = 0; k < this->host_shape.channels; ++k) {
          ss::index_t const linked_row = ((i + this->policy.offset(k, m)) % n + n) % n;
          tracked_sum expected;
          for (ss::index_t c = 0; c < extents.channels; ++c)
            expected += tracked_sum::exact(to_double(dz(b, i, c))) * to_double(v(b, linked_row, c));
          error = larger_error(error, expected.error_of(to_double(dw(m, b, i, k))));
        }
    return error;
  }

  bool const has_weight_gradients_;
  ss::checkpoints const checkpoints_;

 protected:
  buffer<T> gradients, states;
  typename Backend::template stack<T> backend_gradients, backend_states;

 private:
  typename Backend::template tensor<T> backend_x_;
};

}  // namespace bench
