// SPDX-License-Identifier: Apache-2.0
// The running maxima of a chunk of columns, and the scan that updates them on every instruction
// set.
#pragma once

#include <slicesort/detail/host/column_chunk.hpp>
#include <slicesort/detail/host/simd/target.hpp>
#include <slicesort/detail/math/total_order.hpp>
#include <slicesort/exec.hpp>
#include <slicesort/tensor_view.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

SLICESORT_DETAIL_BEGIN

// Rows and keys have lanes of one width, so that one vector comparison selects both.
template <class T>
struct running_maximum {
  using lane = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

  lane key[tile_columns] = {};  // below every key, so that the first row wins
  lane row[tile_columns];

  explicit running_maximum(index_t row_of_nothing) {
    std::fill_n(row, tile_columns, static_cast<lane>(row_of_nothing));
  }
  // A tie keeps the earlier row.
  SLICESORT_INLINE void see(index_t c, index_t i, T const& element) {
    lane const k = ordered_key(element, true);
    bool const greater = k > key[c];
    key[c] = greater ? k : key[c];
    row[c] = greater ? static_cast<lane>(i) : row[c];
  }
};

#define SLICESORT_TARGET_TEXT <slicesort/detail/max_exchange/host/running_maximum.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

// Updates `m` with rows [first, last) of a chunk.
template <class T>
void scan_chunk(isa set, tensor3<T const> x, column_chunk b, index_t first, index_t last,
                running_maximum<T>& m) {
  if (b.channels < tile_columns || x.strides().channels != 1)
    return for_each_element(x, b, first, last,
                            [&](index_t c, index_t i, T const& element) { m.see(c, i, element); });
  T const* const dense = x.data() + x.offset(b.batch, 0, b.channel);
  index_t const pitch = x.strides().length;
  with_isa(set, [&](auto target) { scan_rows(target, dense, pitch, first, last, m); });
}

SLICESORT_DETAIL_END
