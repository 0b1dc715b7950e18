# SPDX-License-Identifier: Apache-2.0
"""shuffle: a seeded permutation that does not depend on the values."""
import torch

from .registration import register, require_sequence, require_text


def _fake(x, seed=0, form="shared_by_channels", lengths=None):
    require_sequence(x)
    return torch.empty_like(x)


def _save(ctx, inputs, output):
    ctx.policies = inputs[1:3]
    ctx.save_for_backward(inputs[3])


def _backward(ctx, dy):
    return _shuffle_backward(dy, *ctx.policies, *ctx.saved_tensors), None, None, None


def _backward_backward(ctx, ddx):  # the gradient of backward is forward
    return _shuffle(ddx, *ctx.policies, *ctx.saved_tensors), None, None, None


_shuffle = register("shuffle", fake=_fake, save=_save, backward=_backward, batched={0: 0, 3: 0})
_shuffle_backward = register("shuffle_backward", fake=_fake, save=_save, backward=_backward_backward, batched={0: 0, 3: 0})


def shuffle(x, seed=0, form="shared_by_channels", lengths=None):
    """Permutes the rows of x in an order that depends on the seed alone: one for all channels, or `per_channel`
    (Sliceformer's ablation). x, y: `[batch, length, channels]`. The same on every device. Twice differentiable."""
    require_text("form", form)
    return _shuffle(x, seed, form, lengths)
