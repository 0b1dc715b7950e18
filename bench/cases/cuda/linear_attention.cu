// SPDX-License-Identifier: Apache-2.0
// linear_attention on the GPU. Compiled once per element type.
#include "cases/linear_attention_jobs.hpp"
#include "driver/cuda/tensors.hpp"

#include <slicesort/cuda.cuh>
#include <slicesort/linear_attention.hpp>

#include <string>

namespace bench {
namespace {

template <class T>
class linear_call_job final : public linear_attention_job<T> {
 public:
  explicit linear_call_job(fields const& f)
      : linear_attention_job<T>(one_sample(f)),
        q_(f.extents, this->q->values),
        k_(f.extents, this->k->values),
        v_(f.extents, this->v->values),
        w_(this->rows_of_w().extents(), this->w),
        y_(if_backward(f, false)),
        dy_(if_backward(f, true)),
        dq_(if_backward(f, true)),
        dk_(if_backward(f, true)),
        dv_(if_backward(f, true)) {
    this->traffic_bytes = (this->backward ? 7 : 4) * q_.bytes() + w_.bytes();
    this->flops *= static_cast<double>(f.extents.batch);
    if (this->backward) dy_ = device_tensor<T>(f.extents, this->dy->values);
    with_linear_attention(this->policy, [&](auto const& op) {
      auto const e = heads(q_.view()).extents();
      this->workspace_bytes =
          op.template workspace_bytes<T>(on_device(), e, e, w_.view().extents());
      scratch_ = device_buffer<unsigned char>(this->workspace_bytes);
    });
  }
  void run() override {
    with_linear_attention(this->policy, [&](auto const& op) {
      ss::linear_attention_inputs<T> const in{heads(q_.view()), heads(k_.view()), heads(v_.view()),
                                              w_.view()};
      if (this->backward)
        op.backward(on_device(), heads(dy_.const_view()), in,
                    {heads(dq_.view()), heads(dk_.view()), heads(dv_.view())}, lend(scratch_));
      else
        op.forward(on_device(), in, heads(y_.view()), lend(scratch_));
    });
  }
  double max_error() override {
    bool const alike = this->backward
                           ? dq_.fetch(this->dq) && dk_.fetch(this->dk) && dv_.fetch(this->dv)
                           : y_.fetch(this->y);
    return alike ? linear_attention_job<T>::max_error() : wrong;
  }

 private:
  // The shape of a tensor that either backward has, or forward alone.
  static ss::extents3 if_backward(fields const& f, bool backward) {
    return (f.direction == "backward") == backward ? f.extents : ss::extents3{};
  }
  template <class E>
  ss::tensor4<E> heads(ss::tensor3<E> x) const {
    return ss::split_heads(x, this->policy.heads);
  }

  device_tensor<T> q_, k_, v_, w_, y_, dy_, dq_, dk_, dv_;
  device_buffer<unsigned char> scratch_;
};

template <class T>
void add_linear_attention() {
  auto const add = [](fields at) {
    at.backend = "cuda";
    add_case<linear_call_job<T>>(at);
  };
  for_each_linear_setting<T>(add);
  // As many tokens as the targets of softmax_attention have, in heads of 64 channels.
  for (bool const native : {false, true}) {
    if (native && sizeof(T) != 2) continue;
    std::string const end = native ? "-native-H:16" : "-H:16";
    for_each_linear_direction<T>({"elu_plus_one-both" + end, "elu_plus_one-causal" + end,
                                  "random_exp-both" + end, "random_exp-causal" + end},
                                 "normal", {4, 4096, 1024}, add);
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const here("linear_attention",
                                             add_linear_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
