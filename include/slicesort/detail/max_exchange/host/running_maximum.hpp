// SPDX-License-Identifier: Apache-2.0
// Running maxima of a chunk of columns, and the scan that updates them on every instruction set.
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

// Rows and keys have the same width, so one vector comparison selects both.
template <class T>
struct running_maximum {
  using lane = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

  lane key[tile_columns] = {};  // below every key, so the first row wins
  lane row[tile_columns];

  explicit running_maximum(index_t default_row) {
    std::fill_n(row, tile_columns, static_cast<lane>(default_row));
  }
  // Updates the maximum of column c. Ties keep the earlier row.
  SLICESORT_INLINE void update(index_t c, index_t i, T const& element) {
    lane const element_key = ordered_key(element, true);
    bool const greater = element_key > key[c];
    key[c] = greater ? element_key : key[c];
    row[c] = greater ? static_cast<lane>(i) : row[c];
  }
};

#define SLICESORT_TARGET_INCLUDE <slicesort/detail/max_exchange/host/running_maximum.inl>
#include <slicesort/detail/host/simd/foreach_target.inl>

// Scans rows [first, last) of a chunk.
template <class T>
void scan_chunk(isa instructions, tensor3<T const> x, column_chunk chunk, index_t first,
                index_t last, running_maximum<T>& maximum) {
  if (chunk.channels < tile_columns || x.strides().channels != 1)
    return for_each_element(x, chunk, first, last, [&](index_t c, index_t i, T const& element) {
      maximum.update(c, i, element);
    });
  T const* const dense = x.data() + x.offset(chunk.batch, 0, chunk.channel);
  index_t const pitch = x.strides().length;
  with_isa(instructions,
           [&](auto target) { scan_rows(target, dense, pitch, first, last, maximum); });
}

SLICESORT_DETAIL_END
