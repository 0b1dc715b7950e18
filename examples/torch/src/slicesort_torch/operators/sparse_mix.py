# SPDX-License-Identifier: Apache-2.0
"""sparse_mix: a chain of sparse factors."""
import torch

from .registration import (cast_to_widest_dtype, mark_saved_state, needs_saved_state, register, require_rank,
                           require_sequence, require_text)


def _fake(x, w, topology="chord", residual="per_factor", checkpoint_every=1, save=True, lengths=None):
    require_sequence(x)
    require_rank(w, "w", 4, "[factors, batch, length, links]")
    states = max(0, (w.size(0) - 1) // checkpoint_every) if save and checkpoint_every > 0 else 0
    return torch.empty_like(x), x.new_empty((states, *x.shape))


def _save(ctx, inputs, output):
    x, w, *policies, _, lengths = inputs
    ctx.policies = policies
    mark_saved_state(ctx, output[1])
    ctx.save_for_backward(x, w, output[1], lengths)


def _backward(ctx, dy, _):
    x, w, states, lengths = ctx.saved_tensors
    return *_sparse_mix_backward(dy, x, w, states, *ctx.policies, lengths), None, None, None, None, None


def _fake_backward(dy, x, w, states, topology, residual, checkpoint_every, lengths=None):
    return torch.empty_like(x), torch.empty_like(w)


_sparse_mix = register(
    "sparse_mix", fake=_fake, save=_save, backward=_backward, batched={0: 0, 1: 1, 6: 0}, outputs=(0, 1))
_sparse_mix_backward = register(
    "sparse_mix_backward", fake=_fake_backward, batched={0: 0, 1: 0, 2: 1, 3: 1, 7: 0}, outputs=(0, 1))


def sparse_mix(x, w, topology="chord", residual="per_factor", checkpoint_every=1, lengths=None):
    """A chain of sparse factors (Paramixer, section 3). Factor m maps row i to
    `sum over k of w[m, b, i, k] * v[(i + offset(k, m)) mod length]`, plus the residual.

    x, y: `[batch, length, channels]`; w: `[factors, batch, length, links]`, of one dtype (autocast casts to the wider).
    `topology`: `chord` with factors + 1 links, `chord{links}`, `cdil{half}` with 2 * half + 1 links, or `offsets{..}`.
    `residual`: `per_factor`, `none` or `initial`. Saves every `checkpoint_every`-th state for backward, which
    recomputes the others; 0 saves none.
    """
    require_text("topology", topology)
    require_text("residual", residual)
    x, w = cast_to_widest_dtype(x, w)
    return _sparse_mix(x, w, topology, residual, checkpoint_every, needs_saved_state(x, w), lengths)[0]
