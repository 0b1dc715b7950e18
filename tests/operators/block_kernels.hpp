// SPDX-License-Identifier: Apache-2.0
// The kernels behind block_backend.hpp, for the generated units (units.cmake) that compile
// them.
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

// f(grid); no kernel of 16-bit elements asks what the device is good at.
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
                                                      typename Op::shape const& s,
                                                      detail::arena& a) {
  with_block_grid<float16>(
      exec, [&](auto const& grid) { device_implementation<Op>::template plan<T>(grid, s, a); });
}
template <class Op>
template <class Params>
void implementation<Op, support::block_backend>::forward(support::block_exec const& exec,
                                                         Params const& p, workspace w) {
  with_block_grid<typename Params::element>(
      exec, [&](auto const& grid) { device_implementation<Op>::forward(grid, p, w); });
}
template <class Op>
template <class Params>
void implementation<Op, support::block_backend>::backward(support::block_exec const& exec,
                                                          Params const& p, workspace w) {
  with_block_grid<typename Params::element>(
      exec, [&](auto const& grid) { device_implementation<Op>::backward(grid, p, w); });
}

}  // namespace detail
}  // namespace SLICESORT_BUILD
}  // namespace slicesort

// FORWARD: of a tag without backward.
#define SLICESORT_TEST_ON_BLOCKS_FORWARD(Op, T)                                         \
  template void slicesort::detail::implementation<Op, support::block_backend>::plan<T>( \
      support::block_exec const&, Op::shape const&, slicesort::detail::arena&);         \
  template void slicesort::detail::implementation<Op, support::block_backend>::forward( \
      support::block_exec const&, Op::forward<T> const&, slicesort::workspace);
#define SLICESORT_TEST_ON_BLOCKS(Op, T)                                                  \
  SLICESORT_TEST_ON_BLOCKS_FORWARD(Op, T)                                                \
  template void slicesort::detail::implementation<Op, support::block_backend>::backward( \
      support::block_exec const&, Op::backward<T> const&, slicesort::workspace);
