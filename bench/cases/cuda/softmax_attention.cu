// SPDX-License-Identifier: Apache-2.0
// Registers softmax_attention on the GPU, streaming and materialized. The materialized algorithm
// uses cuBLAS if the bench is linked with it. Compiled once per element type.
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
// Returns a cuBLAS handle with a preallocated workspace, so that its calls can be captured in a
// graph.
cublasHandle_t cublas_handle() {
  static device_buffer<unsigned char> const workspace(std::size_t{32} << 20);
  static cublasHandle_t const handle = [] {
    cublasHandle_t created = nullptr;
    if (cublasCreate(&created) != CUBLAS_STATUS_SUCCESS ||
        cublasSetStream(created, stream()) != CUBLAS_STATUS_SUCCESS ||
        cublasSetWorkspace(created, workspace.data(), workspace.bytes()) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLAS cannot be started");
    return created;
  }();
  return handle;
}
#endif

struct cublas_factory {
  static auto make(attention_policy const& policy) {
#if SLICESORT_BENCH_CUBLAS
    // Streaming attention must not require cuBLAS.
    return ss::materialized<ss::cublas>{
        ss::cublas{policy.is_materialized() ? cublas_handle() : nullptr}};
#else
    return (void)policy, ss::materialized<>{};
#endif
  }
};

template <class T>
void add_softmax_attention() {
  auto const add = [](case_params params) {
    params.backend = "cuda";
    add_case<attention_job<T, cuda_backend, cublas_factory>>(params);
  };
  for_each_attention_setting<T>(add);
  // The shape of the targets and of FlashAttention's benchmarks: 16384 tokens, heads of 128
  // channels.
  for_each_direction<T>("softmax_attention", {"streaming-full-H:16"}, "normal", {4, 4096, 2048},
                        add);
}
operator_registration<SLICESORT_BENCH_DTYPE> const registration(
    "softmax_attention", add_softmax_attention<SLICESORT_BENCH_DTYPE>);

}  // namespace
}  // namespace bench
