// SPDX-License-Identifier: Apache-2.0
// The kernels of csp on every instruction set: one for a tile, one for unshifted pairs of rows.
#pragma once

#include <slicesort/detail/csp/host/tile.hpp>
#include <slicesort/detail/host/rows.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/sort/host/sort_tile.hpp>
#include <slicesort/exec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

SLICESORT_DETAIL_BEGIN

#define SLICESORT_TARGET_TEXT <slicesort/detail/csp/host/simd_table.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

template <class T>
void move_csp_tile(isa set, csp_tile<T> const& tile, csp_step step) {
  with_isa(set, [&](auto target) { move_csp_tile(target, tile, step); });
}
template <class T>
void exchange_pair_rows(isa set, pair_rows<T> const& rows, csp_step step) {
  with_isa(set, [&](auto target) { exchange_pair_rows(target, rows, step); });
}

SLICESORT_DETAIL_END
