# SPDX-License-Identifier: Apache-2.0
"""top_k and argsort."""
import torch

from .registration import index_dtype, mark_saved_state, register, require_sequence, require_text


def _fake(x, k, order="descending", by_index=False, nan_last=False, lengths=None):
    require_sequence(x)
    selected = x.size(0), k, x.size(2)
    return x.new_empty(selected), x.new_empty(selected, dtype=index_dtype(x.size(1)))


def _save(ctx, inputs, output):
    ctx.length = inputs[0].size(1)
    mark_saved_state(ctx, output[1])
    ctx.save_for_backward(output[1])


def _backward(ctx, dy, _):
    indices, = ctx.saved_tensors
    return _top_k_backward(dy, indices, ctx.length), None, None, None, None, None


def _fake_backward(dy, indices, length):
    require_sequence(dy, "dy")
    return dy.new_empty((dy.size(0), length, dy.size(2)))


def _save_backward(ctx, inputs, output):
    ctx.save_for_backward(inputs[1])


def _backward_backward(ctx, ddx):
    indices, = ctx.saved_tensors
    return ddx.gather(1, indices.to(torch.int64)), None, None


def _fake_argsort(x, order="ascending", lengths=None):
    require_sequence(x)
    return torch.empty_like(x, dtype=index_dtype(x.size(1)))


def _save_argsort(ctx, inputs, output):
    ctx.mark_non_differentiable(output)


def _no_gradient(ctx, _):
    return None, None, None


_top_k = register("top_k", fake=_fake, save=_save, backward=_backward, batched={0: 0, 5: 0}, outputs=(0, 0))
_top_k_backward = register(
    "top_k_backward", fake=_fake_backward, save=_save_backward, backward=_backward_backward, batched={0: 0, 1: 0})
_argsort = register("argsort", fake=_fake_argsort, save=_save_argsort, backward=_no_gradient, batched={0: 0, 2: 0})


def top_k(x, k, order="descending", by_index=False, nan_last=False, lengths=None):
    """Returns the first k rows of every sorted channel, and their numbers: `[batch, k, channels]` each.

    x: `[batch, length, channels]`. `order` is as for `slicing_sort`: `descending` selects the largest. Of equal values the
    lower row comes first, -0 equals 0, and NaN is above +inf, or after all numbers with `nan_last`. `by_index`: rows keep
    their order. Indices are uint16 up to 65536 rows, else int32. Twice differentiable.
    """
    require_text("order", order)
    return _top_k(x, k, order, by_index, nan_last, lengths)


def argsort(x, order="ascending", lengths=None):
    """Returns the stable argsort of every channel, `[batch, length, channels]`: the permutation of `slicing_sort`."""
    require_text("order", order)
    return _argsort(x, order, lengths)
