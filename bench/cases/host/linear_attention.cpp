// SPDX-License-Identifier: Apache-2.0
// linear_attention. Compiled once per element type.
#include "cases/linear_attention_jobs.hpp"

namespace bench {
namespace {

template <class T>
void add_linear_attention() {
  auto const add = [](fields at) {
    for (unsigned const threads : {1u, 2u}) {
      at.threads = threads;
      add_case<linear_attention_job<T, host_place>>(at);
    }
  };
  for_each_linear_setting<T>(add);
  for_each_sweep_shape([&](ss::extents3 e) {
    for_each_direction<T>("linear_attention",
                          {"elu_plus_one-both-H:4", "elu_plus_one-causal-H:4",
                           "random_exp-both-H:4", "cosine_reweighted-both-H:4"},
                          "uniform", e, add);
  });
}
subject_of<SLICESORT_BENCH_DTYPE> const here("linear_attention",
                                             add_linear_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
