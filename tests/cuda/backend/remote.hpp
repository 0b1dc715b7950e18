// SPDX-License-Identifier: Apache-2.0
// The CUDA backend for sources that no CUDA compiler reads. `on_stream` is exec::cuda to the doors;
// behind it stand functions that remote.cu compiles once for each element type. So the tests are
// built once, for all backends, and every one that runs proves that .cpp and .cu link.
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

struct on_stream {
  using backend = remote_backend;

  CUstream_st* stream = nullptr;
  tuner tune{};
};

slicesort::status remote_check(on_stream exec);
template <class Op, class T>
std::size_t remote_bytes(on_stream exec, typename Op::shape const& s);
template <class Op, class Params>
void remote_forward(on_stream exec, Params const& p, slicesort::workspace w);
template <class Op, class Params>
void remote_backward(on_stream exec, Params const& p, slicesort::workspace w);

// Has the arena count, or carve, the same number of bytes as the walk that said `bytes`.
inline void take_all(slicesort::detail::arena& a, std::size_t bytes) {
  if (bytes != 0) a.take<unsigned char>(bytes - (slicesort::detail::arena::alignment - 1));
}

}  // namespace support

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

template <class Op>
struct implementation<Op, support::remote_backend> {
  static void check(support::on_stream exec, detail::checker& c) {
    c.fail(support::remote_check(exec));
  }
  template <class T>
  static void plan(support::on_stream exec, typename Op::shape const& s, detail::arena& a) {
    support::take_all(a, support::remote_bytes<Op, T>(exec, s));
  }
  template <class Params>
  static void forward(support::on_stream exec, Params const& p, workspace w) {
    support::remote_forward<Op>(exec, p, w);
  }
  template <class Params>
  static void backward(support::on_stream exec, Params const& p, workspace w) {
    support::remote_backward<Op>(exec, p, w);
  }
};

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
