# SPDX-License-Identifier: Apache-2.0
"""The operators of slicesort for JAX."""
from ._library import get_num_threads, set_num_threads
from .csp import csp, sinkhorn, sinkhorn_csp
from .exchange import max_exchange, shuffle
from .linear import linear_attention, linear_attention_with_state
from .pointwise import pointwise_attention
from .recurrence import decaying_sum, decaying_sum_with_state
from .selection import argsort, top_k
from .soft import soft_rank, soft_sort
from .softmax import (merge_attention, softmax_attention, softmax_attention_backward,
                      softmax_attention_with_state)
from .sorting import multi_permutation, permute, slicing_sort, slicing_sort_with_permutation, sort
from .sparse import short_convolution, sparse_mix

__all__ = ["argsort", "csp", "decaying_sum", "decaying_sum_with_state", "get_num_threads", "linear_attention",
           "linear_attention_with_state", "max_exchange", "merge_attention", "multi_permutation", "permute",
           "pointwise_attention", "set_num_threads", "short_convolution", "shuffle", "sinkhorn", "sinkhorn_csp",
           "slicing_sort", "slicing_sort_with_permutation", "soft_rank", "soft_sort", "softmax_attention",
           "softmax_attention_backward", "softmax_attention_with_state", "sort", "sparse_mix", "top_k"]
