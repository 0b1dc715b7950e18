// SPDX-License-Identifier: Apache-2.0
// Registers max_exchange, shuffle and multi_permutation on the GPU. Compiled once per element type.
#include "cases/variant_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>

namespace bench {
namespace {

template <class T>
void add_multi_permutation() {
  for (char const* direction : {"forward", "forward_values"})
    for_each_device_setting<T>("multi_permutation", direction,
                               add_case<multi_permutation_job<T, cuda_backend>>);
  for_each_device_setting<T>("multi_permutation", "backward",
                             add_case<multi_permutation_backward_job<T, cuda_backend>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const multi_permutation_registration(
    "multi_permutation", add_multi_permutation<SLICESORT_BENCH_DTYPE>);

template <class T>
void add_max_exchange() {
  for (char const* direction : {"forward", "forward_values", "backward"})
    for_each_device_setting<T>("max_exchange", direction,
                               add_case<max_exchange_job<T, cuda_backend>>);
}
operator_registration<SLICESORT_BENCH_DTYPE> const max_exchange_registration(
    "max_exchange", add_max_exchange<SLICESORT_BENCH_DTYPE>);

template <class T>
void add_shuffle() {
  using ss::per_channel, ss::shared_by_channels;
  for (char const* direction : {"forward", "backward"}) {
    for_each_device_setting<T>("shuffle", direction,
                               add_case<shuffle_job<T, shared_by_channels, cuda_backend>>);
    for_each_device_setting<T>("shuffle_per_channel", direction,
                               add_case<shuffle_job<T, per_channel, cuda_backend>>);
  }
}
operator_registration<SLICESORT_BENCH_DTYPE> const shuffle_registration(
    "shuffle", add_shuffle<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
