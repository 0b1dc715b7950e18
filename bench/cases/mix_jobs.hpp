// SPDX-License-Identifier: Apache-2.0
// The cases of sparse_mix. Their policy is a name such as chord-per_factor-M:12; weights are
// random, and sums of absolute values bound the rounding errors.
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

template <class T, class Place = host_place>
class mix_job : public place_job<Place> {
 public:
  explicit mix_job(fields const& f)
      : place_job<Place>(f),
        policy(f.policy),
        backward(f.direction != "forward" && f.direction != "forward_values"),
        x(get_dataset<T>(f.input, Place::held(f).extents)),
        from(backward ? get_dataset<T>("uniform", x->extents) : x),
        shape{policy.factors, f.extents.batch, f.extents.length, policy.links()},
        held{policy.factors, x->extents.batch, f.extents.length, policy.links()},
        weights(static_cast<std::size_t>(held.size())),
        to(from->values.size()),
        placed_from(f.extents, from->values),
        placed_to(f.extents, to),
        placed_weights(shape, drawn(weights, held)) {
    this->traffic_bytes = placed_from.bytes() + placed_to.bytes() + placed_weights.bytes();
    // The gradient of the weights takes as many products again.
    this->flops = 2.0 * static_cast<double>(f.extents.size()) *
                  static_cast<double>(shape.outer * shape.channels) *
                  (f.direction == "backward" ? 2.0 : 1.0);
    // One rounding per link and factor, relative to the sums of absolute values.
    this->tolerance = static_cast<double>((shape.channels + 2) * shape.outer) * unit_roundoff<T>();
  }

  // Recomputes some columns of y or dx in double.
  double max_error() override {
    if (!placed_to.fetch(to)) return wrong;
    double error = 0;
    std::size_t const step = std::max<std::size_t>(1, x->verified.size() / 16);
    for (std::size_t k = 0; k < x->verified.size(); k += step)
      error = std::max(error, error_of_column(x->verified[k]));
    return error;
  }

 protected:
  mix_policy const policy;
  bool const backward;
  std::shared_ptr<dataset<T>> x, from;
  ss::stack_extents const shape, held;  // of the weights, of all samples and on the host
  buffer<T> weights, to;
  typename Place::template tensor<T> placed_from, placed_to;
  typename Place::template stack<T> placed_weights;

 private:
  static buffer<T> const& drawn(buffer<T> const& w, ss::stack_extents e) {
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = from_double<T>((random_uniform(input_seed + 7, i) - 0.5) /
                            static_cast<double>(e.channels));
    return w;
  }
  double weight(ss::index_t m, ss::index_t b, ss::index_t i, ss::index_t k) const {
    return decoded(weights[static_cast<std::size_t>(
        ((m * held.batch + b) * held.length + i) * held.channels + k)]);
  }
  double error_of_column(std::size_t number) const {
    auto const n = shape.length;
    ss::index_t const sample = static_cast<ss::index_t>(number) / this->at.extents.channels;
    std::vector<sized> first;
    for (double const value : from->column(number)) first.push_back(sized::exact(value));
    std::vector<sized> v = first, next(v.size()), sum(v.size());  // sum: initial, backward
    for (ss::index_t step = 0; step < shape.outer; ++step) {
      ss::index_t const m = backward ? shape.outer - 1 - step : step;
      for (std::size_t i = 0; i < v.size(); ++i) {
        next[i] = policy.residual == "per_factor" ? v[i] : sized{};
        if (policy.residual != "initial") continue;
        sum[i] += v[i];
        if (!backward) next[i] = first[i];
        if (backward && m == 0) next[i] = sum[i];
      }
      for (ss::index_t i = 0; i < n; ++i)
        for (ss::index_t k = 0; k < shape.channels; ++k) {
          auto const one = static_cast<std::size_t>(i);
          auto const other = static_cast<std::size_t>(((i + policy.offset(k, m)) % n + n) % n);
          next[backward ? other : one] += v[backward ? one : other] * weight(m, sample, i, k);
        }
      v.swap(next);
    }
    double error = 0;
    auto const channels = static_cast<std::size_t>(this->at.extents.channels);
    for (std::size_t i = 0; i < v.size(); ++i)
      error = worst(error, v[i].error_of(decoded(to[from->start(number) + i * channels])));
    return error;
  }
};

