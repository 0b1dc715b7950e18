/* SPDX-License-Identifier: Apache-2.0 */
/* Tests slicesort.h from C11: bits of slicing_sort and softmax_attention, execution, and errors. */
#include "reference.h"

#include <pthread.h>
#include <slicesort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static void check(int ok, char const* message) {
  if (ok) return;
  printf("FAILED: %s (last error: %s)\n", message, slicesort_last_error());
  ++failures;
}
static void expect(slicesort_status expected, slicesort_status status, char const* message) {
  check(status == expected, message);
  if (status == SLICESORT_OK) return;
  if (strstr(slicesort_last_error(), message) == NULL) check(0, message);
}

static slicesort_tensor dense(void* data, int32_t dtype, int32_t rank, int64_t const* shape) {
  slicesort_tensor view = {data, dtype, rank, {0}, {0}};
  int64_t stride = 1;
  for (int32_t axis = rank - 1; axis >= 0; --axis) {
    view.shape[axis] = shape[axis];
    view.strides[axis] = stride;
    stride *= shape[axis];
  }
  return view;
}
static void fill(float* values, size_t count, unsigned seed) {
  uint32_t state = seed * 2654435769u + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (float)((int32_t)(state >> 8) - (1 << 23)) / (float)(1 << 22);
  }
}

/* Runs the tasks of a call in reverse order, and counts them. */
static void run_in_reverse(void* pool, uint32_t count, void (*task)(void*, uint32_t),
                           void* argument) {
  for (uint32_t i = count; i-- > 0;) task(argument, i);
  *(uint32_t*)pool += count;
}

enum { batch = 2, length = 37, channels = 6, size = batch * length * channels };
static int64_t const shape3[] = {batch, length, channels};

static void check_slicing_sort(void) {
  float x[size], dy[size], y[size], dx[size], expected_y[size], expected_dx[size];
  uint16_t perm[size], expected_perm[size];
  fill(x, size, 1);
  fill(dy, size, 2);
  reference_slicing_sort(shape3, x, expected_y, expected_perm);
  reference_slicing_sort_backward(shape3, dy, expected_perm, expected_dx);

  slicesort_tensor const vx = dense(x, SLICESORT_FLOAT32, 3, shape3);
  slicesort_tensor const vy = dense(y, SLICESORT_FLOAT32, 3, shape3);
  slicesort_tensor const vperm = dense(perm, SLICESORT_UINT16, 3, shape3);
  slicesort_tensor const vdy = dense(dy, SLICESORT_FLOAT32, 3, shape3);
  slicesort_tensor const vdx = dense(dx, SLICESORT_FLOAT32, 3, shape3);
  slicesort_call const three_threads = {.threads = 3};
  slicesort_call const* calls[] = {NULL, &three_threads};
  for (int i = 0; i < 2; ++i) {
    memset(y, 255, sizeof y);
    memset(perm, 255, sizeof perm);
    memset(dx, 255, sizeof dx);
    expect(SLICESORT_OK, slicesort_slicing_sort(calls[i], "half_half{2}", &vx, &vy, &vperm, NULL),
           "slicing_sort");
    expect(SLICESORT_OK, slicesort_slicing_sort_backward(calls[i], &vdy, &vperm, &vdx, NULL),
           "slicing_sort_backward");
    check(memcmp(y, expected_y, sizeof y) == 0, "y of slicing_sort");
    check(memcmp(perm, expected_perm, sizeof perm) == 0, "perm of slicing_sort");
    check(memcmp(dx, expected_dx, sizeof dx) == 0, "dx of slicing_sort");
  }

  /* Sorts channels in other memory order: x as [batch, channels, length]. */
  float transposed[size];
  slicesort_tensor vt = vy;
  vt.data = transposed;
  vt.strides[1] = 1;
  vt.strides[2] = length;
  expect(SLICESORT_OK, slicesort_slicing_sort(NULL, "half_half{2}", &vx, &vt, NULL, NULL),
         "slicing_sort without perm");
  int is_equal = 1;
  for (int b = 0; b < batch; ++b)
    for (int n = 0; n < length; ++n)
      for (int c = 0; c < channels; ++c)
        is_equal &= memcmp(&transposed[(b * channels + c) * length + n],
                           &expected_y[(b * length + n) * channels + c], sizeof(float)) == 0;
  check(is_equal, "slicing_sort with strides");

  /* Rows after the valid ones stay. */
  int64_t lengths[] = {0, 5};
  slicesort_tensor const vlengths = dense(lengths, SLICESORT_INT64, 1, shape3);
  expect(SLICESORT_OK, slicesort_slicing_sort(NULL, NULL, &vx, &vy, NULL, &vlengths),
         "slicing_sort with lengths");
  check(memcmp(y, x, sizeof y / batch) == 0, "no valid rows");
  check(memcmp(y + length * channels + 5 * channels, x + length * channels + 5 * channels,
               (length - 5) * channels * sizeof(float)) == 0,
        "invalid rows");
  for (int n = 1; n < 5; ++n)
    check(y[(length + n - 1) * channels] <= y[(length + n) * channels], "valid rows are sorted");
}

