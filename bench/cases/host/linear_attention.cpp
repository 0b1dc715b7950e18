// SPDX-License-Identifier: Apache-2.0
// Registers linear_attention on the host. Compiled once per element type.
#include "cases/linear_attention_jobs.hpp"

namespace bench {
namespace {

template <class T>
void add_linear_attention() {
  auto const add = [](case_params params) {
    for (unsigned const threads : {1u, 2u}) {
      params.threads = threads;
      add_case<linear_attention_job<T, host_backend>>(params);
    }
  };
  for_each_linear_setting<T>(add);
  for_each_sweep_shape([&](ss::extents3 shape) {
    for_each_direction<T>("linear_attention",
                          {"elu_plus_one-both-H:4", "elu_plus_one-causal-H:4",
                           "random_exp-both-H:4", "cosine_reweighted-both-H:4"},
                          "uniform", shape, add);
  });
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "linear_attention", add_linear_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
