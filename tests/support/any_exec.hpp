// SPDX-License-Identifier: Apache-2.0
// Execution policy that selects the backend at run time. Tests are compiled once for all backends.
#pragma once

#include "block_backend.hpp"
#include "executors.hpp"
#include "operators/compiled_once.hpp"
#if defined(SLICESORT_TEST_CUDA)
#  include "cuda/backend/mirror.hpp"
#endif

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/host/isa.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/workspace.hpp>

#include <optional>
#include <string>
#include <type_traits>

namespace support {

enum class backend_kind { host, blocks, cuda };

struct any_backend {
  static constexpr bool host_memory = true;
};

// Holds a policy for each backend and uses the one of `kind`. On the host, `executor` runs the
// threads unless it is null.
struct any_exec {
  using backend = any_backend;

  backend_kind kind = backend_kind::host;
  slicesort::exec::host host{};
  test_executor* executor = nullptr;
  block_exec blocks{};
#if defined(SLICESORT_TEST_CUDA)
  cuda_exec cuda{};
#endif

  any_exec(slicesort::exec::host policy) : host(policy) {}
  any_exec(test_executor& pool, unsigned threads, slicesort::isa set = slicesort::isa::best)
      : host{threads, set}, executor(&pool) {}
  any_exec(block_exec policy) : kind(backend_kind::blocks), blocks(policy) {}
#if defined(SLICESORT_TEST_CUDA)
  any_exec(cuda_exec policy) : kind(backend_kind::cuda), cuda(policy) {}
#endif

  // Calls f(policy) with the selected policy, for elements T. Types without kernels in this suite
  // fall back to the host.
  template <class T, class F>
  void visit(F const& f) const {
    switch (kind) {
      case backend_kind::host:
        if (executor == nullptr) return f(host);
        return f(
            slicesort::exec::host_on<test_executor>(*executor, host.threads, host.instructions));
      case backend_kind::blocks:
        if constexpr (is_untested<T>)
          return f(slicesort::exec::host{});
        else
          return f(blocks);
      case backend_kind::cuda:
        break;
    }
#if defined(SLICESORT_TEST_CUDA)
    f(cuda);
#endif
  }
};

// Instruction set of a host policy; empty for other backends.
inline std::optional<slicesort::isa> host_isa(any_exec const& exec) {
  if (exec.kind != backend_kind::host) return {};
  return exec.host.instructions;
}

// Description of the policy for failure messages.
inline std::string describe(any_exec const& exec) {
  switch (exec.kind) {
    case backend_kind::host:
      return std::string(slicesort::detail::isa_name(exec.host.instructions)) + " x" +
             std::to_string(exec.host.threads);
    case backend_kind::blocks:
      return describe(exec.blocks);
    case backend_kind::cuda:
      break;
  }
#if defined(SLICESORT_TEST_CUDA)
  return std::string("CUDA: ") + exec.cuda.name;
#else
  return {};
#endif
}

}  // namespace support

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

template <class Op>
struct implementation<Op, support::any_backend> {
  static void check(support::any_exec const& exec, detail::checker& checks) {
    exec.visit<void>([&](auto const& policy) {
      implementation_for<Op, std::decay_t<decltype(policy)>>::check(policy, checks);
    });
  }
  template <class T>
  static void plan(support::any_exec const& exec, typename Op::shape const& shape,
                   detail::arena& memory) {
    exec.visit<T>([&](auto const& policy) {
      implementation_for<Op, std::decay_t<decltype(policy)>>::template plan<T>(policy, shape,
                                                                               memory);
    });
  }
  template <class Params>
  static void forward(support::any_exec const& exec, Params const& params, workspace scratch) {
    exec.visit<typename Params::element>([&](auto const& policy) {
      implementation_for<Op, std::decay_t<decltype(policy)>>::forward(policy, params, scratch);
    });
  }
  template <class Params>
  static void backward(support::any_exec const& exec, Params const& params, workspace scratch) {
    exec.visit<typename Params::element>([&](auto const& policy) {
      implementation_for<Op, std::decay_t<decltype(policy)>>::backward(policy, params, scratch);
    });
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
