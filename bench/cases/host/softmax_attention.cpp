// SPDX-License-Identifier: Apache-2.0
// Registers softmax_attention on the host, streaming and materialized. The materialized algorithm
// uses a BLAS if the bench is linked with one. Compiled once per element type.
#include "cases/attention_jobs.hpp"

#include <slicesort/detail/host/isa.hpp>

#ifdef SLICESORT_BENCH_BLAS
#  include <slicesort/policies/blas.hpp>
#endif

#include <type_traits>

namespace bench {
namespace {

struct blas_factory {
  static auto make(attention_policy const&) {
#ifdef SLICESORT_BENCH_BLAS
    return ss::materialized<ss::cblas>{};
#else
    return ss::materialized<>{};
#endif
  }
};

template <class T>
void add_softmax_attention() {
  auto const add = [](case_params params) {
    for (unsigned const threads : {1u, 2u}) {
      params.threads = threads;
      add_case<attention_job<T, host_backend, blas_factory>>(params);
    }
  };
  for_each_attention_setting<T>(add);
  for_each_sparse_setting<T>(add);
  for_each_variant_setting<T>(add);
  for_each_sweep_shape([&](ss::extents3 shape) {
    for_each_direction<T>("softmax_attention",
                          {"streaming-full-H:4", "streaming-window-H:4",
                           "streaming-block_local-H:4", "materialized-full-H:4"},
                          "uniform", shape, add);
  });
  // Without bfloat16 instructions, native products are exact products.
  if constexpr (std::is_same_v<T, ss::bfloat16>)
    if (ss::detail::has_bfloat16_pairs()) {
      for_each_native_setting<T>(add);
      for_each_sweep_shape([&](ss::extents3 shape) {
        for_each_direction<T>("softmax_attention", {"native-full-H:4"}, "uniform", shape, add);
      });
    }
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "softmax_attention", add_softmax_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
