# SPDX-License-Identifier: Apache-2.0
"""soft_sort and soft_rank: projections onto the permutahedron (Blondel et al., 2020)."""
import torch

from .registration import index_dtype, mark_saved_state, register, require_sequence


def _fake(x, ranks, regularization, strength, lengths=None):
    require_sequence(x)
    saved = index_dtype(x.size(1))
    return torch.empty_like(x), torch.empty_like(x, dtype=saved), torch.empty_like(x, dtype=saved)


def _save(ctx, inputs, output):
    x, *ctx.policies, lengths = inputs
    mark_saved_state(ctx, *output[1:])
    ctx.save_for_backward(x, *output[1:], lengths)


def _backward(ctx, dy, *_):
    *saved, lengths = ctx.saved_tensors
    return _soft_sort_backward(dy, *saved, *ctx.policies, lengths), None, None, None, None


def _fake_backward(dy, *arguments):
    return torch.empty_like(dy)


_soft_sort = register("soft_sort", fake=_fake, save=_save, backward=_backward, batched={0: 0, 4: 0}, outputs=(0, 0, 0))
_soft_sort_backward = register("soft_sort_backward", fake=_fake_backward, batched={0: 0, 1: 0, 2: 0, 3: 0, 7: 0})


def _along(values, dim, ranks, regularization, strength, lengths):
    """Applies the operator along axis `dim`. The other axes become channels, without a copy where strides allow it."""
    if lengths is not None:
        if values.dim() != 3 or dim not in (1, -2):
            raise ValueError("lengths require values [batch, length, channels] and dim=1")
        return _soft_sort(values, ranks, regularization, strength, lengths)[0]
    if values.dim() == 3 and dim in (1, -2):
        return _soft_sort(values, ranks, regularization, strength, None)[0]
    columns = values.movedim(dim, 0)
    y = _soft_sort(columns.reshape(1, columns.size(0), -1), ranks, regularization, strength, None)[0]
    return y.reshape(columns.shape).movedim(0, dim)


def soft_sort(values, regularization="l2", regularization_strength=1.0, dim=-1, lengths=None):
    """Soft sort along `dim`, ascending, with torchsort's arguments: regularization "l2" or "kl" (also "entropic").
    Strength 0 sorts. Once differentiable.

    With `dim=1`, values `[batch, length, channels]` may have `lengths` (int64 `[batch]`), the valid rows of each sample.
    """
    return _along(values, dim, False, regularization, float(regularization_strength), lengths)


def soft_rank(values, regularization="l2", regularization_strength=1.0, dim=-1, lengths=None):
    """Soft ranks along `dim`, 1 for the smallest value, with the arguments of `soft_sort`; the strength is positive."""
    return _along(values, dim, True, regularization, float(regularization_strength), lengths)
