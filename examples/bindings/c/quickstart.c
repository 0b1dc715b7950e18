// SPDX-License-Identifier: Apache-2.0
// Sorts two columns with the C interface.
#include <stdio.h>

// [snippet]
#include <slicesort.h>

static int sort_columns(void) {
  float values[5][2] = {{3, 1}, {1, 5}, {2, 4}, {5, 2}, {4, 3}};
  slicesort_tensor const x = {
      .data = values,
      .dtype = SLICESORT_FLOAT32,
      .rank = 3,
      .shape = {1, 5, 2},     // batch, length, channels
      .strides = {10, 2, 1},  // in elements
  };
  slicesort_call const call = {.threads = 2};
  // In place, half of the channels ascending and half descending. Without a saved permutation.
  if (slicesort_slicing_sort(&call, "half_half{1}", &x, &x, NULL, NULL) != SLICESORT_OK) {
    fprintf(stderr, "%s\n", slicesort_last_error());
    return 1;
  }
  for (int n = 0; n < 5; ++n) printf("%g %g\n", (double)values[n][0], (double)values[n][1]);
  return 0;
}
// [/snippet]

int main(void) { return sort_columns(); }
// output:
// 1 5
// 2 4
// 3 3
// 4 2
// 5 1
