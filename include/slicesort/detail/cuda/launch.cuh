// SPDX-License-Identifier: Apache-2.0
// Implementation of the Grid interface (detail/device/grid.hpp) for CUDA streams, and the only
// __global__ function, run_kernel, which runs all kernels.
#pragma once

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/cuda/block.cuh>
#include <slicesort/detail/cuda/runtime.cuh>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/error.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Hides symbols. Otherwise two shared libraries in a process could swap kernels that were built for
// different architectures. (An attribute on the function would cause warnings about file-local
// kernels.)
#pragma GCC visibility push(hidden)
template <class Kernel>
__global__ void __launch_bounds__(Kernel::max_threads, min_blocks_of<Kernel>)
    run_kernel(__grid_constant__ Kernel const kernel, index_t first) {
  extern __shared__ __align__(16) unsigned char slicesort_shared[];
  device_block block(slicesort_shared, first);
  kernel(block);
}
#pragma GCC visibility pop

// Empty kernel, for cudaFuncGetAttributes.
struct empty_kernel {
  static constexpr int max_threads = 1;
  template <class Block>
  SLICESORT_HD void operator()(Block&) const {}
};

// Most shared memory that a kernel can have without opting in to more.
inline constexpr std::size_t default_shared_bytes = 48 * 1024;

template <class... Selectors>
class cuda_grid {
 public:
  explicit cuda_grid(exec::basic_cuda<Selectors...> exec) : stream_(exec.stream) {
    enforce_cuda(device_of(stream_, device_), "the stream's device");
    enforce_cuda(device_info_of(device_, info_), "the device's attributes");
  }

  int device() const { return device_; }
  device_info info() const { return info_; }

  template <class Tuning>
  Tuning tuning(Tuning defaults, std::size_t element_bytes) const {
    return apply_selectors(info_, element_bytes, defaults, Selectors{}...);
  }

  // True if both the device and the code compiled for it support clusters.
  bool clusters() const {
    if (info_.architecture < 90) return false;
    device_guard const guard(device_);
    cudaFuncAttributes attributes{};
    enforce_cuda(cudaFuncGetAttributes(&attributes,
                                       reinterpret_cast<void const*>(&run_kernel<empty_kernel>)),
                 "cudaFuncGetAttributes");
    return attributes.ptxVersion >= 90;
  }

  bool multiply(gemm_callback const& config, gemm_call const& call) const {
    return config.multiply(stream_, call);
  }

  template <class Kernel>
  void run(Kernel const& kernel, index_t blocks, int threads, int cluster = 1) const {
    static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) <= 4000,
                  "slicesort: a kernel travels as the kernel's argument, at most 4 KB");
    index_t const max_blocks = ((index_t{1} << 31) - 1) / cluster * cluster;  // per launch
    auto const function = reinterpret_cast<void const*>(&run_kernel<Kernel>);
    std::size_t const shared = shared_bytes(kernel);
    // Sets the same value at every launch, because another thread may be between this call and its
    // own launch.
    if (shared > default_shared_bytes)
      enforce_cuda(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(info_.shared_bytes)),
                   "cudaFuncSetAttribute");
    for (index_t first = 0; first < blocks; first += max_blocks) {
      void* arguments[] = {const_cast<Kernel*>(&kernel), &first};
      auto const grid_blocks = static_cast<unsigned>(std::min(max_blocks, blocks - first));
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(grid_blocks);
      config.blockDim = dim3(static_cast<unsigned>(threads));
      config.dynamicSmemBytes = shared;
      config.stream = stream_;
      cudaLaunchAttribute cluster_shape{};
      cluster_shape.id = cudaLaunchAttributeClusterDimension;
      cluster_shape.val.clusterDim.x = static_cast<unsigned>(cluster);
      cluster_shape.val.clusterDim.y = cluster_shape.val.clusterDim.z = 1;
      config.attrs = &cluster_shape;
      config.numAttrs = cluster > 1 ? 1 : 0;
      // Avoids <<<>>>, whose status may report errors of the user's earlier calls.
      enforce_cuda(cudaLaunchKernelExC(&config, function, arguments), "cudaLaunchKernelExC");
    }
  }

 private:
  cudaStream_t stream_;
  int device_ = 0;
  device_info info_;
};
template <class... Selectors>
cuda_grid(exec::basic_cuda<Selectors...>) -> cuda_grid<Selectors...>;

template <class Op>
struct implementation<Op, cuda_backend> {
  template <class Exec>
  static void check(Exec const& exec, checker& checks) {
    int device = 0;
    device_info info;
    cudaError_t status = device_of(exec.stream, device);
    if (status == cudaSuccess) status = device_info_of(device, info);
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    checks.fail(cuda_failure(status, "the stream's device"));
  }
  template <class T, class Exec>
  static auto plan(Exec const& exec, typename Op::shape const& shape, arena& memory) {
    return device_implementation<Op>::template plan<T>(cuda_grid(exec), shape, memory);
  }
  template <class Exec, class Params>
  static void forward(Exec const& exec, Params const& params, workspace w) {
    cuda_grid const grid(exec);
    device_guard const guard(grid.device());
    profiler_range const range(Params::name);
    device_implementation<Op>::forward(grid, params, w);
  }
  template <class Exec, class Params>
  static void backward(Exec const& exec, Params const& params, workspace w) {
    cuda_grid const grid(exec);
    device_guard const guard(grid.device());
    profiler_range const range(Params::name);
    device_implementation<Op>::backward(grid, params, w);
  }
};

SLICESORT_DETAIL_END
