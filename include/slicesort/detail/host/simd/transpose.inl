// SPDX-License-Identifier: Apache-2.0
// Transposes blocks from memory to memory, in squares of whole vectors. Included once per
// instruction set.

// [Rows, Columns] -> [Columns, Rows].
template <int Rows, int Columns, class Lane>
void transpose_block(Lane const* from, index_t from_pitch, Lane* to, index_t to_pitch) {
  constexpr int lanes = vector_bytes / static_cast<int>(sizeof(Lane)),
                side = Rows < Columns ? Rows : Columns, square_size = lanes < side ? lanes : side;
  static_assert(Rows % square_size == 0 && Columns % square_size == 0);
  for (int c = 0; c < Columns; c += square_size)
    for (int r = 0; r < Rows; r += square_size)
      transpose_square<vec<uint_of_size<sizeof(Lane)>, square_size>>(
          from + r * from_pitch + c, from_pitch, to + c * to_pitch + r, to_pitch);
}
template <int Rows, int Columns, class Lane>
void choose_transpose(target, block_transpose<Rows, Columns, Lane>& transpose) {
  transpose.run = transpose_block<Rows, Columns, Lane>;
}