static void check_softmax_attention(void) {
  enum { heads = 3, values = size * heads, states = values / channels * 2 };
  static float q[values], k[values], v[values], dy[values], y[values], dq[values], dk[values],
      dv[values], expected_y[values], expected_dq[values], expected_dk[values], expected_dv[values];
  static float state[states], expected_state[states];
  int64_t const shape[] = {batch, heads, length, channels},
                state_shape[] = {batch, heads, length, 2};
  fill(q, values, 3);
  fill(k, values, 4);
  fill(v, values, 5);
  fill(dy, values, 6);
  reference_softmax_attention(shape, q, k, v, expected_y, expected_state);
  reference_softmax_attention_backward(shape, dy, q, k, v, expected_y, expected_state, expected_dq,
                                       expected_dk, expected_dv);

  slicesort_tensor const vq = dense(q, SLICESORT_FLOAT32, 4, shape);
  slicesort_tensor const vk = dense(k, SLICESORT_FLOAT32, 4, shape);
  slicesort_tensor const vv = dense(v, SLICESORT_FLOAT32, 4, shape);
  slicesort_tensor const vy = dense(y, SLICESORT_FLOAT32, 4, shape);
  slicesort_tensor const vstate = dense(state, SLICESORT_FLOAT32, 4, state_shape);
  slicesort_tensor const vdy = dense(dy, SLICESORT_FLOAT32, 4, shape);
  slicesort_tensor const vdq = dense(dq, SLICESORT_FLOAT32, 4, shape);
  slicesort_tensor const vdk = dense(dk, SLICESORT_FLOAT32, 4, shape);
  slicesort_tensor const vdv = dense(dv, SLICESORT_FLOAT32, 4, shape);
  double const scale = 0.5;
  slicesort_softmax_attention_options const options = {.pairs = {.mask = "causal"},
                                                       .scale = &scale};

  /* The caller's memory, of the size that the calls ask for. */
  size_t forward_bytes = 0, backward_bytes = 0;
  slicesort_call const forward_size = {.threads = 2, .required_bytes = &forward_bytes};
  slicesort_call const backward_size = {.threads = 2, .required_bytes = &backward_bytes};
  memset(y, 255, sizeof y);
  expect(SLICESORT_OK,
         slicesort_softmax_attention(&forward_size, &options, &vq, &vk, &vv, &vy, &vstate),
         "size of forward");
  expect(SLICESORT_OK,
         slicesort_softmax_attention_backward(&backward_size, &options, &vdy, &vq, &vk, &vv, &vy,
                                              &vstate, &vdq, &vdk, &vdv, NULL),
         "size of backward");
  check(forward_bytes > 0 && backward_bytes > 0, "attention needs a workspace");
  check(((unsigned char*)y)[0] == 255, "a size query computes nothing");
  slicesort_call const with_memory[] = {
      {.threads = 2, .workspace = malloc(forward_bytes), .workspace_bytes = forward_bytes},
      {.threads = 2, .workspace = malloc(backward_bytes), .workspace_bytes = backward_bytes}};
  uint32_t task_count = 0;
  slicesort_call const pool = {.threads = 4, .parallel_for = run_in_reverse, .pool = &task_count};
  slicesort_call const* forwards[] = {NULL, &with_memory[0], &pool};
  slicesort_call const* backwards[] = {NULL, &with_memory[1], &pool};
  for (int i = 0; i < 3; ++i) {
    slicesort_call const *const forward = forwards[i], *const backward = backwards[i];
    memset(y, 255, sizeof y);
    memset(dq, 255, sizeof dq);
    expect(SLICESORT_OK,
           slicesort_softmax_attention(forward, &options, &vq, &vk, &vv, &vy, &vstate),
           "softmax_attention");
    expect(SLICESORT_OK,
           slicesort_softmax_attention_backward(backward, &options, &vdy, &vq, &vk, &vv, &vy,
                                                &vstate, &vdq, &vdk, &vdv, NULL),
           "softmax_attention_backward");
    check(memcmp(y, expected_y, sizeof y) == 0, "y of attention");
    check(memcmp(state, expected_state, sizeof state) == 0, "state of attention");
    check(memcmp(dq, expected_dq, sizeof dq) == 0, "dq of attention");
    check(memcmp(dk, expected_dk, sizeof dk) == 0, "dk of attention");
    check(memcmp(dv, expected_dv, sizeof dv) == 0, "dv of attention");
  }
  check(task_count > 1, "attention uses the caller's threads");
  slicesort_call too_short = with_memory[0];
  too_short.workspace_bytes = forward_bytes - 1;
  expect(SLICESORT_WORKSPACE_ERROR,
         slicesort_softmax_attention(&too_short, &options, &vq, &vk, &vv, &vy, &vstate),
         "softmax_attention.forward: workspace");
  free(with_memory[0].workspace);
  free(with_memory[1].workspace);
}

