// SPDX-License-Identifier: Apache-2.0
// sparse_mix, and its baselines: factor by factor, and as many multiply-adds alone. Compiled once
// per element type.
#include "cases/mix_jobs.hpp"
#include "driver/host/mix_baseline.hpp"
#include "driver/settings.hpp"
#include "driver/subjects.hpp"

#include <slicesort/sparse_mix.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {
namespace {

// forward saves all states, forward_values none. backward reads them or, for sparse_mix_recompute,
// recomputes them; backward_input is the gradient of x alone.
template <class T>
class mix_call_job final : public mix_job<T> {
 public:
  explicit mix_call_job(fields const& f)
      : mix_job<T>(f),
        every_(f.subject == "sparse_mix_recompute" ? ss::recompute : ss::save_all),
        states_shape_{every_.states(this->shape.outer), f.extents.batch, f.extents.length,
                      f.extents.channels},
        gradients_(f.direction == "backward" ? this->weights.size() : 0) {
    this->workspace_bytes = with_mix(f, every_, [&](auto const& op) {
      return op.template workspace_bytes<T>(f.exec(), f.extents, this->shape);
    });
    scratch_ = buffer<unsigned char>(this->workspace_bytes);
    if (f.direction == "forward" || f.direction == "backward")
      states_ = buffer<T>(static_cast<std::size_t>(states_shape_.size()));
    this->saved_bytes = states_.bytes();
    this->traffic_bytes += states_.bytes() + gradients_.bytes();
    if (f.direction == "backward") {
      this->traffic_bytes += this->x->values.bytes();
      buffer<T> const y(this->to.size());
      with_mix(f, every_, [&](auto const& op) {
        op.forward(f.exec(), input(), this->w(), view(y, f.extents), {states()}, lend(scratch_));
      });
    }
  }
  void run() override {
    auto const on = this->at.exec();
    auto const source = const_view(this->from->values, this->at.extents);
    auto const target = view(this->to, this->at.extents);
    with_mix(this->at, every_, [&](auto const& op) {
      if (this->at.direction == "forward")
        op.forward(on, source, this->w(), target, {states()}, lend(scratch_));
      else if (this->at.direction == "forward_values")
        op.forward(on, source, this->w(), target, ss::no_saved, lend(scratch_));
      else if (this->at.direction == "backward_input")
        op.backward(on, source, this->w(), target, lend(scratch_));
      else
        op.backward(on, source, input(), this->w(), {states()}, target,
                    ss::tensor_stack<T>(gradients_.data(), this->shape), lend(scratch_));
    });
  }

  // Checks the weights' gradients as well, where they can be recomputed.
  double max_error() override {
    double const error = mix_job<T>::max_error();
    if (this->at.direction != "backward") return error;
    return std::max(error, error_of_gradients());
  }

 private:
  auto input() const { return const_view(this->x->values, this->at.extents); }
  ss::tensor_stack<T> states() const { return {states_.data(), states_shape_}; }

  // The error of the gradient of the last factor's weights, which are sums over channels. 0 if the
  // factor's input was not saved.
  double error_of_gradients() const {
    ss::index_t const m = this->shape.outer - 1;
    if (m > 0 && every_.every != 1) return 0.0;
    auto const v = m == 0 ? input() : ss::tensor3<T const>(states()[m - 1]);
    auto const dz = const_view(this->from->values, this->at.extents);
    auto const dw = ss::tensor_stack<T>(gradients_.data(), this->shape);
    double error = 0;
    ss::index_t const n = this->shape.length, step = std::max<ss::index_t>(1, n / 64) | 1;
    for (ss::index_t b = 0; b < this->shape.batch; ++b)
      for (ss::index_t i = 0; i < n; i += step)
        for (ss::index_t k = 0; k < this->shape.channels; ++k) {
          ss::index_t const other = ((i + this->policy.offset(k, m)) % n + n) % n;
          double want = 0, size = 1e-300;
          for (ss::index_t c = 0; c < this->at.extents.channels; ++c) {
            double const product = decoded(dz(b, i, c)) * decoded(v(b, other, c));
            want += product, size += std::abs(product);
          }
          error = worst(error, std::abs(decoded(dw(m, b, i, k)) - want) / size);
        }
    return error;
  }

