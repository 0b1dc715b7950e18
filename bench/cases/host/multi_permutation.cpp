// SPDX-License-Identifier: Apache-2.0
// Registers multi_permutation with two components of weight 1/2. Compiled once per element type.
#include "cases/variant_jobs.hpp"
#include "driver/settings.hpp"

namespace bench {
namespace {

template <class T>
void add_multi_permutation() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_default_setting<T>("multi_permutation", direction,
                                add_case<multi_permutation_job<T, host_backend>>);
  for_each_default_setting<T>("multi_permutation", "backward",
                              add_case<multi_permutation_backward_job<T, host_backend>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "multi_permutation", add_multi_permutation<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
