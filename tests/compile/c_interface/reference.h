/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the C++ library on dense float tensors, which calls of the C interface must equal bit for
 * bit. One thread of the host. */
#ifndef SLICESORT_TESTS_REFERENCE_H
#define SLICESORT_TESTS_REFERENCE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sorts x, [batch, length, channels], in the order half_half{2}. */
void reference_slicing_sort(int64_t const shape[3], float const* x, float* y, uint16_t* perm);
void reference_slicing_sort_backward(int64_t const shape[3], float const* dy, uint16_t const* perm,
                                     float* dx);

/* Attention with the mask causal and the scale 0.5. All tensors are [batch, heads, length,
 * channels], except the state, [batch, heads, length, 2]. */
void reference_softmax_attention(int64_t const shape[4], float const* q, float const* k,
                                 float const* v, float* y, float* state);
void reference_softmax_attention_backward(int64_t const shape[4], float const* dy, float const* q,
                                          float const* k, float const* v, float const* y,
                                          float const* state, float* dq, float* dk, float* dv);

#ifdef __cplusplus
}
#endif

#endif
