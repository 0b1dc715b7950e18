# SPDX-License-Identifier: Apache-2.0
"""A drop-in replacement for `torch.sort` of floating-point tensors."""
import math
from typing import NamedTuple

import torch

from .functional import slicing_sort_with_permutation


class sort_result(NamedTuple):
    values: torch.Tensor
    indices: torch.Tensor


def sort(x, dim=-1, descending=False, stable=True):
    """Returns `(values, indices)` as `torch.sort(x, dim, descending, stable)` does, with int64 indices.

    Fastest along an axis that is not the last, since neighboring columns are sorted together. The sort is always
    stable; ignores `stable`. `functional.slicing_sort` saves 16-bit indices and is twice differentiable.
    """
    if x.dim() == 0:
        return sort_result(x.clone(), torch.zeros((), dtype=torch.int64, device=x.device))
    dim = dim % x.dim() if -x.dim() <= dim < x.dim() else x.size(dim)  # raises torch's IndexError
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1:])
    columns = x.reshape(outer, x.size(dim), inner)
    if inner == 1:  # the last axis: makes the outer axes the channels
        columns = columns.permute(2, 1, 0)
    values, perm = slicing_sort_with_permutation(columns, "descending" if descending else "ascending")
    if inner == 1:
        values, perm = values.permute(2, 1, 0), perm.permute(2, 1, 0)
    return sort_result(values.reshape(x.shape), perm.to(torch.int64).reshape(x.shape))
