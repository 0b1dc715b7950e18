// SPDX-License-Identifier: Apache-2.0
// Registers shuffle, shared by channels and per channel. Compiled once per element type.
#include "cases/variant_jobs.hpp"
#include "driver/settings.hpp"

namespace bench {
namespace {

template <class T>
void add_shuffle() {
  using ss::per_channel, ss::shared_by_channels;
  for (char const* direction : {"forward", "backward"}) {
    for_each_default_setting<T>("shuffle", direction,
                                add_case<shuffle_job<T, shared_by_channels, host_backend>>);
    for_each_default_setting<T>("shuffle_per_channel", direction,
                                add_case<shuffle_job<T, per_channel, host_backend>>);
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration("shuffle",
                                                                add_shuffle<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
