/* SPDX-License-Identifier: Apache-2.0 */
/* slicing_sort and softmax_attention as custom operators of ggml. ggml calls an operator on `nth`
 * threads; each computes its share of the channels or heads. Shares have the bits of the whole. */
#include <slicesort.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef GGML_API /* Without ggml.h: the part of ggml's tensor that an operator needs. */
struct ggml_tensor {
  int64_t ne[4]; /* extents, innermost axis first */
  size_t nb[4];  /* strides in bytes */
  void* data;
};
#endif

/* View of a float tensor. The axes of slicesort begin with the outermost: [ne[rank - 1], .., ne[0]].
 */
static slicesort_tensor view_of(struct ggml_tensor const* tensor, int32_t rank) {
  slicesort_tensor view = {tensor->data, SLICESORT_FLOAT32, rank, {0}, {0}};
  for (int32_t axis = 0; axis < rank; ++axis) {
    view.shape[axis] = tensor->ne[rank - 1 - axis];
    view.strides[axis] = (int64_t)(tensor->nb[rank - 1 - axis] / sizeof(float));
  }
  return view;
}
/* Restricts a view to share `ith` of `nth` of an axis. */
static slicesort_tensor share_of(slicesort_tensor view, int axis, int ith, int nth) {
  int64_t const first = view.shape[axis] * ith / nth, last = view.shape[axis] * (ith + 1) / nth;
  view.data = (float*)view.data + first * view.strides[axis];
  view.shape[axis] = last - first;
  return view;
}
static void require_ok(slicesort_status status) {
  if (status == SLICESORT_OK) return;
  fprintf(stderr, "%s\n", slicesort_last_error());
  abort(); /* like GGML_ASSERT: an operator cannot report an error */
}

/* ggml_map_custom1(context, a, sort_columns, GGML_N_TASKS_MAX, "ascending"): sorts every column of
 * a, [channels, length, batch] in ggml's order of axes. The order must not depend on the channel. */
void sort_columns(struct ggml_tensor* dst, struct ggml_tensor const* a, int ith, int nth,
                  void* order) {
  slicesort_tensor const x = share_of(view_of(a, 3), 2, ith, nth),
                         y = share_of(view_of(dst, 3), 2, ith, nth);
  require_ok(slicesort_slicing_sort(NULL, order, &x, &y, NULL, NULL));
}

/* ggml_map_custom3(context, q, k, v, softmax_attention, GGML_N_TASKS_MAX, "causal"): attention of the heads of
 * [channels, length, heads, batch]. */
void softmax_attention(struct ggml_tensor* dst, struct ggml_tensor const* q,
                       struct ggml_tensor const* k, struct ggml_tensor const* v, int ith, int nth,
                       void* mask) {
  slicesort_tensor const q_view = share_of(view_of(q, 4), 1, ith, nth),
                         k_view = share_of(view_of(k, 4), 1, ith, nth),
                         v_view = share_of(view_of(v, 4), 1, ith, nth),
                         y_view = share_of(view_of(dst, 4), 1, ith, nth);
  slicesort_softmax_attention_options const options = {.pairs = {.mask = mask}};
  require_ok(slicesort_softmax_attention(NULL, &options, &q_view, &k_view, &v_view, &y_view, NULL));
}

/* A dense tensor of pseudorandom values in -1 .. 1. */
enum { channels = 8, length = 19, heads = 6, batch = 2, size = channels * length * heads * batch };
static struct ggml_tensor make_tensor(float* data, int64_t ne2, int64_t ne3, uint32_t seed) {
  struct ggml_tensor tensor = {{channels, length, ne2, ne3}, {sizeof(float)}, data};
  for (int axis = 1; axis < 4; ++axis)
    tensor.nb[axis] = tensor.nb[axis - 1] * (size_t)tensor.ne[axis - 1];
  for (int i = 0; i < size; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
  return tensor;
}

int main(void) {
  static float values[5][size], expected[size];
  struct ggml_tensor x = make_tensor(values[0], heads * batch, 1, 1), y = x;
  y.data = values[3];
  sort_columns(&y, &x, 0, 1, "ascending");
  memcpy(expected, y.data, sizeof expected);
  y.data = values[4];
  for (int ith = 0; ith < 3; ++ith) sort_columns(&y, &x, ith, 3, "ascending");
  printf("sorted by 3 shares: %s\n",
         memcmp(y.data, expected, sizeof expected) == 0 ? "same bits" : "other bits");

  struct ggml_tensor const q = make_tensor(values[0], heads, batch, 2),
                           k = make_tensor(values[1], heads, batch, 3),
                           v = make_tensor(values[2], heads, batch, 4);
  struct ggml_tensor out = q;
  out.data = values[3];
  softmax_attention(&out, &q, &k, &v, 0, 1, "causal");
  memcpy(expected, out.data, sizeof expected);
  out.data = values[4];
  for (int ith = 0; ith < 4; ++ith) softmax_attention(&out, &q, &k, &v, ith, 4, "causal");
  printf("attention by 4 shares: %s\n",
         memcmp(out.data, expected, sizeof expected) == 0 ? "same bits" : "other bits");
  return 0;
}
// output:
// sorted by 3 shares: same bits
// attention by 4 shares: same bits
