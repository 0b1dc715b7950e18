# SPDX-License-Identifier: Apache-2.0
"""short_convolution: depthwise filters along the length."""
import torch

from .registration import cast_to_widest_dtype, register, require_rank, require_sequence


def _fake(x, weights, shift, lengths=None):
    require_sequence(x)
    require_rank(weights, "weights", 2, "[groups, taps]")
    return torch.empty_like(x)


def _save(ctx, inputs, output):
    x, weights, ctx.shift, lengths = inputs
    ctx.save_for_backward(x, weights, lengths)


def _backward(ctx, dy):
    x, weights, lengths = ctx.saved_tensors
    return *_short_convolution_backward(dy, x, weights, ctx.shift, lengths), None, None


def _fake_backward(dy, x, weights, shift, lengths=None):
    return torch.empty_like(dy), torch.empty_like(weights)


_short_convolution = register("short_convolution", fake=_fake, save=_save, backward=_backward, batched={0: 0, 3: 0})
# dweights is a sum over the batch, so mapped slices cannot be folded into it.
_short_convolution_backward = register("short_convolution_backward", fake=_fake_backward, batched={}, outputs=(0, 0))


def short_convolution(x, weights, shift=None, lengths=None):
    """`y[b, n, c] = sum over k of weights[g, k] * x[b, n + k - shift, c]`, where g is the group of channel c: a depthwise
    convolution along the length. Rows outside the sequence count as zeros.

    x, y: `[batch, length, channels]`; weights: `[groups, taps]` with up to 64 taps, of one dtype (autocast casts to the
    wider); groups divides channels. `shift` is taps - 1 by default, which is causal; (taps - 1) // 2 is centered.
    """
    x, weights = cast_to_widest_dtype(x, weights)
    return _short_convolution(x, weights, weights.size(-1) - 1 if shift is None else shift, lengths)
