// SPDX-License-Identifier: Apache-2.0
// slicing_sort on the host. Compiled once per element type.
#include "cases/slicing_sort_jobs.hpp"

#include "driver/settings.hpp"

namespace bench {

template void unsort_job<SLICESORT_BENCH_DTYPE, host_backend>::save_permutation();

namespace {

// Adds the case, and a copy for each forced instruction set.
template <class Job>
void add_with_instruction_sets(case_params params) {
  add_case<Job>(params);
  if (!is_plain(params) || params.threads != 1) return;
  for (ss::isa const forced : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512}) {
    params.instructions = forced;
    add_case<Job>(params);
  }
}

template <class T>
void add_slicing_sort() {
  using forward = slicing_sort_job<T, host_backend>;
  for (char const* direction : {"forward", "forward_values"})
    for_each_setting<T>("slicing_sort", direction, add_with_instruction_sets<forward>);
  for_each_setting<T>("slicing_sort", "backward",
                      add_with_instruction_sets<slicing_unsort_job<T, host_backend>>);
}
subject_of<SLICESORT_BENCH_DTYPE> const registration("slicing_sort",
                                                     add_slicing_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
