// SPDX-License-Identifier: Apache-2.0
// softmax_attention on the GPU, streaming and materialized; the products of the latter come from
// cuBLAS where the bench is linked with it. Compiled once per element type.
#include "cases/attention_jobs.hpp"
#include "driver/cuda/tensors.hpp"
#include "settings.hpp"

#include <slicesort/cuda.cuh>

#if SLICESORT_BENCH_CUBLAS
#  include <cublas_v2.h>
#  include <slicesort/policies/cublas.cuh>
#endif

namespace bench {
namespace {

#if SLICESORT_BENCH_CUBLAS
// A cuBLAS handle with a workspace of its own, so that its calls can be captured in a graph.
cublasHandle_t cublas_handle() {
  static device_buffer<unsigned char> const workspace(std::size_t{32} << 20);
  static cublasHandle_t const one = [] {
    cublasHandle_t made = nullptr;
    if (cublasCreate(&made) != CUBLAS_STATUS_SUCCESS ||
        cublasSetStream(made, stream()) != CUBLAS_STATUS_SUCCESS ||
        cublasSetWorkspace(made, workspace.data(), workspace.bytes()) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLAS cannot be started");
    return made;
  }();
  return one;
}
#endif

struct cublas_map {
  static auto of(attention_policy const& p) {
#if SLICESORT_BENCH_CUBLAS
    // Streaming attention runs where cuBLAS does not.
    return ss::materialized<ss::cublas>{ss::cublas{p.materialized() ? cublas_handle() : nullptr}};
#else
    return (void)p, ss::materialized<>{};
#endif
  }
};

template <class T>
void add_softmax_attention() {
  auto const add = [](fields at) {
    at.backend = "cuda";
    add_case<attention_job<T, device_place, cublas_map>>(at);
  };
  for_each_attention_setting<T>(add);
  // The shapes of the targets: heads of 128 channels, 16384 tokens, as in FlashAttention's own
  // benchmarks.
  for_each_direction<T>("softmax_attention", {"streaming-full-H:16"}, "normal", {4, 4096, 2048},
                        add);
}
subject_of<SLICESORT_BENCH_DTYPE> const here("softmax_attention",
                                             add_softmax_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
