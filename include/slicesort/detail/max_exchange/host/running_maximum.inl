// SPDX-License-Identifier: Apache-2.0
// The scan of a dense block for one instruction set: a plain loop, which the compiler vectorizes.

template <class T>
void scan_rows(T const* x, index_t pitch, index_t first, index_t last, running_maximum<T>& m) {
  for (index_t i = first; i < last; ++i)
    for (index_t c = 0; c < run_columns; ++c) m.see(c, i, x[i * pitch + c]);
}
