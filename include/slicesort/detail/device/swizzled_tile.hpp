// SPDX-License-Identifier: Apache-2.0
// Where the elements of a tile lie in shared memory, so that no bank is hit twice at once.
//
// Shared memory has 32 banks of 4 bytes, which the 8 pieces of 16 bytes in 128 bytes fill. In a
// plain row-major tile, piece k lies in the same four banks in every row, and reading piece k of
// eight rows takes eight turns. A swizzled tile exchanges the pieces of each row: piece k of row r
// lies where piece k ^ (r % 8) would. With rows of eight pieces:
//
//             banks 0..3  4..7  8..11  12..15  16..19  20..23  24..27  28..31
//      row 0       [ 0      1      2      3       4       5       6       7 ]
//      row 1       [ 1      0      3      2       5       4       7       6 ]
//      row 2       [ 2      3      0      1       6       7       4       5 ]
//      row 3       [ 3      2      1      0       7       6       5       4 ]
//      ...
//      row 7       [ 7      6      5      4       3       2       1       0 ]
//
// Every row and every column of the picture names eight different pieces: a row is written, and the
// pieces k of eight rows are read, in one turn each.
#pragma once

#include <slicesort/detail/core/config.hpp>

SLICESORT_DETAIL_BEGIN

// The three numbers of a swizzle, in units of the caller's choice (pieces, or single numbers):
//   RowLength  the length of a row, and the distance from row to row
//   Together   how many neighbors stay together: the length of a piece
//   Rows       after how many rows the pattern repeats
template <int RowLength, int Together, int Rows>
struct swizzled_tile {
  static_assert((Together & (Together - 1)) == 0 && (Rows & (Rows - 1)) == 0, "powers of two");
  static_assert(RowLength % (Together * Rows) == 0, "no element leaves its row");

  // The offset of the first of a row's elements, in whatever order they are.
  template <class Int>
  static SLICESORT_HD_INLINE constexpr Int row_start(Int row) {
    constexpr Int pitch = RowLength;
    return row * pitch;
  }
  // What the columns of a row are XORed with. Rows that are a multiple of `Rows` apart share it. An
  // unrolled loop over such rows asks once: the compiler does not see that the answers are equal.
  template <class Int>
  static SLICESORT_HD_INLINE constexpr Int swizzle(Int row) {
    constexpr Int together = Together, last_row = Rows - 1;
    return (row & last_row) * together;
  }
  // The offset of element `column` of row `row`; `row_swizzle` is swizzle(row), where it is known.
  template <class Int>
  static SLICESORT_HD_INLINE constexpr Int offset(Int row, Int column, Int row_swizzle) {
    return row_start(row) + (column ^ row_swizzle);
  }
  template <class Int>
  static SLICESORT_HD_INLINE constexpr Int offset(Int row, Int column) {
    return offset(row, column, swizzle(row));
  }
};

SLICESORT_DETAIL_END
