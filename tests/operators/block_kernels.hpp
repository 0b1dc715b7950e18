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

// f(grid); no body of 16-bit elements asks what the device is good at.
template <class T, class F>
void with_block_grid(support::block_exec const& on, F const& f) {
  if constexpr (sizeof(T) >= 4) {
    if (on.fast_double) {
      f(support::block_grid<true>(on));
      return;
    }
  }
  f(support::block_grid<false>(on));
}

template <class Op>
template <class T>
void implementation<Op, support::block_backend>::plan(support::block_exec const& on,
                                                      typename Op::shape const& s,
                                                      detail::arena& a) {
  with_block_grid<float16>(
      on, [&](auto const& grid) { device_implementation<Op>::template plan<T>(grid, s, a); });
}
template <class Op>
template <class Problem>
void implementation<Op, support::block_backend>::forward(support::block_exec const& on,
                                                         Problem const& p, workspace w) {
  with_block_grid<typename Problem::element>(
      on, [&](auto const& grid) { device_implementation<Op>::forward(grid, p, w); });
}
template <class Op>
template <class Problem>
void implementation<Op, support::block_backend>::backward(support::block_exec const& on,
                                                          Problem const& p, workspace w) {
  with_block_grid<typename Problem::element>(
      on, [&](auto const& grid) { device_implementation<Op>::backward(grid, p, w); });
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
