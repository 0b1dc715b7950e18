// SPDX-License-Identifier: Apache-2.0
// Registers max_exchange with readout row 0. Compiled once per element type.
#include "cases/variant_jobs.hpp"
#include "driver/settings.hpp"

namespace bench {
namespace {

template <class T>
void add_max_exchange() {
  for (char const* direction : {"forward", "forward_values", "backward"})
    for_each_default_setting<T>("max_exchange", direction,
                                add_case<max_exchange_job<T, host_backend>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "max_exchange", add_max_exchange<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
