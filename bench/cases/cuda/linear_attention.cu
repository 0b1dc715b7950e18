// SPDX-License-Identifier: Apache-2.0
// linear_attention on the GPU. Compiled once per element type.
#include "cases/linear_attention_jobs.hpp"
#include "driver/cuda/tensors.hpp"

#include <slicesort/cuda.cuh>

#include <string>

namespace bench {
namespace {

template <class T>
void add_linear_attention() {
  auto const add = [](fields at) {
    at.backend = "cuda";
    add_case<linear_attention_job<T, device_place>>(at);
  };
  for_each_linear_setting<T>(add);
  // As many tokens as the targets of softmax_attention have, in heads of 64 channels.
  for (bool const native : {false, true}) {
    if (native && sizeof(T) != 2) continue;
    std::string const end = native ? "-native-H:16" : "-H:16";
    for_each_direction<T>("linear_attention",
                          {"elu_plus_one-both" + end, "elu_plus_one-causal" + end,
                           "random_exp-both" + end, "random_exp-causal" + end},
                          "normal", {4, 4096, 1024}, add);
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const here("linear_attention",
                                             add_linear_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
