// SPDX-License-Identifier: Apache-2.0
// Layout of a tile in shared memory that avoids bank conflicts.
//
// Shared memory has 32 banks of 4 bytes; 8 pieces of 16 bytes fill them. In a row-major tile, piece
// k is in the same four banks in every row, and reading piece k of eight rows takes eight cycles. A
// swizzled tile permutes the pieces of each row: piece k of row r is at position k ^ (r % 8). With
// rows of eight pieces:
//
//             banks 0..3  4..7  8..11  12..15  16..19  20..23  24..27  28..31
//      row 0       [ 0      1      2      3       4       5       6       7 ]
//      row 1       [ 1      0      3      2       5       4       7       6 ]
//      row 2       [ 2      3      0      1       6       7       4       5 ]
//      row 3       [ 3      2      1      0       7       6       5       4 ]
//      ...
//      row 7       [ 7      6      5      4       3       2       1       0 ]
//
// Each row and each column of the picture has eight different pieces: writing a row, or reading
// piece k of eight rows, takes one cycle.
#pragma once

#include <slicesort/detail/core/config.hpp>

SLICESORT_DETAIL_BEGIN

// Lengths are in units of the caller's choice (pieces or elements).
//   RowLength  length and pitch of a row
//   Piece      length of a piece
//   Rows       rows after which the pattern repeats
template <int RowLength, int Piece, int Rows>
struct swizzled_tile {
  static_assert((Piece & (Piece - 1)) == 0 && (Rows & (Rows - 1)) == 0, "powers of two");
  static_assert(RowLength % (Piece * Rows) == 0, "no element leaves its row");

  template <class Int>
  static SLICESORT_HD_INLINE constexpr Int row_start(Int row) {
    constexpr Int pitch = RowLength;
    return row * pitch;
  }
  // XOR mask of a row's columns. Rows a multiple of `Rows` apart share it; loops over such rows
  // should hoist it, since the compiler does not.
  template <class Int>
  static SLICESORT_HD_INLINE constexpr Int swizzle(Int row) {
    constexpr Int piece = Piece, last_row = Rows - 1;
    return (row & last_row) * piece;
  }
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
