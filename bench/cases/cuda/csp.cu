// SPDX-License-Identifier: Apache-2.0
// csp on the GPU. Compiled once per element type.
#include "cases/csp_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>

#include <string>

namespace bench {
namespace {

template <class T>
void add_csp() {
  fields at;
  at.backend = "cuda";
  at.subject = "csp";
  at.dtype = ss::dtype_traits<T>::name;
  at.input = "normal";
  auto const add = [&](std::string const& policy, ss::extents3 e) {
    at.policy = policy;
    at.extents = e;
    add_case<csp_job<T, device_place>>(at);
  };
  auto const add_on = [&](std::string const& input, std::string const& policy, ss::extents3 e) {
    at.input = input;
    add(policy, e);
    at.input = "normal";
  };
  for (char const* direction : {"forward", "forward_values", "backward"}) {
    at.direction = direction;
    for (std::string const shift : {"none", "linear"})
      for (std::string const alignment : {"reference", "ascending"})
        for (std::string const group : {"1", "2", "16", "64", "1024", "N"}) {
          std::string const policy = shift + '-' + alignment + "-G:" + group;
          for (ss::index_t const n : {1024, 4096})
            if (n != 1024 || group != "1024") add(policy, device_shape(n));
          add(policy, {2, 37, 24});
        }
    for (char const* group : {"4", "8", "32", "128", "256", "512", "2048"})
      add(std::string("linear-reference-G:") + group, device_shape(4096));
    for (char const* policy : {"linear-reference-G:2", "linear-reference-G:16"}) {
      for_each_task_shape(
          [&](std::string const& input, ss::extents3 e) { add_on(input, policy, e); });
      add_on("text", policy, {2, 37, 24});
    }
  }
}
subject_of<SLICESORT_BENCH_DTYPE> const here("csp", add_csp<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
