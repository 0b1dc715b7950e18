// SPDX-License-Identifier: Apache-2.0
// slicing_sort: forward, forward without saving, backward. Compiled once per element type.
#include "cases/slicing_sort_jobs.hpp"

#include "driver/settings.hpp"

namespace bench {

template void unsort_job<SLICESORT_BENCH_DTYPE, host_place>::sort_once();

namespace {

// Adds the case, and a copy of it for each instruction set that can be forced.
template <class Job>
void add_with_instruction_sets(fields at) {
  add_case<Job>(at);
  if (!is_plain(at) || at.threads != 1) return;
  for (ss::isa const forced : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512}) {
    at.instructions = forced;
    add_case<Job>(at);
  }
}

template <class T>
void add_slicing_sort() {
  using forward = slicing_sort_job<T, host_place>;
  for (char const* direction : {"forward", "forward_values"})
    for_each_setting<T>("slicing_sort", direction, add_with_instruction_sets<forward>);
  for_each_setting<T>("slicing_sort", "backward",
                      add_with_instruction_sets<slicing_unsort_job<T, host_place>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const here("slicing_sort",
                                             add_slicing_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
