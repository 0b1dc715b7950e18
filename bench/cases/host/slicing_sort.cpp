// SPDX-License-Identifier: Apache-2.0
// Registers slicing_sort on the host. Compiled once per element type.
#include "cases/slicing_sort_jobs.hpp"

#include "driver/settings.hpp"

namespace bench {

template void sort_backward_job<SLICESORT_BENCH_DTYPE, host_backend>::save_permutation();

namespace {

// Adds the case, and a copy for each forced instruction set.
template <class Job>
void add_with_instruction_sets(case_params params) {
  add_case<Job>(params);
  if (!has_default_policy(params) || params.threads != 1) return;
  for (ss::isa const forced : {ss::isa::portable, ss::isa::avx2, ss::isa::avx512}) {
    params.isa = forced;
    add_case<Job>(params);
  }
}

template <class T>
void add_slicing_sort() {
  using forward_job = slicing_sort_job<T, host_backend>;
  for (char const* direction : {"forward", "forward_values"})
    for_each_setting<T>("slicing_sort", direction, add_with_instruction_sets<forward_job>);
  for_each_setting<T>("slicing_sort", "backward",
                      add_with_instruction_sets<slicing_sort_backward_job<T, host_backend>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "slicing_sort", add_slicing_sort<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
