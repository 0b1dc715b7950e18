// SPDX-License-Identifier: Apache-2.0
// linear_attention. Compiled once per element type.
#include "cases/linear_attention_jobs.hpp"

#include <slicesort/linear_attention.hpp>

namespace bench {
namespace {

template <class T>
class linear_call_job final : public linear_attention_job<T> {
 public:
  explicit linear_call_job(fields const& f) : linear_attention_job<T>(f) {
    with_linear_attention(this->policy, [&](auto const& op) {
      auto const e = heads_of(this->y).extents();
      this->workspace_bytes =
          op.template workspace_bytes<T>(f.exec(), e, e, this->rows_of_w().extents());
      scratch_ = buffer<unsigned char>(this->workspace_bytes);
    });
  }
  void run() override {
    with_linear_attention(this->policy, [&](auto const& op) {
      ss::linear_attention_inputs<T> const in{heads_of(this->q->values), heads_of(this->k->values),
                                              heads_of(this->v->values), this->rows_of_w()};
      auto const on = this->at.exec();
      if (this->backward)
        op.backward(on, heads_of(this->dy->values), in,
                    {heads_of(this->dq), heads_of(this->dk), heads_of(this->dv)}, lend(scratch_));
      else
        op.forward(on, in, heads_of(this->y), lend(scratch_));
    });
  }

 private:
  ss::tensor4<T> heads_of(buffer<T> const& b) const {
    return ss::split_heads(view(b, this->at.extents), this->policy.heads);
  }

  buffer<unsigned char> scratch_;
};

template <class T>
void add_linear_attention() {
  auto const add = [](fields at) {
    for (unsigned const threads : {1u, 2u}) {
      at.threads = threads;
      add_case<linear_call_job<T>>(at);
    }
  };
  for_each_linear_setting<T>(add);
  for_each_sweep_shape([&](ss::extents3 e) {
    for_each_linear_direction<T>({"elu_plus_one-both-H:4", "elu_plus_one-causal-H:4",
                                  "random_exp-both-H:4", "cosine_reweighted-both-H:4"},
                                 "uniform", e, add);
  });
}
subject_of<SLICESORT_BENCH_DTYPE> const here("linear_attention",
                                             add_linear_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
