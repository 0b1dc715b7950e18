# SPDX-License-Identifier: Apache-2.0
"""Every operator as a differentiable function of tensors.

Tensors may have any strides, and outputs have those of their input; none is copied. Policies are text, written as in
C++: `"half_half{4}"`. `lengths` (int64 `[batch]`) says how many leading rows of each sample are valid. Errors are
`RuntimeError`, with the library's own sentences. Results have the same bits for any number of threads, and no gradient
is formed by atomic additions: `torch.use_deterministic_algorithms` has nothing to forbid."""
from .operators.csp import csp, sinkhorn_csp
from .operators.linear_attention import linear_attention
from .operators.max_exchange import max_exchange
from .operators.multi_permutation import multi_permutation
from .operators.shuffle import shuffle
from .operators.slicing_sort import permute, slicing_sort, slicing_sort_with_permutation
from .operators.softmax_attention import merge_attention, softmax_attention, softmax_attention_with_state
from .operators.sparse_mix import sparse_mix

__all__ = ["csp", "linear_attention", "max_exchange", "merge_attention", "multi_permutation", "permute", "shuffle",
           "sinkhorn_csp", "slicing_sort", "slicing_sort_with_permutation", "softmax_attention",
           "softmax_attention_with_state", "sparse_mix"]
