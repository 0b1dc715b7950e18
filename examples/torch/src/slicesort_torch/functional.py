# SPDX-License-Identifier: Apache-2.0
"""Every operator as a differentiable function of tensors.

Tensors may have any strides and are not copied; an output with the shape of its input has its strides, others are
dense. Policies are text in C++ syntax: `"half_half{4}"`. `lengths` (int64 `[batch]`) is the number of valid leading rows
of each sample. Errors are `RuntimeError` with the library's messages, but `TypeError` for a policy that is not text,
`ValueError` for an unknown option, and `IndexError` for an index in `perm` that is out of range. Results are
deterministic and have the same bits for any number of threads; no gradient uses atomic additions."""
from .operators.csp import csp, sinkhorn_csp
from .operators.decaying_sum import decaying_sum, decaying_sum_with_state
from .operators.linear_attention import linear_attention, linear_attention_with_state
from .operators.max_exchange import max_exchange
from .operators.multi_permutation import multi_permutation
from .operators.pointwise_attention import pointwise_attention
from .operators.short_convolution import short_convolution
from .operators.shuffle import shuffle
from .operators.sinkhorn import sinkhorn
from .operators.slicing_sort import permute, slicing_sort, slicing_sort_with_permutation
from .operators.soft_sort import soft_rank, soft_sort
from .operators.softmax_attention import (merge_attention, scaled_dot_product_attention, softmax_attention,
                                          softmax_attention_with_state)
from .operators.sparse_mix import sparse_mix
from .operators.top_k import argsort, top_k

__all__ = ["argsort", "csp", "decaying_sum", "decaying_sum_with_state", "linear_attention", "linear_attention_with_state",
           "max_exchange", "merge_attention", "multi_permutation", "permute", "pointwise_attention",
           "scaled_dot_product_attention", "short_convolution", "shuffle", "sinkhorn", "sinkhorn_csp", "slicing_sort",
           "slicing_sort_with_permutation", "soft_rank", "soft_sort", "softmax_attention", "softmax_attention_with_state",
           "sparse_mix", "top_k"]
