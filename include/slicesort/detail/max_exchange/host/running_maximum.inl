// SPDX-License-Identifier: Apache-2.0
// Scans rows [first, last) of a dense chunk, in a loop that the compiler vectorizes. Included once
// per instruction set.

template <class T>
void scan_rows(target, T const* x, index_t pitch, index_t first, index_t last,
               running_maximum<T>& maximum) {
  for (index_t i = first; i < last; ++i)
    for (index_t c = 0; c < tile_columns; ++c) maximum.update(c, i, x[i * pitch + c]);
}
