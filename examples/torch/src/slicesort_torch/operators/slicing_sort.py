# SPDX-License-Identifier: Apache-2.0
"""slicing_sort, and permute, which applies a saved permutation again."""
import torch

from .registration import index_dtype, register, require_sequence, saves


def _fake_sort(x, order="ascending", save=True, lengths=None):
    require_sequence(x)
    index = index_dtype(x.size(1))
    return torch.empty_like(x), torch.empty_like(x, dtype=index) if save else x.new_empty((0, 0, 0), dtype=index)


def _save_sort(ctx, inputs, output):
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(output[1], inputs[3])


def _backward_sort(ctx, dy, _):
    perm, lengths = ctx.saved_tensors
    return _slicing_sort_backward(dy, perm, lengths), None, None, None


def _fake_like(x, perm, lengths=None):
    require_sequence(x)
    return torch.empty_like(x)


def _save_move(ctx, inputs, output):
    ctx.save_for_backward(inputs[1], inputs[2])


def _scatter(ctx, dy):
    return _slicing_sort_backward(dy, *ctx.saved_tensors), None, None


def _gather(ctx, dy):
    return _permute(dy, *ctx.saved_tensors), None, None


_slicing_sort = register(
    "slicing_sort", fake=_fake_sort, save=_save_sort, backward=_backward_sort, batched={0: 0, 3: 0}, outputs=(0, 0))
_slicing_sort_backward = register(
    "slicing_sort_backward", fake=_fake_like, save=_save_move, backward=_gather, batched={0: 0, 1: 0, 2: 0})
_permute = register("permute", fake=_fake_like, save=_save_move, backward=_scatter, batched={0: 0, 1: 0, 2: 0})


def slicing_sort(x, order="ascending", lengths=None):
    """Every channel of every sample, sorted along the length: `y[b, :, c] = sort(x[b, :, c])` (Sliceformer, eq. 4).

    x, y: `[batch, length, channels]`, float32, float64, float16 or bfloat16. NaN sorts above +inf, -0 equals 0, and
    ties keep the lower row first. `order`: `ascending`, `descending`, `half_half{heads}`, `interleave{layer, layers}`
    or `haar_interleave{level, heads}`. Twice differentiable.
    """
    return _slicing_sort(x, order, saves(x), lengths)[0]


def slicing_sort_with_permutation(x, order="ascending", lengths=None):
    """`slicing_sort`, and the stable argsort `perm` (uint16 up to 65536 rows, else int32): `y[n] = x[perm[n]]`."""
    return _slicing_sort(x, order, True, lengths)


def permute(x, perm, lengths=None):
    """`y[b, n, c] = x[b, perm[b, n, c], c]`, with a `perm` that a sort returned. Its rows are trusted, not checked: a
    row that is none of x is undefined behavior."""
    return _permute(x, perm, lengths)
