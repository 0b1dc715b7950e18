// SPDX-License-Identifier: Apache-2.0
// An execution policy that plans a call for all of a tensor, as on an H200, and runs only the first
// blocks of every kernel on the PTX machine: what a block does can be counted in seconds, in the
// configuration that the whole call has. Views hold places, not addresses: there is room between
// tensors of any size, though only the samples that these blocks touch have memory.
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

// What a launch was to be, and what its first blocks did.
struct counted_launch {
  std::string kernel;  // demangled, without namespaces
  std::string kernel;
  ss::index_t blocks, counted;
  int threads, cluster;
  std::size_t shared;
  ptx::counters counts;
};

// Runs kernels of one module, and keeps their counts.
class recorder {
 public:
  explicit recorder(ptx::module& kernels);

  // The kernel is run_kernel<Kernel>, with a Kernel of so many bytes; `name` is the type's.
  void run(char const* name, void const* kernel, std::size_t bytes, counted_launch launch);

  std::vector<counted_launch> const& launches() const { return launches_; }

 private:
  ptx::module& kernels_;
  std::vector<std::pair<std::string, std::string>> kernels_;  // and the mangled kernel
  std::vector<counted_launch> launches_;
};

// slicesort::v0::detail::some_kernel<...> without the namespaces, which depend on the compiler.
std::string short_name(char const* mangled);

// The memory behind a place.
void* new_place(void* memory);
void* memory_at(void const* place);

struct backend {
  static constexpr bool host_memory = false;
};

// The policy.
struct first_blocks {
  using backend = counting::backend;

  recorder* to;
};

class counting_grid {
 public:
  explicit counting_grid(first_blocks exec) : to_(exec.to) {}

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
    throw std::logic_error("no case here multiplies by a BLAS");
  }

  template <class Kernel>
  void run(Kernel const& kernel, ss::index_t blocks, int threads, int cluster = 1) const {
    counted_launch launch{};
    launch.blocks = blocks;
    launch.counted = std::min<ss::index_t>(blocks, cluster);
    launch.threads = threads;
    launch.cluster = cluster;
    launch.shared = ss::detail::shared_bytes(kernel);
    to_->run(typeid(Kernel).name(), &kernel, sizeof(Kernel), launch);
  }

 private:
  recorder* to_;
};

template <class Params>
Params in_memory(Params problem) {
  support::for_each_view(
      problem, [](auto& view, support::access) { support::move_to(view, memory_at(view.data())); });
  return problem;
}
inline ss::workspace in_memory(ss::workspace w) {
  return {w.data == nullptr ? nullptr : memory_at(w.data), w.bytes};
}

}  // namespace counting

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

template <class Op>
struct implementation<Op, counting::backend> {
  static void check(counting::first_blocks, detail::checker&) {}
  template <class T>
  static auto plan(counting::first_blocks exec, typename Op::shape const& s, detail::arena& a) {
    return device_implementation<Op>::template plan<T>(counting::counting_grid(exec), s, a);
  }
  template <class Params>
  static void forward(counting::first_blocks exec, Params const& p, workspace w) {
    device_implementation<Op>::forward(counting::counting_grid(exec), counting::in_memory(p),
                                       counting::in_memory(w));
  }
  template <class Params>
  static void backward(counting::first_blocks exec, Params const& p, workspace w) {
    device_implementation<Op>::backward(counting::counting_grid(exec), counting::in_memory(p),
                                        counting::in_memory(w));
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
