// SPDX-License-Identifier: Apache-2.0
// The CUDA backend for sources of the host compiler. `stream_exec` stands for exec::cuda; it calls
// functions that remote.cu compiles once for each element type. The tests are thus built once for
// all backends, and also show that .cpp and .cu files link.
#pragma once

#include "support/tunings.hpp"

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/check.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/error.hpp>
#include <slicesort/policies/tuning.hpp>
#include <slicesort/tensor_view.hpp>
#include <slicesort/workspace.hpp>

#include <cstddef>

struct CUstream_st;

namespace support {

struct remote_backend {
  static constexpr bool host_memory = false;
};

struct stream_exec {
  using backend = remote_backend;

  CUstream_st* stream = nullptr;
  tuner tune{};
};

slicesort::status remote_check(stream_exec exec);
template <class Op, class T>
std::size_t remote_bytes(stream_exec exec, typename Op::shape const& shape);
template <class Op, class Params>
void remote_forward(stream_exec exec, Params const& params, slicesort::workspace scratch);
template <class Op, class Params>
void remote_backward(stream_exec exec, Params const& params, slicesort::workspace scratch);

// Allocates the `bytes` that another arena has counted.
inline void allocate_all(slicesort::detail::arena& memory, std::size_t bytes) {
  if (bytes != 0) memory.take<unsigned char>(bytes - (slicesort::detail::arena::alignment - 1));
}

}  // namespace support

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

template <class Op>
struct implementation<Op, support::remote_backend> {
  static void check(support::stream_exec exec, detail::checker& checks) {
    checks.fail(support::remote_check(exec));
  }
  template <class T>
  static void plan(support::stream_exec exec, typename Op::shape const& shape,
                   detail::arena& memory) {
    support::allocate_all(memory, support::remote_bytes<Op, T>(exec, shape));
  }
  template <class Params>
  static void forward(support::stream_exec exec, Params const& params, workspace scratch) {
    support::remote_forward<Op>(exec, params, scratch);
  }
  template <class Params>
  static void backward(support::stream_exec exec, Params const& params, workspace scratch) {
    support::remote_backward<Op>(exec, params, scratch);
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
