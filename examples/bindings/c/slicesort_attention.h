/* SPDX-License-Identifier: Apache-2.0 */
/* Attention operators of the C interface. Include slicesort.h, which describes the arguments.
 *
 * q, dq: [batch, heads, queries, channels]; k, dk: [batch, heads, keys, channels]; v, dv: [batch,
 * heads, keys, values]; y, dy: [batch, heads, queries, values]; k and v may have a divisor of q's
 * heads. Options may be null: zeros select the defaults. */
#ifndef SLICESORT_ATTENTION_H
#define SLICESORT_ATTENTION_H

#include "slicesort_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pairs of queries and keys that take part. A null tensor or mask allows all pairs. */
typedef struct slicesort_pairs {
  /* "full", "causal{offset}", "window{left, right}", "block_local{size}",
   * "strided{stride, nearby}", "fixed{block, tail, first_column}",
   * "dilated_window{left, right, step}", "global_window{left, right, globals}",
   * "chunk_back{size, circular}", "bigbird{block, window, ends, random, seed}", "globals{count}",
   * or up to four of them in "both{a, b}" and "either{a, b}". */
  char const* mask;
  slicesort_input lengths;       /* valid keys of each sample, [batch] int64 */
  slicesort_input query_lengths; /* valid queries of each sample, [batch] int64 */
  slicesort_input allowed;       /* bool, [batch or 1, heads or 1, queries or 1, keys] */
  slicesort_input segments;      /* offsets of packed samples, [segments + 1] int64 */
} slicesort_pairs;

typedef struct slicesort_softmax_attention_options {
  slicesort_pairs pairs;
  slicesort_input bias; /* [batch, heads, queries, keys] or [batch, heads, 1, queries + keys - 1] */
  double const* scale;  /* null: 1 / sqrt(channels) */
  double dropout;       /* in [0, 1) */
  uint64_t seed;        /* of dropout */
} slicesort_softmax_attention_options;
/* state: [batch, heads, queries, 2], accumulator, or null in forward. */
SLICESORT_CALL slicesort_softmax_attention(slicesort_exec,
                                           slicesort_softmax_attention_options const*,
                                           slicesort_input q, slicesort_input k, slicesort_input v,
                                           slicesort_output y, slicesort_output state);
/* dbias: or null. */
SLICESORT_CALL slicesort_softmax_attention_backward(slicesort_exec,
                                                    slicesort_softmax_attention_options const*,
                                                    slicesort_input dy, slicesort_input q,
                                                    slicesort_input k, slicesort_input v,
                                                    slicesort_input y, slicesort_input state,
                                                    slicesort_output dq, slicesort_output dk,
                                                    slicesort_output dv, slicesort_output dbias);

/* Merges attention of the same queries over `count` sets of keys, 1 to 16: output i is ys[i], its
 * state states[i]. For gradients call softmax_attention's backward for each set with the merged y
 * and state, and add them up. */
SLICESORT_CALL slicesort_merge_attention(slicesort_exec, int64_t count, slicesort_tensor const* ys,
                                         slicesort_tensor const* states, slicesort_output y,
                                         slicesort_output state);

typedef struct slicesort_pointwise_attention_options {
  slicesort_pairs pairs;
  slicesort_input bias; /* as for softmax_attention */
  char const* function; /* "laplace{mean, deviation}" or "squared_relu" */
  double const* scale;  /* null: 1 / sqrt(channels) */
  int32_t per_key;      /* 1: scale 1 / the number of valid keys; requires a null scale */
} slicesort_pointwise_attention_options;
SLICESORT_CALL slicesort_pointwise_attention(slicesort_exec,
                                             slicesort_pointwise_attention_options const*,
                                             slicesort_input q, slicesort_input k,
                                             slicesort_input v, slicesort_output y);
/* dbias: or null. */
SLICESORT_CALL slicesort_pointwise_attention_backward(slicesort_exec,
                                                      slicesort_pointwise_attention_options const*,
                                                      slicesort_input dy, slicesort_input q,
                                                      slicesort_input k, slicesort_input v,
                                                      slicesort_output dq, slicesort_output dk,
                                                      slicesort_output dv, slicesort_output dbias);

typedef struct slicesort_linear_attention_options {
  char const* feature;   /* "elu_plus_one", "relu{eps}", "cosine_reweighted", "random_exp{eps}",
                          "random_relu{eps, scale}" or "random_fourier{floor, scale}" */
  char const* divisor;   /* "sum_plus{eps}", "at_least{eps}" or "none" */
  char const* direction; /* "noncausal" or "causal" */
  slicesort_input w;     /* of random features: [heads, features, channels] */
  slicesort_input lengths, query_lengths; /* as in slicesort_pairs */
} slicesort_linear_attention_options;
SLICESORT_CALL slicesort_linear_attention(slicesort_exec, slicesort_linear_attention_options const*,
                                          slicesort_input q, slicesort_input k, slicesort_input v,
                                          slicesort_output y);
/* dw: or null. */
SLICESORT_CALL slicesort_linear_attention_backward(slicesort_exec,
                                                   slicesort_linear_attention_options const*,
                                                   slicesort_input dy, slicesort_input q,
                                                   slicesort_input k, slicesort_input v,
                                                   slicesort_output dq, slicesort_output dk,
                                                   slicesort_output dv, slicesort_output dw);
/* Causal, from the initial state to the last one: [batch, heads of k, elements], accumulator. dw
 * may be null. */
SLICESORT_CALL slicesort_linear_attention_with_state(slicesort_exec,
                                                     slicesort_linear_attention_options const*,
                                                     slicesort_input q, slicesort_input k,
                                                     slicesort_input v, slicesort_input initial,
                                                     slicesort_output y, slicesort_output last);
SLICESORT_CALL slicesort_linear_attention_with_state_backward(
    slicesort_exec, slicesort_linear_attention_options const*, slicesort_input dy,
    slicesort_input dlast, slicesort_input q, slicesort_input k, slicesort_input v,
    slicesort_input initial, slicesort_output dq, slicesort_output dk, slicesort_output dv,
    slicesort_output dw, slicesort_output dinitial);
/* Stores the number of elements of a head's state. Only the shapes of q and v are read. */
SLICESORT_CALL slicesort_linear_attention_state(slicesort_linear_attention_options const*,
                                                slicesort_input q, slicesort_input v,
                                                int64_t* elements);

#ifdef __cplusplus
}
#endif

#endif
