// SPDX-License-Identifier: Apache-2.0
// softmax_attention on the GPU, streaming and materialized; the products of the latter come from
// cuBLAS where the bench is linked with it. Compiled once per element type.
#include "cases/attention_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/softmax_attention.hpp>

#if SLICESORT_BENCH_CUBLAS
#  include "driver/cuda/cublas_handle.hpp"

#  include <slicesort/cublas.cuh>
#endif

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace bench {
namespace {

#if SLICESORT_BENCH_CUBLAS
using materialized = ss::materialized<ss::cublas>;
#else
using materialized = ss::materialized<>;
#endif

template <class T>
class attention_call_job final : public attention_job<T> {
 public:
  explicit attention_call_job(fields const& f)
      : attention_job<T>(one_sample(f)),
        all_(f),
        q_(f.extents, this->q->values),
        k_(f.extents, this->k->values),
        v_(f.extents, this->v->values),
        y_(f.extents),
        dy_(only_backward(f)),
        dq_(only_backward(f)),
        dk_(only_backward(f)),
        dv_(only_backward(f)) {
    std::size_t const each = y_.bytes();
    this->saved_bytes = f.direction == "forward_values" ? 0 : attention_state_bytes<T>(f);
    this->traffic_bytes = (this->backward ? 8 : 4) * each + this->saved_bytes;
    this->flops *= static_cast<double>(f.extents.batch);
    state_ = device_buffer<unsigned char>(this->saved_bytes);
    call([&](auto const& op, auto const& state) {
      this->workspace_bytes = op.template workspace_bytes<T>(
          on_device(), heads(q_.view()).extents(), heads(v_.view()).extents());
      scratch_ = device_buffer<unsigned char>(this->workspace_bytes);
      if (!this->backward) return;
      dy_ = device_tensor<T>(f.extents, this->dy->values);
      op.forward(on_device(), inputs(), heads(y_.view()), {state}, lend(scratch_));
      enforce(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    });
  }
  void run() override {
    call([&](auto const& op, auto const& state) {
      if (this->backward)
        op.backward(on_device(), heads(dy_.const_view()), inputs(), heads(y_.const_view()), {state},
                    {heads(dq_.view()), heads(dk_.view()), heads(dv_.view())}, lend(scratch_));
      else if (all_.direction == "forward")
        op.forward(on_device(), inputs(), heads(y_.view()), {state}, lend(scratch_));
      else
        op.forward(on_device(), inputs(), heads(y_.view()), ss::no_saved, lend(scratch_));
    });
  }
  double max_error() override {
    bool const alike = this->backward
                           ? dq_.fetch(this->dq) && dk_.fetch(this->dk) && dv_.fetch(this->dv)
                           : y_.fetch(this->y);
    return alike ? attention_job<T>::max_error() : wrong;
  }

 private:
  static ss::extents3 only_backward(fields const& f) {
    return f.direction == "backward" ? f.extents : ss::extents3{};
  }

  // Calls f(operator, its state).
  template <class F>
  void call(F const& f) {
    with_attention<false>(all_, algorithm_of_map(), [&](auto const& op) {
      if constexpr (std::is_same_v<decltype(op.algorithm()), ss::streaming const&>)
        f(op, state_of<ss::detail::accumulator_t<T>>(2));
      else
        f(op, state_of<T>(all_.extents.length));
    });
  }
  // Streaming attention runs where cuBLAS does not.
  materialized algorithm_of_map() const {
#if SLICESORT_BENCH_CUBLAS
    return materialized{ss::cublas { this->policy.materialized() ? cublas_handle() : nullptr }};
#else
    return {};
#endif
  }
  template <class S>
  ss::tensor4<S> state_of(ss::index_t last) const {
    return {reinterpret_cast<S*>(state_.data()),
            {all_.extents.batch, this->policy.heads, all_.extents.length, last}};
  }
  template <class E>
  ss::tensor4<E> heads(ss::tensor3<E> x) const {
    return ss::split_heads(x, this->policy.heads);
  }
  ss::attention_inputs<T> inputs() const {
    return {heads(q_.view()), heads(k_.view()), heads(v_.view())};
  }

  fields const all_;  // of all samples
  device_tensor<T> q_, k_, v_, y_, dy_, dq_, dk_, dv_;
  device_buffer<unsigned char> state_, scratch_;
};

template <class T>
void add_softmax_attention() {
  auto const add = [](fields at) {
    at.backend = "cuda";
    add_case<attention_call_job<T>>(at);
  };
  for_each_attention_setting<T>(add);
  // The shapes of the targets: heads of 128 channels, 16384 tokens, as in FlashAttention's own
  // benchmarks.
  for_each_attention_direction<T>({"streaming-full-H:16"}, "normal", {4, 4096, 2048}, add);
}
subject_of<SLICESORT_BENCH_DTYPE> const here("softmax_attention",
                                             add_softmax_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
