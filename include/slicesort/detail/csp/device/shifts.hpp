// SPDX-License-Identifier: Apache-2.0
// Shifts and directions of the channels, in device memory.
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

// Policies of a call, evaluated for all channels. Values that differ between channels are in the
// workspace.
struct csp_shifts {
  index_t* per_channel = nullptr;  // shift of every channel; null if all shifts are equal
  index_t uniform = 0;             // shift of all channels, if equal
  index_t* descending = nullptr;  // [channels], nonzero if descending; null if all directions agree
  bool all_descend = false;       // direction of all channels, if they agree
  bool shifting = false;          // true if some shift is not 0
};

// Returns the number of workspace elements for `channels` channels.
constexpr index_t csp_shift_count(index_t channels) { return 2 * channels; }

// Evaluates the policies for every channel, and uploads values that differ to `memory`: the shifts,
// then the directions. They are separate, because a shift uses all 64 bits.
template <class Grid>
csp_shifts upload_shifts(Grid const& grid, csp_config const& config, extents3 extents,
                         index_t* memory) {
  csp_shifts shifts;
  bool mixed = false;
  shifts.all_descend = config.descends(0, extents);
  for (index_t c = 1; c < extents.channels && !mixed; ++c)
    mixed = config.descends(c, extents) != shifts.all_descend;
  auto const number = [&](index_t i) -> index_t {
    if (i >= extents.channels) return config.descends(i - extents.channels, extents);
    index_t const shift = config.shift(i, extents);
    shifts.shifting |= shift != 0;
    return shift;
  };
  uploaded_values const uploaded =
      upload_values(grid, mixed ? 2 * extents.channels : extents.channels, number, memory, mixed);
  shifts.uniform = uploaded.first;
  if (mixed) shifts.descending = memory + extents.channels;
  if (mixed || !uploaded.uniform) shifts.per_channel = memory;
  return shifts;
}

// Computes the spread of shifts among `width` neighbors; its width is 0 if the spread exceeds
// `limit` rows. Shifts are compared modulo the length, unless samples have different lengths and
// thus different moduli.
inline shift_spread spread_of(csp_config const& config, extents3 extents, bool lengths, int width,
                              index_t limit) {
  // Differences of values within this limit cannot overflow.
  constexpr index_t large = index_t{1} << 60;
  index_t first = 0, above = 0, below = 0;
  for (index_t c = 0; c < extents.channels; ++c) {
    index_t shift = config.shift(c, extents);
    if (!lengths) shift = wrapped(shift, extents.length);
    if (shift > large || shift < -large) return {0, 0, 0};
    if (c % width == 0) first = shift;
    index_t larger = shift - first;
    if (!lengths && larger > extents.length / 2) larger -= extents.length;
    if (!lengths && larger < -(extents.length / 2)) larger += extents.length;
    above = std::max(above, larger);
    below = std::max(below, -larger);
  }
  if (above + below > limit) return {0, 0, 0};
  return {width, static_cast<std::uint32_t>(above), static_cast<std::uint32_t>(below)};
}

SLICESORT_DETAIL_END
