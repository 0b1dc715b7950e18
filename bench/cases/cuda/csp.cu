// SPDX-License-Identifier: Apache-2.0
// Registers csp on the GPU. Compiled once per element type.
#include "cases/csp_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>

#include <string>

namespace bench {
namespace {

template <class T>
void add_csp() {
  std::string direction;
  auto const add = [&](std::string const& policy, std::string const& input, ss::extents3 shape) {
    add_case<csp_job<T, cuda_backend>>(
        {"csp", direction, ss::dtype_traits<T>::name, policy, input, shape, 1, "cuda"});
  };
  for (char const* const name : {"forward", "forward_values", "backward"}) {
    direction = name;
    for (std::string const shift : {"none", "linear"})
      for (std::string const alignment : {"reference", "ascending"})
        for (std::string const group : {"1", "2", "16", "64", "1024", "N"}) {
          std::string const policy = shift + '-' + alignment + "-G:" + group;
          for (ss::index_t const n : {1024, 4096})
            if (n != 1024 || group != "1024") add(policy, "normal", device_shape(n));
          add(policy, "normal", {2, 37, 24});
        }
    for (char const* group : {"4", "8", "32", "128", "256", "512", "2048"})
      add(std::string("linear-reference-G:") + group, "normal", device_shape(4096));
    for (char const* policy : {"linear-reference-G:2", "linear-reference-G:16"}) {
      for_each_task_shape(
          [&](std::string const& input, ss::extents3 shape) { add(policy, input, shape); });
      add(policy, "text", {2, 37, 24});
    }
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration("csp",
                                                                add_csp<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
