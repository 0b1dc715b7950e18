# SPDX-License-Identifier: Apache-2.0
"""csp, and sinkhorn_csp, its relaxation."""
import functools

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..library import ops
from .registration import mark_saved_state, register, require_sequence, require_text


@functools.lru_cache(maxsize=None)
def _signed_group_size(groups):
    """Returns the rows per group, or the negated number of groups."""
    with _disable_current_modes():
        return ops.check_policy("groups", groups, 0)


def _state_of(x, groups):
    """Returns the shape and dtype of the saved order: a bit per pair of rows, or a row index within the group."""
    signed_size = _signed_group_size(groups)
    rows = signed_size if signed_size > 0 else -(-x.size(1) // -signed_size)
    rows = max(1, min(rows, x.size(1)))
    length = 0 if rows == 1 else -(-x.size(1) // 16) if rows == 2 else x.size(1)
    dtype = torch.uint8 if rows <= 256 else torch.uint16 if rows <= 65536 else torch.int32
    return (x.size(0), length, x.size(2)), dtype


def _fake(x, groups="group_size{2}", shift="linear", alignment="reference{0}", lengths=None):
    require_sequence(x)
    shape, dtype = _state_of(x, groups)
    return torch.empty_like(x), x.new_empty(shape, dtype=dtype)


def _save(ctx, inputs, output):
    ctx.policies = inputs[1:4]
    mark_saved_state(ctx, output[1])
    ctx.save_for_backward(output[1], inputs[4])


def _backward(ctx, dy, _):
    order, lengths = ctx.saved_tensors
    return _csp_backward(dy, order, *ctx.policies, lengths), None, None, None, None


def _fake_backward(dy, order, groups, shift, alignment, lengths=None):
    return torch.empty_like(dy)


_csp = register("csp", fake=_fake, save=_save, backward=_backward, batched={0: 0, 4: 0}, outputs=(0, 0))
_csp_backward = register("csp_backward", fake=_fake_backward, batched={0: 0, 1: 0, 5: 0})


def csp(x, groups="group_size{2}", shift="linear", alignment="reference{0}", lengths=None):
    """Channel-wise sample permutation: shifts the channels along the sequence, then sorts the rows of each group (CSP,
    eq. 3 to 5).

    x, y: `[batch, length, channels]`, dtypes as in `slicing_sort`. `groups`: `group_size{G}` or `group_count{K}`.
    `shift`: `none`, `linear`, `linear_step{step}`, `per_head{heads}`, `modular`, `power{layer, layers}`,
    `power_ceil{layer, layers}` or `table{..}`, a shift per channel. `alignment`: `reference{channel}`, or an order of
    `slicing_sort`.
    """
    for name, policy in (("groups", groups), ("shift", shift), ("alignment", alignment)):
        require_text(name, policy)
    return _csp(x, groups, shift, alignment, lengths)[0]


def _fake_sinkhorn(x, *arguments):
    require_sequence(x)
    return torch.empty_like(x)


def _save_sinkhorn(ctx, inputs, output):
    ctx.policies = inputs[1:6]
    ctx.save_for_backward(inputs[0], inputs[6])


def _backward_sinkhorn(ctx, dy):
    x, lengths = ctx.saved_tensors
    return _sinkhorn_csp_backward(dy, x, *ctx.policies, lengths), None, None, None, None, None, None


_sinkhorn_csp = register(
    "sinkhorn_csp", fake=_fake_sinkhorn, save=_save_sinkhorn, backward=_backward_sinkhorn, batched={0: 0, 6: 0})
_sinkhorn_csp_backward = register("sinkhorn_csp_backward", fake=_fake_sinkhorn, batched={0: 0, 1: 0, 7: 0})


def sinkhorn_csp(x, tau, iterations=10, groups="group_size{2}", shift="linear", reference=0, lengths=None):
    """CSP with Sinkhorn's algorithm instead of the sort (CSP, eq. 8 and 9): multiplies each group by a doubly
    stochastic matrix that depends on channel `reference`.

    x, y: `[batch, length, channels]`, float32 or float64; autocast casts x to float32. `tau` is the temperature.
    """
    require_text("groups", groups)
    require_text("shift", shift)
    if torch.is_autocast_enabled(x.device.type) and x.dtype != torch.float64:
        x = x.float()
    return _sinkhorn_csp(x, tau, iterations, groups, shift, reference, lengths)
