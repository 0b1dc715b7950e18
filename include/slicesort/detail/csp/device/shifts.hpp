// SPDX-License-Identifier: Apache-2.0
// The shifts and directions of csp's channels in device memory.
#pragma once

#include <slicesort/detail/core/config.hpp>
#include <slicesort/detail/csp/device/groups.hpp>
#include <slicesort/detail/csp/params.hpp>
#include <slicesort/detail/device/upload.hpp>
#include <slicesort/detail/math/row_division.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>

SLICESORT_DETAIL_BEGIN

// What the policies say of a call's channels. What differs between them lies in the workspace.
struct csp_shifts {
  index_t* all = nullptr;         // every channel's shift; null where all are equal
  index_t first = 0;              // then
  index_t* descending = nullptr;  // 1 for every channel that descends, else 0; null where all agree
  bool first_descends = false;    // then
  bool shifting = false;          // whether any shift is not 0
};

// Numbers of the workspace that are written for so many channels, at most.
constexpr index_t csp_shift_numbers(index_t channels) { return 2 * channels; }

// Asks the policies for every channel, and uploads what differs to `memory`: the shifts, followed
// by the directions. A shift can be any 64-bit number, which leaves no bit for the direction.
template <class Grid>
csp_shifts upload_shifts(Grid const& grid, csp_config const& config, extents3 e, index_t* memory) {
  csp_shifts m;
  bool mixed = false;
  m.first_descends = config.descends(0, e);
  for (index_t c = 1; c < e.channels && !mixed; ++c)
    mixed = config.descends(c, e) != m.first_descends;
  auto const number = [&](index_t i) -> index_t {
    if (i >= e.channels) return config.descends(i - e.channels, e);
    index_t const shift = config.shift(i, e);
    m.shifting |= shift != 0;
    return shift;
  };
  uploaded_numbers const uploaded =
      upload_numbers(grid, mixed ? 2 * e.channels : e.channels, number, memory, mixed);
  m.first = uploaded.first;
  if (mixed) m.descending = memory + e.channels;
  if (mixed || !uploaded.uniform) m.all = memory;
  return m;
}

// The spread of shifts among `width` neighbors; a width of 0 if it is more than `limit` rows.
// Shifts are compared in the circle of all rows; as they are where samples have lengths, and so
// circles of their own.
inline shift_spread spread_of(csp_config const& config, extents3 e, bool lengths, int width,
                              index_t limit) {
  // Differences of smaller numbers cannot overflow.
  constexpr index_t large = index_t{1} << 60;
  index_t first = 0, above = 0, below = 0;
  for (index_t c = 0; c < e.channels; ++c) {
    index_t shift = config.shift(c, e);
    if (!lengths) shift = wrapped(shift, e.length);
    if (shift > large || shift < -large) return {0, 0, 0};
    if (c % width == 0) first = shift;
    index_t larger = shift - first;
    if (!lengths && larger > e.length / 2) larger -= e.length;
    if (!lengths && larger < -(e.length / 2)) larger += e.length;
    above = std::max(above, larger);
    below = std::max(below, -larger);
  }
  if (above + below > limit) return {0, 0, 0};
  return {width, static_cast<std::uint32_t>(above), static_cast<std::uint32_t>(below)};
}

SLICESORT_DETAIL_END
