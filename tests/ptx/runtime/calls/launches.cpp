// SPDX-License-Identifier: Apache-2.0
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

// The code for a launch that the machine refused, of which it says in words why.
cudaError_t refusal_code(ptx::kernel const& k, ptx::launch const& how) {
  ptx::device_limits const& device = asked().device;
  if (how.block.count() == 0 || how.block.count() > device.max_threads ||
      how.block.z > device.block_z || how.grid.count() == 0 || how.grid.x > device.grid_x ||
      how.grid.y > device.grid_y || how.grid.z > device.grid_z)
    return cudaErrorInvalidConfiguration;
  if (k.max_threads != 0 && how.block.count() > k.max_threads) return cudaErrorLaunchOutOfResources;
  if (how.cluster > device.cluster_blocks || how.grid.x % how.cluster != 0)
    return cudaErrorInvalidClusterSize;
  return cudaErrorInvalidValue;  // shared memory
}

void run_now(ptx::kernel const& k, ptx::launch how) {
  // Other garbage, and another order of warps, at every launch.
  static std::atomic<std::uint64_t> launches{0};
  how.seed = 0x9e3779b97f4a7c15u * ++launches;
  auto const start = std::chrono::steady_clock::now();
  try {
    ptx::counters const counted = ptx::run(k, how);
    std::chrono::duration<double> const seconds = std::chrono::steady_clock::now() - start;
    log_launch(k, counted, seconds.count());
  } catch (ptx::fault const& f) {
    say(f.what());
    if (asked().abort_at_fault) std::abort();
    lose_device(cudaErrorLaunchFailure);
  }
}

cudaError_t launch_kernel(void const* function, cudaLaunchConfig_t const& config, unsigned cluster,
                          void** arguments) {
  found_kernel const found = find_kernel(function);
  if (found.code != cudaSuccess) return found.code;
  ptx::kernel const& k = *found.what;
  ptx::launch how;
  how.grid = {config.gridDim.x, config.gridDim.y, config.gridDim.z};
  how.block = {config.blockDim.x, config.blockDim.y, config.blockDim.z};
  how.cluster = cluster;
  how.shared_bytes = config.dynamicSmemBytes;
  how.watched = asked().watched;
  how.removed = asked().removed;
  std::string const refused = ptx::refusal(k, how, asked().device, found.dynamic_shared_bytes);
  if (!refused.empty()) {
    say(k.name + ": " + refused);
    return refusal_code(k, how);
  }
  how.parameters.resize(k.parameter_bytes);
  for (std::size_t i = 0; i < k.parameters.size(); ++i)
    std::memcpy(how.parameters.data() + k.parameters[i].offset, arguments[i],
                k.parameters[i].bytes);
  return submit(config.stream,
                {cudaGraphNodeTypeKernel, [&k, how = std::move(how)] { run_now(k, how); }});
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

// Of kernel<<<...>>>, from the brackets to the function that they call.
struct pushed_configuration {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<pushed_configuration> pushed;

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void const* function,
                                void** arguments) {
  return call([&] {
    unsigned cluster = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      if (config->attrs[i].id != cudaLaunchAttributeClusterDimension)
        give_up("cudaLaunchKernelExC: an attribute that is not known here");
      auto const& blocks = config->attrs[i].val.clusterDim;
      if (blocks.y != 1 || blocks.z != 1)
        give_up("cudaLaunchKernelExC: only clusters along x are known here");
      cluster = blocks.x;
    }
    return launch_kernel(function, *config, cluster, arguments);
  });
}
cudaError_t cudaLaunchKernel(void const* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream) {
  return launch_kernel(function, grid, block, arguments, shared_bytes, stream);
}

// What nvcc makes of kernel<<<...>>>(...).
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
  pushed.push_back({grid, block, shared_bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                       void* stream) {
  if (pushed.empty()) return remember(cudaErrorInvalidConfiguration);
  pushed_configuration const last = pushed.back();
  pushed.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

}  // extern "C"