  ss::checkpoints const every_;
  ss::stack_extents const states_shape_;
  buffer<T> gradients_, states_;
  buffer<unsigned char> scratch_;
};

// sparse_mix as a loop over factors, each over the whole tensor.
template <class T>
class per_factor_job final : public mix_job<T> {
 public:
  explicit per_factor_job(fields const& f) : mix_job<T>(f), other_(this->to.size()) {
    this->workspace_bytes = other_.bytes();
  }
  void run() override {
    ss::extents3 const e = this->at.extents;
    ss::index_t const links = this->shape.channels, factors = this->shape.outer;
    std::vector<ss::index_t> offset(static_cast<std::size_t>(links));
    T const* v = this->x->values.data();
    for (ss::index_t m = 0; m < factors; ++m) {
      for (ss::index_t k = 0; k < links; ++k)
        offset[static_cast<std::size_t>(k)] =
            (this->policy.offset(k, m) % e.length + e.length) % e.length;
      T* const next = (factors - m) % 2 != 0 ? this->to.data() : other_.data();
      with_mix_baseline<T>(this->at.instructions, [&](auto baseline) {
        this->at.exec().parallel_for(this->at.threads, [&](unsigned slot) {
          auto const share = [&](unsigned s) {
            return e.length * static_cast<ss::index_t>(s) /
                   static_cast<ss::index_t>(this->at.threads);
          };
          ss::index_t const size = e.length * e.channels;
          for (ss::index_t b = 0; b < e.batch; ++b)
            baseline.mix_rows(v + b * size,
                              this->weights.data() + (m * e.batch + b) * e.length * links,
                              next + b * size, offset.data(), links, e.length, e.channels,
                              share(slot), share(slot + 1));
        });
      });
      v = next;
    }
  }

 private:
  buffer<T> other_;
};

// As many multiply-adds as sparse_mix takes, with nothing to load or store.
template <class T>
class multiply_add_job final : public mix_job<T> {
 public:
  explicit multiply_add_job(fields const& f) : mix_job<T>(f) {}
  void run() override {
    double const all = static_cast<double>(this->at.extents.size()) *
                       static_cast<double>(this->shape.outer * this->shape.channels);
    with_mix_baseline<T>(this->at.instructions, [&](auto baseline) {
      this->at.exec().parallel_for(this->at.threads, [&](unsigned slot) {
        T const left = baseline.multiply_add(all / this->at.threads, rounded<T>(0.5));
        if (slot == 0) left_ = left;
      });
    });
  }
  // Each of the 16 sums is repeatedly s * 1/2 + 1/2, which stays 1.
  double max_error() override { return std::abs(decoded(left_) - 16.0); }

 private:
  T left_ = T(0.0F);
};

template <class T>
void add_sparse_mix() {
  fields at;
  at.dtype = ss::dtype_traits<T>::name;
  auto const add = [&](std::string const& policy, std::string const& input, ss::extents3 e) {
    bool const baselines =
        (std::is_same_v<T, float> || std::is_same_v<T, double>)&&mix_policy(policy).residual ==
        "per_factor";
    for (unsigned const threads : {1u, 2u}) {
      at.policy = policy, at.input = input, at.extents = e, at.threads = threads;
      auto const one = [&](char const* subject, char const* direction, auto adds) {
        at.subject = subject, at.direction = direction;
        adds(at);
      };
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
        if (baselines) {
          one("baseline_per_factor", "forward_values", add_case<per_factor_job<T>>);
          one("baseline_multiply_add", "forward_values", add_case<multiply_add_job<T>>);
        }
      for (char const* direction : {"forward", "forward_values", "backward", "backward_input"})
        one("sparse_mix", direction, add_case<mix_call_job<T>>);
      one("sparse_mix_recompute", "backward", add_case<mix_call_job<T>>);
    }
  };
  for (char const* topology : {"chord", "cdil"}) {
    auto const policy = [&](char const* residual, ss::index_t factors) {
      return std::string(topology) + '-' + residual + "-M:" + std::to_string(factors);
    };
    // One sample, wide.
    add(policy("per_factor", 12), "normal", {1, 4096, 512});
    if (std::is_same_v<T, float>) {
      for (ss::index_t const n : {1024, 16384})
        add(policy("per_factor", ss::ceil_log2(n)), "normal", {1, n, 512});
    }
    // The model of the papers' text task.
    for_each_task_shape([&](std::string const& input, ss::extents3 e) {
      add(policy("per_factor", ss::ceil_log2(e.length)), input, e);
    });
    for_each_sweep_shape([&](ss::extents3 e) { add(policy("per_factor", 12), "uniform", e); });
    // Small enough to run everything once.
    for (char const* residual : {"per_factor", "none", "initial"})
      add(policy(residual, 6), "normal", {2, 37, 24});
    add(policy("per_factor", 6), "text", {2, 37, 24});
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const here("sparse_mix", add_sparse_mix<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
