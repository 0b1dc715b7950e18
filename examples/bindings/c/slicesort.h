/* SPDX-License-Identifier: Apache-2.0 */
/* C interface of the operators, for C11, C++ and foreign function interfaces of other languages.
 *
 * A call takes its execution (null: one thread of the host), its parameters, its inputs and its
 * outputs, in this order. It returns a status; slicesort_last_error() has the message. Arguments
 * are checked before anything is written. Tensors marked "or null" are optional. A null policy is
 * the default, the first of its list. Policies are text in C++ syntax: "half_half{4}".
 *
 * Shapes, unless noted: x, y, dy, dx, perm [batch, length, channels]; lengths, the valid rows of
 * each sample, [batch] int64. dtypes, unless noted: float32, float64, float16 or bfloat16, the same
 * for all tensors of a call. Saved rows (perm, indices, ..): uint16 (length <= 65536), int32 or
 * uint32. "accumulator" stands for float64 if x is float64, else for float32. Gradients (dx, ..)
 * are overwritten. The headers in include/slicesort describe each operator in full. */
#ifndef SLICESORT_H
#define SLICESORT_H

#include "slicesort_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sorting and permuting rows. lengths: or null. ---------------------------------------------
 * order: "ascending", "descending", "half_half{heads}", "interleave{layer, layers}" or
 * "haar_interleave{level, heads}". */

/* y: every column of x sorted. perm, or null: y[b, n, c] = x[b, perm[b, n, c], c]. */
SLICESORT_CALL slicesort_slicing_sort(slicesort_exec, char const* order, slicesort_input x,
                                      slicesort_output y, slicesort_output perm,
                                      slicesort_input lengths);
SLICESORT_CALL slicesort_slicing_sort_backward(slicesort_exec, slicesort_input dy,
                                               slicesort_input perm, slicesort_output dx,
                                               slicesort_input lengths);
/* Applies the saved permutation of a sort to x, or its inverse to dy. */
SLICESORT_CALL slicesort_permute(slicesort_exec, slicesort_input x, slicesort_input perm,
                                 slicesort_output y, slicesort_input lengths);
SLICESORT_CALL slicesort_permute_backward(slicesort_exec, slicesort_input dy, slicesort_input perm,
                                          slicesort_output dx, slicesort_input lengths);
SLICESORT_CALL slicesort_argsort(slicesort_exec, char const* order, slicesort_input x,
                                 slicesort_output indices, slicesort_input lengths);

typedef struct slicesort_top_k_options {
  int64_t k;
  char const* order; /* null: "descending", the largest */
  int32_t by_index;  /* 1: in the order of the rows, instead of sorted */
  int32_t nan_last;  /* 1: NaN counts as the last of the order, instead of by its bits */
} slicesort_top_k_options;
/* values, indices: [batch, k, channels]. */
SLICESORT_CALL slicesort_top_k(slicesort_exec, slicesort_top_k_options const*, slicesort_input x,
                               slicesort_output values, slicesort_output indices,
                               slicesort_input lengths);
SLICESORT_CALL slicesort_top_k_backward(slicesort_exec, slicesort_input dy, slicesort_input indices,
                                        slicesort_output dx);

typedef struct slicesort_soft_sort_options {
  int32_t ranks;              /* 1: soft ranks, 0: soft sort */
  char const* regularization; /* "l2", "kl" or "entropic" */
  double strength;            /* above 0, or 0 for a soft sort */
} slicesort_soft_sort_options;
/* perm and pools: saved rows [batch, length, channels]. */
SLICESORT_CALL slicesort_soft_sort(slicesort_exec, slicesort_soft_sort_options const*,
                                   slicesort_input x, slicesort_output y, slicesort_output perm,
                                   slicesort_output pools, slicesort_input lengths);
