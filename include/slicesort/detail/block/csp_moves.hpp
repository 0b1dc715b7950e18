// SPDX-License-Identifier: Apache-2.0
// How the channels of csp move, which the host has computed, reaches the workspace: as the argument of
// a kernel, so that a call neither copies nor waits, and can be captured.
#pragma once

#include <slicesort/detail/block/grid.hpp>
#include <slicesort/detail/config.hpp>
#include <slicesort/detail/problem/csp.hpp>
#include <slicesort/tensor_view.hpp>

#include <cstddef>
#include <cstdint>

namespace slicesort {
inline namespace SLICESORT_BUILD {
namespace impl {

// A part of them. `Number` is as narrow as they allow.
template <class Number>
struct write_moves_body {
  static constexpr int max_threads = 128;
  static constexpr int most = 3840 / static_cast<int>(sizeof(Number));

  detail::channel_move* to;
  int count;
  Number moves[static_cast<std::size_t>(most)];

  template <class Block>
  SLICESORT_HD void operator()(Block& block) const {
    for (int i = block.rank(); i < count; i += block.size()) to[i] = moves[i];
  }
};

// How the channels of a problem move.
struct csp_moves {
  detail::channel_move* all = nullptr;  // of every channel, in the workspace; null: all move alike
  detail::channel_move first = 0;       // then
  bool shifting = false;                // whether any shift is not 0
};

// Asks for every channel's move, once, and writes them to `memory`; false if one is too wide for
// `Number`. Where all are alike and no part has been written, none is.
template <class Number, class Grid>
bool write_moves(Grid const& grid, detail::csp_rule const& rule, extents3 e,
                 detail::channel_move* memory, csp_moves& m) {
  using body = write_moves_body<Number>;
  m = {};
  body part{};
  for (index_t c = 0; c < e.channels; ++c) {
    detail::channel_move const move = rule.move(c, e);
    if (move != static_cast<Number>(move)) return false;
    if (c == 0) m.first = move;
    if (move != m.first) m.all = memory;
    m.shifting |= detail::shift_of(move) != 0;
    part.moves[part.count++] = static_cast<Number>(move);
    bool const last = c + 1 == e.channels;
    if (part.count < body::most && !(last && m.all != nullptr)) continue;
    part.to = memory + (c + 1 - part.count);
    grid.run(part, 1, body::max_threads);
    part.count = 0;
  }
  return true;
}

template <class Grid>
csp_moves find_moves(Grid const& grid, detail::csp_rule const& rule, extents3 e,
                     detail::channel_move* memory) {
  csp_moves m;
  if (!write_moves<std::int32_t>(grid, rule, e, memory, m))
    write_moves<detail::channel_move>(grid, rule, e, memory, m);
  return m;
}

}  // namespace impl
}  // namespace SLICESORT_BUILD
}  // namespace slicesort
