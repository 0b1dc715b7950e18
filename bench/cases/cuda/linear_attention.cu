// SPDX-License-Identifier: Apache-2.0
// Registers linear_attention on the GPU. Compiled once per element type.
#include "cases/linear_attention_jobs.hpp"
#include "driver/cuda/tensors.hpp"

#include <slicesort/cuda.cuh>

#include <string>

namespace bench {
namespace {

template <class T>
void add_linear_attention() {
  auto const add = [](case_params params) {
    params.backend = "cuda";
    add_case<linear_attention_job<T, cuda_backend>>(params);
  };
  for_each_linear_setting<T>(add);
  // The tokens of softmax_attention's targets, in heads of 64 channels.
  for (bool const native : {false, true}) {
    if (native && sizeof(T) != 2) continue;
    std::string const suffix = native ? "-native-H:16" : "-H:16";
    for_each_direction<T>("linear_attention",
                          {"elu_plus_one-both" + suffix, "elu_plus_one-causal" + suffix,
                           "random_exp-both" + suffix, "random_exp-causal" + suffix},
                          "normal", {4, 4096, 1024}, add);
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "linear_attention", add_linear_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