SLICESORT_CALL slicesort_soft_sort_backward(slicesort_exec, slicesort_soft_sort_options const*,
                                            slicesort_input dy, slicesort_input x,
                                            slicesort_input perm, slicesort_input pools,
                                            slicesort_output dx, slicesort_input lengths);

/* weights, dweights: [components], accumulator. perm: or null in forward. */
SLICESORT_CALL slicesort_multi_permutation(slicesort_exec, char const* order, slicesort_input x,
                                           slicesort_input weights, slicesort_output y,
                                           slicesort_output perm, slicesort_input lengths);
SLICESORT_CALL slicesort_multi_permutation_backward(slicesort_exec, slicesort_input dy,
                                                    slicesort_input x, slicesort_input weights,
                                                    slicesort_input perm, slicesort_output dx,
                                                    slicesort_output dweights,
                                                    slicesort_input lengths);

/* Exchanges row `row` of each column with its maximum. maximum: saved rows [batch, 1, channels], or
 * null in forward. */
SLICESORT_CALL slicesort_max_exchange(slicesort_exec, int64_t row, slicesort_input x,
                                      slicesort_output y, slicesort_output maximum,
                                      slicesort_input lengths);
SLICESORT_CALL slicesort_max_exchange_backward(slicesort_exec, int64_t row, slicesort_input dy,
                                               slicesort_input maximum, slicesort_output dx,
                                               slicesort_input lengths);

/* form: "shared_by_channels" or "per_channel". */
SLICESORT_CALL slicesort_shuffle(slicesort_exec, uint64_t seed, char const* form, slicesort_input x,
                                 slicesort_output y, slicesort_input lengths);
SLICESORT_CALL slicesort_shuffle_backward(slicesort_exec, uint64_t seed, char const* form,
                                          slicesort_input dy, slicesort_output dx,
                                          slicesort_input lengths);

/* ---- Mixing rows. lengths: or null. ------------------------------------------------------------
 * groups: "group_size{rows}" or "group_count{groups}", required. shift: "none", "linear",
 * "linear_step{step}", "per_head{heads}", "modular", "power{layer, layers}",
 * "power_ceil{layer, layers}" or "table{shift, ..}". */

typedef struct slicesort_csp_options {
  char const* groups;
  char const* shift;
  char const* alignment; /* "reference{channel}", or an order */
} slicesort_csp_options;
/* order, the saved state, or null in forward: shape and dtype by slicesort_csp_state. */
SLICESORT_CALL slicesort_csp(slicesort_exec, slicesort_csp_options const*, slicesort_input x,
                             slicesort_output y, slicesort_output order, slicesort_input lengths);
SLICESORT_CALL slicesort_csp_backward(slicesort_exec, slicesort_csp_options const*,
                                      slicesort_input dy, slicesort_input order,
                                      slicesort_output dx, slicesort_input lengths);
/* Stores the shape and dtype of csp's state for an x of the shape [batch, length, channels]. */
SLICESORT_CALL slicesort_csp_state(slicesort_csp_options const*, int64_t const x_shape[3],
                                   int64_t state_shape[3], int32_t* state_dtype);

typedef struct slicesort_sinkhorn_csp_options {
  char const* groups;
  char const* shift;
  double tau;         /* above 0 */
  int64_t iterations; /* at least 1 */
  int64_t reference;  /* the channel whose order the others are aligned with */
} slicesort_sinkhorn_csp_options;
/* float32 and float64. */
SLICESORT_CALL slicesort_sinkhorn_csp(slicesort_exec, slicesort_sinkhorn_csp_options const*,
                                      slicesort_input x, slicesort_output y,
                                      slicesort_input lengths);
SLICESORT_CALL slicesort_sinkhorn_csp_backward(slicesort_exec,
                                               slicesort_sinkhorn_csp_options const*,
                                               slicesort_input dy, slicesort_input x,
                                               slicesort_output dx, slicesort_input lengths);

