# SPDX-License-Identifier: Apache-2.0
"""sinkhorn: doubly stochastic matrices from logits."""
import torch

from .registration import register, require_sequence


def _fake(logits, *arguments):
    require_sequence(logits)
    return torch.empty_like(logits)


def _save(ctx, inputs, output):
    logits, *ctx.parameters, lengths, column_lengths = inputs
    ctx.save_for_backward(logits, lengths, column_lengths)


def _backward(ctx, dy):
    logits, *lengths = ctx.saved_tensors
    return _sinkhorn_backward(dy, logits, *ctx.parameters, *lengths), None, None, None, None, None


_sinkhorn = register("sinkhorn", fake=_fake, save=_save, backward=_backward, batched={0: 0, 4: 0, 5: 0})
_sinkhorn_backward = register("sinkhorn_backward", fake=_fake, batched={0: 0, 1: 0, 5: 0, 6: 0})


def sinkhorn(logits, tau=1.0, half_steps=20, rows_last=False, lengths=None, column_lengths=None):
    """`exp(logits / tau)` after alternate normalizations of its rows (to 1) and columns (to rows / columns), `half_steps`
    in all, columns last unless `rows_last`; doubly stochastic after many. `half_steps=1, rows_last=True` is softmax.

    logits, y: `[batch, rows, columns]`. `lengths` and `column_lengths` are the valid rows and columns of each matrix.
    """
    return _sinkhorn(logits, tau, half_steps, rows_last, lengths, column_lengths)
