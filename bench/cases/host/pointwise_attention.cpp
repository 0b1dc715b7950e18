// SPDX-License-Identifier: Apache-2.0
// Benchmark jobs of pointwise_attention. A policy such as laplace-window-H:4 names function, mask
// and heads. Compiled once per element type.
#include "cases/attention_masks.hpp"
#include "cases/attention_tensors.hpp"

#include <slicesort/pointwise_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

namespace bench {
namespace {

struct pointwise_policy {
  std::string function;
  attention_mask mask;
  ss::index_t heads;

  pointwise_policy(std::string const& name, ss::index_t length)
      : function(name.substr(0, name.find('-'))),
        mask(name.substr(function.size() + 1, name.rfind("-H:") - function.size() - 1), length),
        heads(std::stol(name.substr(name.rfind(':') + 1))) {}
};

template <class T>
class pointwise_job final : public attention_tensors<T, host_backend> {
  using base = attention_tensors<T, host_backend>;
  using base::backend_dy, base::backend_dq, base::backend_dk, base::backend_dv;
  using base::is_backward, base::heads, base::q, base::k, base::v, base::dy;
  using base::split, base::backend_q, base::backend_k, base::backend_v, base::backend_y;

 public:
  explicit pointwise_job(case_params const& params)
      : base(params, pointwise_policy(params.policy, params.extents.length).heads, false),
        policy_(params.policy, params.extents.length) {
    this->traffic_bytes = (is_backward ? 7 : 4) * backend_q.bytes();
    double const pairs =
        policy_.mask.count_pairs(heads) * static_cast<double>(params.extents.batch);
    this->flops = (is_backward ? 10.0 : 4.0) * pairs * static_cast<double>(this->channels);
    this->tolerance = std::numeric_limits<double>::max();  // depends on the data: see max_error
    with_operator([&](auto const& op) {
      auto const e = split(backend_q.view()).extents();
      this->allocate_scratch(op.template workspace_bytes<T>(this->exec(), e, e));
    });
  }

  void run() override {
    with_operator([&](auto const& op) {
      ss::attention_inputs<T> const inputs{
          split(backend_q.view()), split(backend_k.view()), split(backend_v.view()), {}};
      if (is_backward)
        op.backward(this->exec(), split(backend_dy.const_view()), inputs,
                    {split(backend_dq.view()), split(backend_dk.view()), split(backend_dv.view())},
                    this->scratch);
      else
        op.forward(this->exec(), inputs, split(backend_y.view()), this->scratch);
    });
  }

  // Verifies the last head of the last sample. Errors are relative to sums of absolute values.
  double max_error() override {
    if (!this->fetch()) return wrong_result;
    attention_oracle::modifiers functions;
    double weight_roundings = 0;
    if (policy_.function == "laplace") {
      // The error is 3 roundings of 1, but the weight of a score near 0 is 0.006.
      weight_roundings = 500;
      ss::score_function::laplace const f;
      functions.function = [f](double s) {
        return std::erfc((f.mean - s) / (f.deviation * std::sqrt(2.0))) / 2;
      };
      functions.slope = [f](double s) {
        double const z = (s - f.mean) / f.deviation;
        return std::exp(-z * z / 2) / (f.deviation * std::sqrt(2 * std::acos(-1.0)));
      };
    } else {
      functions.function = [](double s) { return std::pow(std::max(s, 0.0), 2); };
      functions.slope = [](double s) { return 2 * std::max(s, 0.0); };
    }
    attention_oracle const oracle(this->last_head(q->values), this->last_head(k->values),
                                  this->last_head(v->values),
                                  is_backward ? this->last_head(dy->values) : matrix(),
                                  policy_.mask.visibility(heads - 1), functions);
    return this->error_of(oracle, weight_roundings);
  }

 private:
  template <class F>
  void with_operator(F const& f) const {
    policy_.mask.with_dense([&](auto mask) {
      using Mask = decltype(mask);
      if (policy_.function == "laplace")
        f(ss::pointwise_attention<Mask>{mask});
      else
        f(ss::pointwise_attention<Mask, ss::score_function::squared_relu>{mask});
    });
  }

  pointwise_policy const policy_;
};

template <class T>
void add_pointwise_attention() {
  auto const add = [](case_params params) {
    for (unsigned const threads : {1u, 2u}) {
      params.threads = threads;
      add_case<pointwise_job<T>>(params);
    }
  };
  for_each_task_direction<T>("pointwise_attention",
                             {"laplace-full-H:", "laplace-window-H:", "squared_relu-full-H:"}, add);
  for_each_direction<T>("pointwise_attention", {"laplace-full-H:8", "squared_relu-full-H:8"},
                        "normal", {1, 4096, 512}, add);
  for_each_direction<T>("pointwise_attention",
                        {"laplace-full-H:4", "laplace-window-H:4", "squared_relu-full-H:4"},
                        "normal", {2, 37, 24}, add);
  for_each_sweep_shape([&](ss::extents3 shape) {
    for_each_direction<T>("pointwise_attention", {"laplace-full-H:4", "squared_relu-full-H:4"},
                          "uniform", shape, add);
  });
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "pointwise_attention", add_pointwise_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
