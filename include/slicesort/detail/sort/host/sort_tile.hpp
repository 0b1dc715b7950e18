// SPDX-License-Identifier: Apache-2.0
// The SIMD sorter of a tile on every instruction set, chosen at run time, so that a binary built
// for the baseline processor is fast on newer ones.
#pragma once

#include <slicesort/detail/host/column_tile.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/exec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_TEXT <slicesort/detail/sort/host/simd_table.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

// Sorts one tile or two, whose rows must fit 16-bit indices. Two should lie side by side.
template <class T>
void sort_tiles(isa set, column_tile<T> const* tiles, int count) {
  with_isa(set, [&](auto target) { sort_tiles(target, tiles, count); });
}

SLICESORT_DETAIL_END
