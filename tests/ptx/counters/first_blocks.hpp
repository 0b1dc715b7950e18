// SPDX-License-Identifier: Apache-2.0
// An execution policy that plans a whole call as on an H200, but runs only the first blocks of each
// kernel on the PTX machine. Counting therefore takes seconds, yet uses the launch configuration of
// the full call. Views hold fake addresses, spaced widely enough for tensors of any size; only the
// samples that these blocks access are backed by memory.
#pragma once

#include "../machine/launch.hpp"
#include "../module/module.hpp"
#include "cuda/backend/views.hpp"

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/detail/operators.hpp>
#include <slicesort/policies/gemm.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace counting {

namespace ss = slicesort;

// The configuration of a launch, and the counters of its first blocks.
struct counted_launch {
  std::string kernel;   // demangled, without namespaces
  std::string mangled;  // name of the CUDA kernel
  ss::index_t blocks, counted_blocks;
  int threads, cluster;
  std::size_t shared_bytes;
  ptx::counters counts;
};

// Runs the first blocks of kernels of one module, and records the launches.
class launch_recorder {
 public:
  explicit launch_recorder(ptx::module& module);

  // Runs run_kernel<Kernel>. `type` is the mangled name of Kernel, which has `bytes` bytes.
  void run(char const* type, void const* kernel, std::size_t bytes, counted_launch launch);

  std::vector<counted_launch> const& launches() const { return launches_; }

 private:
  ptx::module& module_;
  std::vector<std::pair<std::string, std::string>>
      names_;  // short and mangled names of the kernels
  std::vector<counted_launch> launches_;
};

// Demangles a name and removes the namespaces, which depend on the compiler.
std::string short_name(char const* mangled);

// Each fake address identifies one allocation.
void* new_fake_address(void* memory);
void* memory_at(void const* fake_address);

struct backend {
  static constexpr bool host_memory = false;
};

struct first_blocks_policy {
  using backend = counting::backend;

  launch_recorder* recorder;
};

class counting_grid {
 public:
  explicit counting_grid(first_blocks_policy exec) : recorder_(exec.recorder) {}

  static constexpr ss::device_info info() {
    auto const h200 = ptx::sm_90;
    return {h200.compute_capability, h200.multiprocessors, h200.shared_opt_in};
  }
  template <class Tuning>
  Tuning tuning(Tuning defaults, std::size_t) const {
    return defaults;
  }
  bool clusters() const { return true; }
  bool multiply(ss::detail::gemm_callback const&, ss::gemm_call const&) const {
    throw std::logic_error("matrix products by a BLAS are not counted");
  }

  template <class Kernel>
  void run(Kernel const& kernel, ss::index_t blocks, int threads, int cluster = 1) const {
    counted_launch launch{};
    launch.blocks = blocks;
    launch.counted_blocks = std::min<ss::index_t>(blocks, cluster);
    launch.threads = threads;
    launch.cluster = cluster;
    launch.shared_bytes = ss::detail::shared_bytes(kernel);
    recorder_->run(typeid(Kernel).name(), &kernel, sizeof(Kernel), launch);
  }

 private:
  launch_recorder* recorder_;
};

template <class Params>
Params resolve_addresses(Params params) {
  support::for_each_view(
      params, [](auto& view, support::access) { support::move_to(view, memory_at(view.data())); });
  return params;
}
inline ss::workspace resolve_addresses(ss::workspace work) {
  return {work.data == nullptr ? nullptr : memory_at(work.data), work.bytes};
}

}  // namespace counting

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

template <class Op>
struct implementation<Op, counting::backend> {
  static void check(counting::first_blocks_policy, detail::checker&) {}
  template <class T>
  static auto plan(counting::first_blocks_policy exec, typename Op::shape const& shape,
                   detail::arena& memory) {
    return device_implementation<Op>::template plan<T>(counting::counting_grid(exec), shape,
                                                       memory);
  }
  template <class Params>
  static void forward(counting::first_blocks_policy exec, Params const& params, workspace work) {
    device_implementation<Op>::forward(counting::counting_grid(exec),
                                       counting::resolve_addresses(params),
                                       counting::resolve_addresses(work));
  }
  template <class Params>
  static void backward(counting::first_blocks_policy exec, Params const& params, workspace work) {
    device_implementation<Op>::backward(counting::counting_grid(exec),
                                        counting::resolve_addresses(params),
                                        counting::resolve_addresses(work));
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
