/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what a call of the C interface costs more than the same call of the C++ library, for
 * tensors so short that the call itself takes the time. Prints medians of processor time. */
#include "reference.h"

#include <slicesort.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { rounds = 201, calls = 2000, size = 2 * 4 };
static float q[size], k[size], v[size], y[size], state[size];
static int64_t const shape3[] = {1, 4, 2}, shape4[] = {1, 1, 4, 2}, state_shape[] = {1, 1, 4, 2};
static uint16_t perm[size];

static slicesort_tensor dense(void* data, int32_t dtype, int32_t rank, int64_t const* shape) {
  slicesort_tensor view = {data, dtype, rank, {0}, {0}};
  int64_t stride = 1;
  for (int32_t axis = rank; axis-- > 0; stride *= shape[axis]) {
    view.shape[axis] = shape[axis];
    view.strides[axis] = stride;
  }
  return view;
}

static slicesort_call call; /* with a workspace, since the C++ calls reuse one */
static void sort_in_c(void) {
  slicesort_tensor const vx = dense(q, SLICESORT_FLOAT32, 3, shape3),
                         vy = dense(y, SLICESORT_FLOAT32, 3, shape3),
                         vperm = dense(perm, SLICESORT_UINT16, 3, shape3);
  slicesort_slicing_sort(&call, "half_half{2}", &vx, &vy, &vperm, NULL);
}
static void sort_in_cpp(void) { reference_slicing_sort(shape3, q, y, perm); }
static void attention_in_c(void) {
  slicesort_tensor const vq = dense(q, SLICESORT_FLOAT32, 4, shape4),
                         vk = dense(k, SLICESORT_FLOAT32, 4, shape4),
                         vv = dense(v, SLICESORT_FLOAT32, 4, shape4),
                         vy = dense(y, SLICESORT_FLOAT32, 4, shape4),
                         vstate = dense(state, SLICESORT_FLOAT32, 4, state_shape);
  double const scale = 0.5;
  slicesort_softmax_attention_options const options = {.pairs = {.mask = "causal"},
                                                       .scale = &scale};
  slicesort_softmax_attention(&call, &options, &vq, &vk, &vv, &vy, &vstate);
}
static void attention_in_cpp(void) { reference_softmax_attention(shape4, q, k, v, y, state); }

static double nanoseconds_of(void (*run)(void)) {
  struct timespec before, after;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  for (int i = 0; i < calls; ++i) run();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  return ((double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec)) /
         calls;
}
static int compare(void const* a, void const* b) {
  double const x = *(double const*)a, z = *(double const*)b;
  return (x > z) - (x < z);
}
static double median(double* values) {
  qsort(values, rounds, sizeof *values, compare);
  return values[rounds / 2];
}
static void measure(char const* name, void (*in_c)(void), void (*in_cpp)(void)) {
  static double c[rounds], cpp[rounds];
  for (int i = 0; i < rounds; ++i) {
    c[i] = nanoseconds_of(in_c);
    cpp[i] = nanoseconds_of(in_cpp);
  }
  printf("%s: %.0f ns by the C interface, %.0f ns in C++\n", name, median(c), median(cpp));
}

int main(void) {
  call.workspace_bytes = 1 << 20;
  call.workspace = malloc(call.workspace_bytes);
  measure("slicing_sort", sort_in_c, sort_in_cpp);
  measure("softmax_attention", attention_in_c, attention_in_cpp);
  free(call.workspace);
  return 0;
}
