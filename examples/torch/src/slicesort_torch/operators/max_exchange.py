# SPDX-License-Identifier: Apache-2.0
"""max_exchange: exchanges the maximum of each channel with one row."""
import torch

from .registration import index_dtype, mark_saved_state, register, require_sequence


def _fake(x, row=0, lengths=None):
    require_sequence(x)
    return torch.empty_like(x), x.new_empty((x.size(0), 1, x.size(2)), dtype=index_dtype(x.size(1)))


def _save(ctx, inputs, output):
    ctx.row = inputs[1]
    mark_saved_state(ctx, output[1])
    ctx.save_for_backward(output[1], inputs[2])


def _backward(ctx, dy, _):
    maximum, lengths = ctx.saved_tensors
    return _max_exchange_backward(dy, maximum, ctx.row, lengths), None, None


def _fake_backward(dy, maximum, row=0, lengths=None):
    return torch.empty_like(dy)


def _save_backward(ctx, inputs, output):
    ctx.row = inputs[2]
    ctx.save_for_backward(inputs[1], inputs[3])


def _backward_backward(ctx, ddx):  # an exchange is its own inverse and transpose
    maximum, lengths = ctx.saved_tensors
    return _max_exchange_backward(ddx, maximum, ctx.row, lengths), None, None, None


_max_exchange = register(
    "max_exchange", fake=_fake, save=_save, backward=_backward, batched={0: 0, 2: 0}, outputs=(0, 0))
_max_exchange_backward = register(
    "max_exchange_backward", fake=_fake_backward, save=_save_backward, backward=_backward_backward,
    batched={0: 0, 1: 0, 3: 0})


def max_exchange(x, row=0, lengths=None):
    """Exchanges the first maximum of every channel with row `row` (Sliceformer's max-exchange; row 0 for a class
    token). x, y: `[batch, length, channels]`. Twice differentiable."""
    return _max_exchange(x, row, lengths)[0]
