# SPDX-License-Identifier: Apache-2.0
"""decaying_sum: linear recurrences along the length."""
import torch

from .registration import accumulator_dtype, cast_to_widest_dtype, register, require_rank, require_sequence, require_text


def _fake(x, a, w, initial, is_complex, direction, lengths=None):
    require_sequence(x)
    require_rank(w, "w", 2, "[numbers, channels]")
    require_rank(initial, "initial", 3, "[batch, numbers, channels]")
    return torch.empty_like(x), torch.empty_like(initial)


def _save(ctx, inputs, output):
    x, a, w, initial, *ctx.parameters, lengths = inputs
    ctx.save_for_backward(x, a, w, initial, lengths)


def _backward(ctx, dy, dlast):
    *tensors, lengths = ctx.saved_tensors
    return *_decaying_sum_backward(dy, dlast, *tensors, *ctx.parameters, lengths), None, None, None


def _fake_backward(dy, dlast, x, a, w, initial, is_complex, direction, lengths=None):
    return tuple(torch.empty_like(t) for t in (dy, a, w, initial))


# Decays per row have a batch axis of their own.
_decaying_sum = register("decaying_sum", fake=_fake, save=_save, backward=_backward, batched={0: 0, 3: 0, 6: 0},
                         outputs=(0, 0), can_fold=lambda x, a, *rest: a.dim() == 2)
# Gradients of numbers are sums over the batch, so mapped slices cannot be folded into it.
_decaying_sum_backward = register("decaying_sum_backward", fake=_fake_backward, batched={}, outputs=(0, 0, 0, 0))


def decaying_sum_with_state(x, a, w=None, initial=None, direction="forward", is_complex=False, lengths=None):
    """`decaying_sum`, and the states behind the last valid row, `[batch, numbers, channels]`: pass them as `initial` to
    continue the sequence with the bits of one call."""
    require_text("direction", direction)
    numbers = a.size(-2 if a.dim() == 2 else 1)
    if w is None:
        w = x.new_ones(numbers, x.size(-1))
        if is_complex:
            w[1::2] = 0
    x, a, w = cast_to_widest_dtype(x, a, w)
    if initial is None:
        initial = x.new_zeros(x.size(0), numbers, x.size(-1), dtype=accumulator_dtype(x))
    return _decaying_sum(x, a, w, initial, is_complex, direction, lengths)


def decaying_sum(x, a, w=None, initial=None, direction="forward", is_complex=False, lengths=None):
    """`s[t] = a * s[t-1] + x[t]`, `y[t] = sum over the states of w * s[t]`, of `2 Re(w * s[t])` if complex: a linear
    recurrence along the length, with a constant (MEGA, S4D) or given per row (minGRU, RG-LRU).

    x, y: `[batch, length, channels]`; a: `[numbers, channels]`, or per row `[batch, numbers, length, channels]`; w:
    `[numbers, channels]`, by default 1; of one dtype (autocast casts to the widest). initial: `[batch, numbers, channels]`,
    float32 (float64 for float64), by default 0. A state is one number, a complex one two: real and imaginary part.
    `direction` is `forward`, `reverse`, or `both`, whose numbers are first those of forward, then those of reverse.
    """
    return decaying_sum_with_state(x, a, w, initial, direction, is_complex, lengths)[0]
