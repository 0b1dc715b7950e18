// SPDX-License-Identifier: Apache-2.0
// Kernel launches: cudaLaunchKernel, cudaLaunchKernelExC and kernel<<<...>>>.
#include "../kernels.hpp"
#include "../log.hpp"
#include "../settings.hpp"
#include "../streams.hpp"

#include "../../machine/launch.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace ptx::runtime;

namespace {

// Returns the error code of a launch that the machine rejects, that of driver 580.
cudaError_t rejection_code(ptx::launch const& launch_config) {
  bool const has_blocks = launch_config.grid.count() != 0 && launch_config.block.count() != 0;
  if (has_blocks && (launch_config.cluster > current_settings().device.cluster_blocks ||
                     launch_config.grid.x % launch_config.cluster != 0))
    return cudaErrorInvalidClusterSize;
  return cudaErrorInvalidValue;
}

void run_kernel(ptx::kernel const& k, ptx::launch launch_config) {
  // Every launch has different garbage and a different order of warps.
  static std::atomic<std::uint64_t> launches{0};
  launch_config.seed = 0x9e3779b97f4a7c15u * ++launches;
  auto const start = std::chrono::steady_clock::now();
  try {
    ptx::counters const counts = ptx::run(k, launch_config);
    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
    log_launch(k, counts, seconds.count());
  } catch (ptx::fault const& f) {
    report(f.what());
    if (current_settings().abort_at_fault) std::abort();
    set_device_error(cudaErrorLaunchFailure);
  }
}

cudaError_t launch_kernel(void const* function, cudaLaunchConfig_t const& config, unsigned cluster,
                          void** arguments) {
  found_kernel const found = find_kernel(function);
  if (found.code != cudaSuccess) return found.code;
  ptx::kernel const& k = *found.kernel;
  ptx::launch launch_config;
  launch_config.grid = {config.gridDim.x, config.gridDim.y, config.gridDim.z};
  launch_config.block = {config.blockDim.x, config.blockDim.y, config.blockDim.z};
  launch_config.cluster = cluster;
  launch_config.shared_bytes = config.dynamicSmemBytes;
  launch_config.options = current_settings().options;
  launch_config.removed = current_settings().removed;
  std::string const reason =
      ptx::error_message(k, launch_config, current_settings().device, found.dynamic_shared_bytes);
  if (!reason.empty()) {
    report(k.name + ": " + reason);
    return rejection_code(launch_config);
  }
  launch_config.parameters.resize(k.parameter_bytes);
  for (std::size_t i = 0; i < k.parameters.size(); ++i)
    std::memcpy(launch_config.parameters.data() + k.parameters[i].offset, arguments[i],
                k.parameters[i].bytes);
  return submit(config.stream,
                {cudaGraphNodeTypeKernel,
                 [&k, launch_config = std::move(launch_config)] { run_kernel(k, launch_config); }});
}

cudaError_t launch_kernel(void const* function, dim3 grid, dim3 block, void** arguments,
                          std::size_t shared_bytes, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return call([&] { return launch_kernel(function, config, 1, arguments); });
}

// The configuration of kernel<<<...>>>, from the brackets to the launch.
struct pushed_configuration {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<pushed_configuration> configuration_stack;

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void const* function,
                                void** arguments) {
  return call([&] {
    unsigned cluster = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      if (config->attrs[i].id != cudaLaunchAttributeClusterDimension)
        abort_unsupported("cudaLaunchKernelExC: an unsupported attribute");
      auto const& blocks = config->attrs[i].val.clusterDim;
      if (blocks.y != 1 || blocks.z != 1)
        abort_unsupported("cudaLaunchKernelExC: only clusters along x are supported");
      cluster = blocks.x;
    }
    return launch_kernel(function, *config, cluster, arguments);
  });
}
cudaError_t cudaLaunchKernel(void const* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream) {
  return launch_kernel(function, grid, block, arguments, shared_bytes, stream);
}

// Calls that nvcc generates for kernel<<<...>>>(...).
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, void const* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  return launch_kernel(kernel, grid, block, arguments, shared_bytes, stream);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                     CUstream_st* stream) {
  configuration_stack.push_back({grid, block, shared_bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                       void* stream) {
  if (configuration_stack.empty()) return record_error(cudaErrorInvalidConfiguration);
  pushed_configuration const last = configuration_stack.back();
  configuration_stack.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

}  // extern "C"
