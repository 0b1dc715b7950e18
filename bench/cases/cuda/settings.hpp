// SPDX-License-Identifier: Apache-2.0
// Shapes of the GPU cases, repeated in bench/report/targets.py.
#pragma once

#include "driver/case.hpp"
#include "driver/settings.hpp"

#include <slicesort/dtype.hpp>

#include <string>

namespace bench {

// At least 8192 columns, and enough elements to fill the GPU.
inline ss::extents3 device_shape(ss::index_t length) {
  ss::index_t const batch = length <= 64 ? 2048 : length <= 1024 ? 128 : length <= 4096 ? 32 : 16;
  return {batch, length, 512};
}

// Calls f(params) for every shape and input of one operator and direction.
template <class T, class F>
void for_each_device_setting(std::string const& subject, std::string const& direction, F const& f) {
  auto const add = [&](std::string const& input, ss::extents3 shape) {
    f(case_params{subject, direction, ss::dtype_traits<T>::name, "ascending", input, shape, 1,
                  "cuda"});
  };
  bool const sorts = subject == "slicing_sort" || subject.rfind("baseline", 0) == 0;
  for (ss::index_t const n : {64, 1000, 1024, 4096, 16384, 32768, 65536})
    if (sorts || n == 1024 || n == 4096) add("normal", device_shape(n));
  // All inputs, at one size.
  for (char const* input :
       {"uniform", "few_unique", "relu", "sorted", "reversed", "constant", "text"})
    if (sorts) add(input, device_shape(1024));
  for_each_task_shape(add);
  // Longer than a block can sort at once.
  if (sorts) add("normal", {1, ss::index_t{1} << 20, 64});
  // Small shape for --smoke.
  for (char const* input : {"normal", "text"}) add(input, {2, 37, 24});
}

}  // namespace bench
