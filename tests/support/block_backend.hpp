// SPDX-License-Identifier: Apache-2.0
// The operators on the block executor: `block_exec` is an execution policy like exec::cuda, with
// kernels that run on the CPU. Generated units (operators/units.cmake) compile them once for all
// tests and the four element types.
#pragma once

#include "executor/block_executor.hpp"
#include "tunings.hpp"

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/gemm.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace support {

struct block_backend {
  static constexpr bool host_memory = true;
};

// A simulated device and the schedule of its threads.
struct block_exec {
  using backend = block_backend;

  char const* name = "blocks";
  slicesort::device_info device{};
  tuner tune{};
  bool fast_double = false;
  std::uint64_t seed = 1;
};

inline std::string describe(block_exec const& exec) {
  return std::string("blocks: ") + exec.name + " (fast_double " +
         (exec.fast_double ? "on" : "off") + ", seed " + std::to_string(exec.seed) + ")";
}

// Implements the Grid of detail/device/grid.hpp.
template <bool FastDouble>
class block_grid {
 public:
  explicit block_grid(block_exec const& exec) : exec_(exec) {}

  slicesort::device_info info() const { return exec_.device; }

  template <class Tuning>
  Tuning tuning(Tuning defaults, std::size_t element_bytes) const {
    return exec_.tune(exec_.device, element_bytes, defaults);
  }

  bool multiply(slicesort::detail::gemm_callback const& gemm,
                slicesort::gemm_call const& call) const {
    return gemm.multiply(nullptr, call);
  }

  bool clusters() const { return exec_.device.architecture >= 90; }

  template <class Kernel>
  void run(Kernel const& kernel, index_t blocks, int threads, int cluster = 1) const {
    launch config;
    config.blocks = blocks;
    config.threads = threads;
    config.shared_bytes = slicesort::detail::shared_bytes(kernel);
    config.cluster = cluster;
    config.seed = exec_.seed;
    if (config.shared_bytes > exec_.device.shared_bytes)
      throw block_fault("a launch with " + std::to_string(config.shared_bytes) +
                        " bytes of shared memory, the device has " +
                        std::to_string(exec_.device.shared_bytes));
    run_kernel<FastDouble>(config, kernel);
  }

 private:
  block_exec exec_;
};

}  // namespace support

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

// Defined in block_kernels.hpp.
template <class Op>
struct implementation<Op, support::block_backend> {
  static void check(support::block_exec const&, detail::checker&) {}
  template <class T>
  static void plan(support::block_exec const& exec, typename Op::shape const& shape,
                   detail::arena& memory);
  template <class Params>
  static void forward(support::block_exec const& exec, Params const& params, workspace scratch);
  template <class Params>
  static void backward(support::block_exec const& exec, Params const& params, workspace scratch);
};
#if defined(SLICESORT_TEST_HOST_ONLY)
// Definitions to link with; host-only programs do not call them.
template <class Op>
template <class T>
void implementation<Op, support::block_backend>::plan(support::block_exec const&,
                                                      typename Op::shape const&, detail::arena&) {
  std::abort();
}
template <class Op>
template <class Params>
void implementation<Op, support::block_backend>::forward(support::block_exec const&, Params const&,
                                                         workspace) {
  std::abort();
}
template <class Op>
template <class Params>
void implementation<Op, support::block_backend>::backward(support::block_exec const&, Params const&,
                                                          workspace) {
  std::abort();
}
#endif

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
