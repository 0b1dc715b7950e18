// SPDX-License-Identifier: Apache-2.0
// Registers sparse_mix on the GPU. Compiled once per element type.
#include "cases/mix_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>

#include <cstring>
#include <string>

namespace bench {
namespace {

// Compares the gradients of the weights with the host's result, bit for bit.
template <class T>
class checked_mix_job final : public mix_call_job<T, cuda_backend> {
 public:
  using mix_call_job<T, cuda_backend>::mix_call_job;

 private:
  double weight_gradient_error() const override {
    buffer<T> const expected(this->gradients.size()), dx(this->to.size());
    if (!this->backend_gradients.fetch(this->gradients)) return wrong_result;
    ss::extents3 const extents = this->x->extents;
    with_sparse_mix(this->params_, ss::recompute, [&](auto const& op) {
      ss::exec::host const exec;
      ss::scratch scratch;
      op.backward(
          exec, const_view(this->from->values, extents), const_view(this->x->values, extents),
          ss::tensor_stack<T const>(this->weights.data(), this->host_shape), ss::no_saved,
          view(dx, extents), ss::tensor_stack<T>(expected.data(), this->host_shape), scratch);
    });
    return std::memcmp(this->gradients.data(), expected.data(), expected.bytes()) == 0
               ? 0.0
               : wrong_result;
  }
};

template <class T>
void add_sparse_mix() {
  auto const add = [](std::string const& policy, std::string const& input, ss::extents3 extents) {
    auto const add_direction = [&](char const* subject, char const* direction) {
      add_case<checked_mix_job<T>>(
          {subject, direction, ss::dtype_traits<T>::name, policy, input, extents, 1, "cuda"});
    };
    for (char const* direction : {"forward", "forward_values", "backward", "backward_input"})
      add_direction("sparse_mix", direction);
    add_direction("sparse_mix_recompute", "backward");
  };
  for (std::string const topology : {"chord", "cdil"}) {
    for (ss::index_t const n : {1024, 4096, 16384}) {
      // Leaves memory for the states of all factors.
      ss::extents3 extents = device_shape(n);
      if (n > 4096) extents.batch = 4;
      add(topology + "-per_factor-M:" + std::to_string(ss::ceil_log2(n)), "normal", extents);
    }
    for (char const* residual : {"per_factor", "none", "initial"})
      add(topology + '-' + residual + "-M:6", "normal", {2, 37, 24});
    for_each_task_shape([&](std::string const& input, ss::extents3 extents) {
      add(topology + "-per_factor-M:" + std::to_string(ss::ceil_log2(extents.length)), input,
          extents);
    });
    add(topology + "-per_factor-M:6", "text", {2, 37, 24});
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "sparse_mix", add_sparse_mix<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
