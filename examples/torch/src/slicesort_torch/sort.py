# SPDX-License-Identifier: Apache-2.0
"""Drop-in replacements for `torch.sort`, `torch.argsort` and `torch.topk` of floating-point tensors."""
import math
from typing import NamedTuple

import torch

from . import functional


class sort_result(NamedTuple):
    values: torch.Tensor
    indices: torch.Tensor


class top_k_result(NamedTuple):
    values: torch.Tensor
    indices: torch.Tensor


def _columns(x, dim):
    """Returns the axis, and x as `[outer, size of the axis, inner]`."""
    dim = dim % x.dim() if -x.dim() <= dim < x.dim() else x.size(dim)  # raises torch's IndexError
    return dim, x.reshape(math.prod(x.shape[:dim]), x.size(dim), math.prod(x.shape[dim + 1:]))


def sort(input, dim=-1, descending=False, stable=True):
    """Returns `(values, indices)` as `torch.sort(input, dim, descending, stable)` does, with int64 indices.

    Fastest along an axis that is not the last, since neighboring columns are sorted together. The sort is always
    stable; ignores `stable`. `functional.slicing_sort` saves 16-bit indices and is twice differentiable.
    """
    if input.dim() == 0:
        return sort_result(input.clone(), torch.zeros((), dtype=torch.int64, device=input.device))
    _, columns = _columns(input, dim)
    is_last_axis = columns.size(2) == 1
    if is_last_axis:  # makes the outer axes the channels
        columns = columns.permute(2, 1, 0)
    values, perm = functional.slicing_sort_with_permutation(columns, "descending" if descending else "ascending")
    if is_last_axis:
        values, perm = values.permute(2, 1, 0), perm.permute(2, 1, 0)
    return sort_result(values.reshape(input.shape), perm.to(torch.int64).reshape(input.shape))


def argsort(input, dim=-1, descending=False, stable=True):
    """Returns the int64 indices of `sort`, as `torch.argsort(input, dim, descending, stable=True)` does, without writing the
    sorted values. Ignores `stable`."""
    if input.dim() == 0:
        return torch.zeros((), dtype=torch.int64, device=input.device)
    _, columns = _columns(input, dim)
    indices = functional.argsort(columns, "descending" if descending else "ascending")
    return indices.to(torch.int64).reshape(input.shape)


def top_k(input, k, dim=-1, largest=True, sorted=True):
    """Returns `(values, indices)` as `torch.topk(input, k, dim, largest, sorted)` does, with int64 indices.

    Of equal values the lower index comes first, which torch does not promise. With `sorted=False`, results are in the
    order of their indices. NaN counts as the largest number.
    """
    if input.dim() == 0:
        input = input.reshape(1)
        values, indices = top_k(input, k, 0, largest, sorted)
        return top_k_result(values.reshape(()), indices.reshape(())) if k == 1 else top_k_result(values, indices)
    dim, columns = _columns(input, dim)
    values, indices = functional.top_k(columns, k, "descending" if largest else "ascending", not sorted)
    shape = (*input.shape[:dim], k, *input.shape[dim + 1:])
    return top_k_result(values.reshape(shape), indices.to(torch.int64).reshape(shape))
