// SPDX-License-Identifier: Apache-2.0
// Defines the backend that block_backend.hpp declares, for the generated units (units.cmake).
#pragma once

#include "support/block_backend.hpp"

#include <slicesort/detail/core/arena.hpp>
#include <slicesort/detail/core/implementation.hpp>
#include <slicesort/detail/device/grid.hpp>
#include <slicesort/dtype.hpp>
#include <slicesort/workspace.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace detail {

// Calls f(grid). Kernels of 16-bit elements do not depend on fast_double.
template <class T, class F>
void with_block_grid(support::block_exec const& exec, F const& f) {
  if constexpr (sizeof(T) >= 4) {
    if (exec.fast_double) {
      f(support::block_grid<true>(exec));
      return;
    }
  }
  f(support::block_grid<false>(exec));
}

template <class Op>
template <class T>
void implementation<Op, support::block_backend>::plan(support::block_exec const& exec,
                                                      typename Op::shape const& shape,
                                                      detail::arena& memory) {
  with_block_grid<float16>(exec, [&](auto const& grid) {
    device_implementation<Op>::template plan<T>(grid, shape, memory);
  });
}
template <class Op>
template <class Params>
void implementation<Op, support::block_backend>::forward(support::block_exec const& exec,
                                                         Params const& params, workspace scratch) {
  with_block_grid<typename Params::element>(
      exec, [&](auto const& grid) { device_implementation<Op>::forward(grid, params, scratch); });
}
template <class Op>
template <class Params>
void implementation<Op, support::block_backend>::backward(support::block_exec const& exec,
                                                          Params const& params, workspace scratch) {
  with_block_grid<typename Params::element>(
      exec, [&](auto const& grid) { device_implementation<Op>::backward(grid, params, scratch); });
}

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

// The variant _FORWARD is for a tag without backward.
#define SLICESORT_TEST_ON_BLOCKS_FORWARD(Op, T)                                         \
  template void slicesort::detail::implementation<Op, support::block_backend>::plan<T>( \
      support::block_exec const&, Op::shape const&, slicesort::detail::arena&);         \
  template void slicesort::detail::implementation<Op, support::block_backend>::forward( \
      support::block_exec const&, Op::forward<T> const&, slicesort::workspace);
#define SLICESORT_TEST_ON_BLOCKS(Op, T)                                                  \
  SLICESORT_TEST_ON_BLOCKS_FORWARD(Op, T)                                                \
  template void slicesort::detail::implementation<Op, support::block_backend>::backward( \
      support::block_exec const&, Op::backward<T> const&, slicesort::workspace);
