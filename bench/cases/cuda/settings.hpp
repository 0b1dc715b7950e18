// SPDX-License-Identifier: Apache-2.0
// The shapes of the GPU's cases; bench/report/targets.py names them too.
#pragma once

#include "driver/case.hpp"
#include "driver/settings.hpp"

#include <slicesort/dtype.hpp>

#include <string>

namespace bench {

// At least 8192 columns and enough elements to keep every processor busy.
inline ss::extents3 device_shape(ss::index_t length) {
  ss::index_t const batch = length <= 64 ? 2048 : length <= 1024 ? 128 : length <= 4096 ? 32 : 16;
  return {batch, length, 512};
}

// Calls `f(fields)`, which adds the case, for every shape and input of one operator and direction.
template <class T, class F>
void for_each_device_setting(std::string const& subject, std::string const& direction, F const& f) {
  auto const add = [&](std::string const& input, ss::extents3 e) {
    f(fields{subject, direction, ss::dtype_traits<T>::name, "ascending", input, e, 1, "cuda"});
  };
  bool const sorts = subject == "slicing_sort" || subject.rfind("baseline", 0) == 0;
  for (ss::index_t const n : {64, 1000, 1024, 4096, 16384, 32768, 65536})
    if (sorts || n == 1024 || n == 4096) add("normal", device_shape(n));
  // Every kind of input, at one size.
  for (char const* input :
       {"uniform", "few_unique", "relu", "sorted", "reversed", "constant", "text"})
    if (sorts) add(input, device_shape(1024));
  // The model of the papers' text task.
  for_each_task_shape(add);
  // Longer than any block sorts at once.
  if (sorts) add("normal", {1, ss::index_t{1} << 20, 64});
  // Small enough to run everything once.
  for (char const* input : {"normal", "text"}) add(input, {2, 37, 24});
}

}  // namespace bench