// forward saves all states, forward_values none. backward reads them or, for sparse_mix_recompute,
// recomputes them; backward_input is the gradient of x alone.
template <class T, class Place>
class mix_call_job : public mix_job<T, Place> {
 public:
  explicit mix_call_job(fields const& f)
      : mix_job<T, Place>(f),
        weighed_(f.direction == "backward"),
        every_(f.subject == "sparse_mix_recompute" ? ss::recompute : ss::save_all),
        gradients(weighed_ ? this->weights.size() : 0),
        states(static_cast<std::size_t>(
            weighed_ || f.direction == "forward" ? states_of(this->held.batch).size() : 0)),
        placed_gradients(this->shape, gradients),
        placed_states(states_of(f.extents.batch), states) {
    with_mix(f, every_, [&](auto const& op) {
      this->allocate(op.workspace_bytes(this->exec(), this->placed_from.const_view(),
                                        this->placed_weights.view()));
    });
    this->saved_bytes = placed_states.bytes();
    this->traffic_bytes += placed_states.bytes() + placed_gradients.bytes();
    if (!weighed_) return;
    placed_x_ = typename Place::template tensor<T>(f.extents, this->x->values);
    this->traffic_bytes += placed_x_.bytes();
    with_mix(f, every_, [&](auto const& op) {
      op.forward(this->exec(), placed_x_.const_view(), this->placed_weights.view(),
                 this->placed_to.view(), placed_states.view(), this->scratch);
      Place::wait();
    });
  }
  void run() override {
    auto const in = this->placed_from.const_view();
    auto const out = this->placed_to.view();
    auto const w = this->placed_weights.view();
    with_mix(this->at, every_, [&](auto const& op) {
      if (this->at.direction == "forward")
        op.forward(this->exec(), in, w, out, placed_states.view(), this->scratch);
      else if (this->at.direction == "forward_values")
        op.forward(this->exec(), in, w, out, ss::no_saved, this->scratch);
      else if (this->at.direction == "backward_input")
        op.backward(this->exec(), in, w, out, this->scratch);
      else
        op.backward(this->exec(), in, placed_x_.const_view(), w, placed_states.view(), out,
                    placed_gradients.view(), this->scratch);
    });
  }

  // Checks the weights' gradients as well, where they can be recomputed.
  double max_error() override {
    double const error = mix_job<T, Place>::max_error();
    return weighed_ ? std::max(error, error_of_gradients()) : error;
  }

 private:
  ss::stack_extents states_of(ss::index_t batch) const {
    return {every_.states(this->shape.outer), batch, this->at.extents.length,
            this->at.extents.channels};
  }

  // The error of the gradient of the last factor's weights, which are sums over channels. 0 if the
  // factor's input was not saved.
  virtual double error_of_gradients() const {
    if (!placed_gradients.fetch(gradients) || !placed_states.fetch(states)) return wrong;
    ss::index_t const m = this->shape.outer - 1;
    if (m > 0 && every_.every != 1) return 0.0;
    ss::extents3 const e = this->x->extents;
    auto const v = m == 0 ? const_view(this->x->values, e)
                          : ss::tensor3<T const>(ss::tensor_stack<T const>(
                                states.data(), states_of(e.batch))[m - 1]);
    auto const dz = const_view(this->from->values, e);
    auto const dw = ss::tensor_stack<T>(gradients.data(), this->held);
    double error = 0;
    ss::index_t const n = e.length, step = std::max<ss::index_t>(1, n / 64) | 1;
    for (ss::index_t b = 0; b < e.batch; ++b)
      for (ss::index_t i = 0; i < n; i += step)
        for (ss::index_t k = 0; k < this->held.channels; ++k) {
          ss::index_t const other = ((i + this->policy.offset(k, m)) % n + n) % n;
          sized want;
          for (ss::index_t c = 0; c < e.channels; ++c)
            want += sized::exact(decoded(dz(b, i, c))) * decoded(v(b, other, c));
          error = worst(error, want.error_of(decoded(dw(m, b, i, k))));
        }
    return error;
  }

  bool const weighed_;
  ss::checkpoints const every_;

 protected:
  buffer<T> gradients, states;
  typename Place::template stack<T> placed_gradients, placed_states;

 private:
  typename Place::template tensor<T> placed_x_;
};

}  // namespace bench
