// SPDX-License-Identifier: Apache-2.0
// Shows rows [first, last) of a dense chunk to `m`: a plain loop, which the compiler vectorizes.
// Included once per instruction set.

template <class T>
void scan_rows(target, T const* x, index_t pitch, index_t first, index_t last,
               running_maximum<T>& m) {
  for (index_t i = first; i < last; ++i)
    for (index_t c = 0; c < tile_columns; ++c) m.see(c, i, x[i * pitch + c]);
}
