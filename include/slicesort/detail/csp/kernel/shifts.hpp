// SPDX-License-Identifier: Apache-2.0
// The shifts of csp's channels in device memory.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/problem.hpp>
#include <slicesort/detail/kernel/upload.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// The shifts of a call's channels.
struct csp_shifts {
  detail::channel_shift* all =
      nullptr;                      // of every channel, in the workspace; null where all are equal
  detail::channel_shift first = 0;  // then
  bool shifting = false;            // whether any shift is not 0
};

// Evaluates every channel's shift, and uploads them to `memory` unless all are equal.
template <class Grid>
csp_shifts upload_shifts(Grid const& grid, detail::csp_rule const& rule, extents3 e,
                         detail::channel_shift* memory) {
  csp_shifts m;
  auto const evaluate = [&](index_t channel) {
    detail::channel_shift const shift = rule.shift(channel, e);
    m.shifting |= detail::shift_of(shift) != 0;
    return shift;
  };
  uploaded_numbers const uploaded = upload_numbers(grid, e.channels, evaluate, memory, false);
  m.all = uploaded.uniform ? nullptr : memory;
  m.first = uploaded.first;
  return m;
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
