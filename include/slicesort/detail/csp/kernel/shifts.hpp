// SPDX-License-Identifier: Apache-2.0
// How the channels of csp move, as its kernels are told.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/problem.hpp>
#include <slicesort/detail/kernel/upload.hpp>
#include <slicesort/tensor_view.hpp>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// How the channels of a problem move.
struct csp_moves {
  detail::channel_shift* all = nullptr;  // of every channel, in the workspace; null: all move alike
  detail::channel_shift first = 0;       // then
  bool shifting = false;                 // whether any shift is not 0
};

// Asks for every channel's move, and writes them to `memory` unless all are alike.
template <class Grid>
csp_moves find_moves(Grid const& grid, detail::csp_rule const& rule, extents3 e,
                     detail::channel_shift* memory) {
  csp_moves m;
  auto const ask = [&](index_t channel) {
    detail::channel_shift const move = rule.move(channel, e);
    m.shifting |= detail::shift_of(move) != 0;
    return move;
  };
  uploaded_numbers const noted = upload_numbers(grid, e.channels, ask, memory, false);
  m.all = noted.alike ? nullptr : memory;
  m.first = noted.first;
  return m;
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
