// SPDX-License-Identifier: Apache-2.0
// Shift and sort direction of every channel, in device memory.
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

// Policies of a call, evaluated for all channels. Per-channel values are stored in the workspace.
struct csp_shifts {
  index_t* per_channel = nullptr;  // shift of every channel; null if all shifts are equal
  index_t uniform = 0;             // shift of all channels, if equal
  index_t* descending = nullptr;  // [channels], nonzero if descending; null if all directions agree
  bool all_descend = false;       // direction of all channels, if they agree
  bool has_shifts = false;        // true if some shift is not 0
};

// Returns the number of workspace elements for `channels` channels.
constexpr index_t csp_shift_count(index_t channels) { return 2 * channels; }

// Evaluates the policies for every channel, and uploads values that differ to `memory`: the shifts,
// then the directions. They are stored separately, because a shift uses all 64 bits.
template <class Grid>
csp_shifts upload_shifts(Grid const& grid, csp_config const& config, extents3 extents,
                         index_t* memory) {
  csp_shifts shifts;
  bool mixed_directions = false;
  shifts.all_descend = config.descends(0, extents);
  for (index_t c = 1; c < extents.channels && !mixed_directions; ++c)
    mixed_directions = config.descends(c, extents) != shifts.all_descend;
  auto const policy_value = [&](index_t i) -> index_t {
    if (i >= extents.channels) return config.descends(i - extents.channels, extents);
    index_t const shift = config.shift(i, extents);
    shifts.has_shifts |= shift != 0;
    return shift;
  };
  uploaded_values const uploaded =
      upload_values(grid, mixed_directions ? csp_shift_count(extents.channels) : extents.channels,
                    policy_value, memory, mixed_directions);
  shifts.uniform = uploaded.first;
  if (mixed_directions) shifts.descending = memory + extents.channels;
  if (mixed_directions || !uploaded.uniform) shifts.per_channel = memory;
  return shifts;
}

// Computes how far the shifts of `width` neighboring channels lie above and below that of the first
// one. Returns a spread of width 0 if they differ by more than `limit` rows. Shifts are compared
// modulo the length, unless samples have different lengths and thus different moduli.
inline shift_spread spread_of(csp_config const& config, extents3 extents, bool has_lengths,
                              int width, index_t limit) {
  // Shifts up to this magnitude can be subtracted without overflow.
  constexpr index_t max_magnitude = index_t{1} << 60;
  index_t first_shift = 0, max_above = 0, max_below = 0;
  for (index_t c = 0; c < extents.channels; ++c) {
    index_t shift = config.shift(c, extents);
    if (!has_lengths) shift = wrap_row(shift, extents.length);
    if (shift > max_magnitude || shift < -max_magnitude) return {0, 0, 0};
    if (c % width == 0) first_shift = shift;
    index_t difference = shift - first_shift;
    if (!has_lengths && difference > extents.length / 2) difference -= extents.length;
    if (!has_lengths && difference < -(extents.length / 2)) difference += extents.length;
    max_above = std::max(max_above, difference);
    max_below = std::max(max_below, -difference);
  }
  if (max_above + max_below > limit) return {0, 0, 0};
  return {width, static_cast<std::uint32_t>(max_above), static_cast<std::uint32_t>(max_below)};
}

SLICESORT_DETAIL_END