static void check_errors(void) {
  float x[size] = {0}, y[size];
  slicesort_tensor const vx = dense(x, SLICESORT_FLOAT32, 3, shape3);
  slicesort_tensor const vy = dense(y, SLICESORT_FLOAT32, 3, shape3);
  slicesort_tensor wrong = vy;
#define EXPECT(status, message, call, order, input, output) \
  expect(status, slicesort_slicing_sort(call, order, input, output, NULL, NULL), message)
  EXPECT(SLICESORT_INVALID_ARGUMENT, "x must not be null", NULL, NULL, NULL, &vy);
  EXPECT(SLICESORT_INVALID_ARGUMENT, "order \"up\" is none of ascending", NULL, "up", &vx, &vy);
  wrong.rank = 5;
  EXPECT(SLICESORT_INVALID_ARGUMENT, "y has 5 axes, must have 1 to 4", NULL, NULL, &vx, &wrong);
  wrong.rank = 2;
  EXPECT(SLICESORT_INVALID_ARGUMENT, "y must be [batch, length, channels]", NULL, NULL, &vx,
         &wrong);
  wrong = vx;
  wrong.dtype = 11;
  EXPECT(SLICESORT_INVALID_ARGUMENT, "x: the dtype must be float32", NULL, NULL, &wrong, &vy);
  wrong = vy;
  wrong.dtype = SLICESORT_FLOAT64;
  EXPECT(SLICESORT_INVALID_ARGUMENT, "y: the dtype must be that of the other", NULL, NULL, &vx,
         &wrong);
  wrong = vy;
  wrong.shape[1] = length - 1;
  EXPECT(SLICESORT_INVALID_ARGUMENT, "slicing_sort.forward: y.length is 36", NULL, NULL, &vx,
         &wrong);
  wrong = vy;
  wrong.data = NULL;
  EXPECT(SLICESORT_INVALID_ARGUMENT, "slicing_sort.forward: y", NULL, NULL, &vx, &wrong);
  slicesort_call call = {.stream = x};
  EXPECT(SLICESORT_INVALID_ARGUMENT, "call.stream is not null", &call, NULL, &vx, &vy);
  call = (slicesort_call){.backend = 7};
  EXPECT(SLICESORT_INVALID_ARGUMENT, "call.backend is 7", &call, NULL, &vx, &vy);
  call = (slicesort_call){.backend = SLICESORT_CUDA};
  if (!slicesort_has_cuda())
    EXPECT(SLICESORT_UNSUPPORTED, "this library was built without CUDA", &call, NULL, &vx, &vy);
#undef EXPECT
  expect(SLICESORT_INVALID_ARGUMENT, slicesort_top_k(NULL, NULL, &vx, &vy, NULL, NULL),
         "options must not be null");
  expect(SLICESORT_OK, slicesort_check_policy("order", "half_half{2}", 6), "check_policy");
  expect(SLICESORT_INVALID_ARGUMENT, slicesort_check_policy("order", "half_half{2}", 5),
         "half_half: channels");
  expect(SLICESORT_INVALID_ARGUMENT, slicesort_check_policy(NULL, NULL, 1), "no kind of policy");
  uint16_t perm[size] = {0};
  perm[size - 1] = length;
  slicesort_tensor const vperm = dense(perm, SLICESORT_UINT16, 3, shape3);
  expect(SLICESORT_INVALID_ARGUMENT, slicesort_check_rows(&vperm, NULL), "perm[1, 36, 5] is 37");
}

static void* fail_in_thread(void* message) {
  check(slicesort_last_error()[0] == '\0', "a new thread has no error");
  slicesort_check_policy("colour", "red", 0);
  strcpy(message, slicesort_last_error());
  return NULL;
}
static void check_threads_have_their_errors(void) {
  char message[512] = "";
  slicesort_check_policy("order", "up", 0);
  pthread_t thread;
  if (pthread_create(&thread, NULL, fail_in_thread, message) != 0) {
    check(0, "pthread_create");
    return;
  }
  pthread_join(thread, NULL);
  check(strstr(message, "colour") != NULL, "error of the other thread");
  check(strstr(slicesort_last_error(), "up") != NULL, "error of this thread");
}

int main(void) {
  check(slicesort_abi_version() == SLICESORT_ABI_VERSION, "ABI version");
  check_slicing_sort();
  check_softmax_attention();
  check_errors();
  check_threads_have_their_errors();
  if (failures == 0) puts("C interface: fine");
  return failures != 0;
}