typedef struct slicesort_sinkhorn_options {
  double tau;         /* above 0 */
  int64_t half_steps; /* normalizations of rows or columns in turn, at least 1 */
  int32_t rows_last;  /* 1: the last one is of rows, 0: of columns */
} slicesort_sinkhorn_options;
/* logits, y: [batch, rows, columns]. row_lengths, column_lengths: [batch], or null. */
SLICESORT_CALL slicesort_sinkhorn(slicesort_exec, slicesort_sinkhorn_options const*,
                                  slicesort_input logits, slicesort_output y,
                                  slicesort_input row_lengths, slicesort_input column_lengths);
SLICESORT_CALL slicesort_sinkhorn_backward(slicesort_exec, slicesort_sinkhorn_options const*,
                                           slicesort_input dy, slicesort_input logits,
                                           slicesort_output dlogits, slicesort_input row_lengths,
                                           slicesort_input column_lengths);

typedef struct slicesort_sparse_mix_options {
  char const* topology;     /* "chord", "chord{links}", "cdil{half}" or "offsets{offset, ..}" */
  char const* residual;     /* "per_factor", "none" or "initial" */
  int64_t checkpoint_every; /* saves every n-th state; 0 is 1, each of them */
} slicesort_sparse_mix_options;
/* w, dw: [factors, batch, length, links]. states: [slicesort_sparse_mix_states(..), batch, length,
 * channels], or null in forward. */
SLICESORT_CALL slicesort_sparse_mix(slicesort_exec, slicesort_sparse_mix_options const*,
                                    slicesort_input x, slicesort_input w, slicesort_output y,
                                    slicesort_output states, slicesort_input lengths);
SLICESORT_CALL slicesort_sparse_mix_backward(slicesort_exec, slicesort_sparse_mix_options const*,
                                             slicesort_input dy, slicesort_input x,
                                             slicesort_input w, slicesort_input states,
                                             slicesort_output dx, slicesort_output dw,
                                             slicesort_input lengths);
/* Stores the number of states that sparse_mix saves. */
SLICESORT_CALL slicesort_sparse_mix_states(slicesort_sparse_mix_options const*, int64_t factors,
                                           int64_t* states);

/* y[b, n, c] = sum over k of weights[g, k] x[b, n + k - shift, c], where g is c's group of channels.
 * weights, dweights: [groups, taps]. */
SLICESORT_CALL slicesort_short_convolution(slicesort_exec, int64_t shift, slicesort_input x,
                                           slicesort_input weights, slicesort_output y,
                                           slicesort_input lengths);
SLICESORT_CALL slicesort_short_convolution_backward(slicesort_exec, int64_t shift,
                                                    slicesort_input dy, slicesort_input x,
                                                    slicesort_input weights, slicesort_output dx,
                                                    slicesort_output dweights,
                                                    slicesort_input lengths);

typedef struct slicesort_decaying_sum_options {
  int32_t is_complex;    /* 1: two numbers per state, real and imaginary part */
  char const* direction; /* "forward", "reverse" or "both" */
} slicesort_decaying_sum_options;
/* a: [numbers, channels], or per row [batch, numbers, length, channels]. w: [numbers, channels].
 * initial, last: states [batch, numbers, channels], accumulator. */
SLICESORT_CALL slicesort_decaying_sum(slicesort_exec, slicesort_decaying_sum_options const*,
                                      slicesort_input x, slicesort_input a, slicesort_input w,
                                      slicesort_input initial, slicesort_output y,
                                      slicesort_output last, slicesort_input lengths);
SLICESORT_CALL slicesort_decaying_sum_backward(
    slicesort_exec, slicesort_decaying_sum_options const*, slicesort_input dy,
    slicesort_input dlast, slicesort_input x, slicesort_input a, slicesort_input w,
    slicesort_input initial, slicesort_output dx, slicesort_output da, slicesort_output dw,
    slicesort_output dinitial, slicesort_input lengths);

#ifdef __cplusplus
}
#endif

#include "slicesort_attention.h"

#endif
