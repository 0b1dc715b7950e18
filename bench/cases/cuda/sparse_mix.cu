// SPDX-License-Identifier: Apache-2.0
// sparse_mix on the GPU. Compiled once per element type.
#include "cases/mix_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "driver/subjects.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/sparse_mix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace bench {
namespace {

// A stack of tensors for every sample. In memory the sample is the outermost axis; in the view it
// is the stack.
template <class T>
class device_stacks {
 public:
  device_stacks() = default;
  explicit device_stacks(ss::stack_extents shape)
      : shape_(shape), values_(static_cast<std::size_t>(shape.size())) {}
  device_stacks(ss::stack_extents shape, buffer<T> const& sample) : device_stacks(shape) {
    repeat_sample(values_.data(), sample.data(), sample.bytes(), samples());
  }
  ss::tensor_stack<T> view() const {
    ss::index_t const each = shape_.length * shape_.channels;
    return {values_.data(), shape_, {each, shape_.outer * each, shape_.channels, 1}};
  }
  std::size_t bytes() const { return values_.bytes(); }
  bool fetch(buffer<T> const& sample) const {
    return fetch_sample(sample.data(), values_.data(), sample.bytes(), samples());
  }

 private:
  std::size_t samples() const { return static_cast<std::size_t>(shape_.batch); }

  ss::stack_extents shape_;
  device_buffer<T> values_;
};

// forward saves all states, forward_values none; backward_input is the gradient of x alone.
template <class T>
class mix_call_job final : public mix_job<T> {
 public:
  explicit mix_call_job(fields const& f)
      : mix_job<T>(one_sample(f)),
        all_(f),
        every_(f.subject == "sparse_mix_recompute" ? ss::recompute : ss::save_all),
        on_weights_{this->shape.outer, f.extents.batch, this->shape.length, this->shape.channels},
        from_(f.extents, this->from->values),
        to_(f.extents),
        weights_(on_weights_, this->weights),
        gradients_(weighed() ? on_weights_ : ss::stack_extents{}),
        states_(weighed() || f.direction == "forward"
                    ? ss::stack_extents{every_.states(this->shape.outer), f.extents.batch,
                                        f.extents.length, f.extents.channels}
                    : ss::stack_extents{}),
        x_(weighed() ? f.extents : ss::extents3{}) {
    this->workspace_bytes = with_mix(f, every_, [&](auto const& op) {
      return op.template workspace_bytes<T>(on_device(), f.extents, on_weights_);
    });
    scratch_ = device_buffer<unsigned char>(this->workspace_bytes);
    this->saved_bytes = states_.bytes();
    this->flops *= static_cast<double>(f.extents.batch);
    this->traffic_bytes = from_.bytes() + to_.bytes() + weights_.bytes() + states_.bytes() +
                          gradients_.bytes() + x_.bytes();
    if (!weighed()) return;
    x_ = device_tensor<T>(f.extents, this->x->values);
    with_mix(f, every_, [&](auto const& op) {
      op.forward(on_device(), x_.const_view(), weights_.view(), to_.view(), {states_.view()},
                 lend(scratch_));
    });
    enforce(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  }
  void run() override {
    auto const in = from_.const_view();
    auto const out = to_.view();
    auto const w = weights_.view();
    with_mix(all_, every_, [&](auto const& op) {
      if (all_.direction == "forward")
        op.forward(on_device(), in, w, out, {states_.view()}, lend(scratch_));
      else if (all_.direction == "forward_values")
        op.forward(on_device(), in, w, out, ss::no_saved, lend(scratch_));
      else if (all_.direction == "backward_input")
        op.backward(on_device(), in, w, out, lend(scratch_));
      else
        op.backward(on_device(), in, x_.const_view(), w, {states_.view()}, out, gradients_.view(),
                    lend(scratch_));
    });
  }
  double max_error() override {
    if (!to_.fetch(this->to)) return wrong;
    double const error = mix_job<T>::max_error();
    return weighed() ? std::max(error, error_of_gradients()) : error;
  }

 private:
  bool weighed() const { return all_.direction == "backward"; }

  // The host gives the same bits.
  double error_of_gradients() const {
    buffer<T> const is(this->weights.size()), want(is.size()), dx(this->to.size());
    if (!gradients_.fetch(is)) return wrong;
    ss::extents3 const e = this->at.extents;
    with_mix(all_, ss::recompute, [&](auto const& op) {
      ss::exec::host const on;
      buffer<unsigned char> const scratch(op.template workspace_bytes<T>(on, e, this->shape));
      op.backward(on, const_view(this->from->values, e), const_view(this->x->values, e), this->w(),
                  ss::no_saved, bench::view(dx, e), ss::tensor_stack<T>(want.data(), this->shape),
                  lend(scratch));
    });
    return std::memcmp(is.data(), want.data(), is.bytes()) == 0 ? 0.0 : wrong;
  }

  fields const all_;  // of all samples
  ss::checkpoints const every_;
  ss::stack_extents const on_weights_;
  device_tensor<T> from_, to_;
  device_stacks<T> weights_, gradients_, states_;
  device_tensor<T> x_;
  device_buffer<unsigned char> scratch_;
};

template <class T>
void add_sparse_mix() {
  fields at;
  at.backend = "cuda";
  at.dtype = ss::dtype_traits<T>::name;
  at.input = "normal";
  auto const add = [&](std::string const& policy, ss::extents3 e) {
    at.policy = policy;
    at.extents = e;
    at.subject = "sparse_mix";
    for (char const* direction : {"forward", "forward_values", "backward", "backward_input"}) {
      at.direction = direction;
      add_case<mix_call_job<T>>(at);
    }
    at.subject = "sparse_mix_recompute";
    at.direction = "backward";
    add_case<mix_call_job<T>>(at);
  };
  for (std::string const topology : {"chord", "cdil"}) {
    for (ss::index_t const n : {1024, 4096, 16384}) {
      // States of all factors must fit beside the rest.
      ss::extents3 e = device_shape(n);
      if (n > 4096) e.batch = 4;
      add(topology + "-per_factor-M:" + std::to_string(ss::ceil_log2(n)), e);
    }
    for (char const* residual : {"per_factor", "none", "initial"})
      add(topology + '-' + residual + "-M:6", {2, 37, 24});
    // The model of the papers' text task.
    for_each_task_shape([&](std::string const& input, ss::extents3 e) {
      at.input = input;
      add(topology + "-per_factor-M:" + std::to_string(ss::ceil_log2(e.length)), e);
    });
    at.input = "text";
    add(topology + "-per_factor-M:6", {2, 37, 24});
    at.input = "normal";
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const here("sparse_mix", add_sparse_mix<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
