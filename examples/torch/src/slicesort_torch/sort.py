# SPDX-License-Identifier: Apache-2.0
"""A drop-in for `torch.sort` of floating-point tensors."""
import math
from typing import NamedTuple

import torch

from .functional import slicing_sort_with_permutation


class sort_result(NamedTuple):
    values: torch.Tensor
    indices: torch.Tensor


def sort(x, dim=-1, descending=False, stable=True):
    """`torch.sort(x, dim, descending, stable)`: `(values, indices)`, the indices int64, of a tensor of any shape.

    Fastest along an axis that is not the last, whose neighbours are sorted side by side. The sort is always stable;
    `stable` is there to be written. To save the indices in 16 bits and differentiate twice, use
    `functional.slicing_sort`.
    """
    if x.dim() == 0:
        return sort_result(x.clone(), torch.zeros((), dtype=torch.int64, device=x.device))
    dim = dim % x.dim() if -x.dim() <= dim < x.dim() else x.size(dim)  # an IndexError, worded as torch words it
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1:])
    columns = x.reshape(outer, x.size(dim), inner)
    if inner == 1:  # rows that lie one after the other: their numbers are the channels
        columns = columns.permute(2, 1, 0)
    values, perm = slicing_sort_with_permutation(columns, "descending" if descending else "ascending")
    if inner == 1:
        values, perm = values.permute(2, 1, 0), perm.permute(2, 1, 0)
    return sort_result(values.reshape(x.shape), perm.to(torch.int64).reshape(x.shape))
