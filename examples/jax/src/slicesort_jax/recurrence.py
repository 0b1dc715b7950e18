# SPDX-License-Identifier: Apache-2.0
"""decaying_sum."""
from typing import Any

import jax.numpy as jnp

from ._arguments import accumulator_dtype, as_array, as_lengths
from ._call import In, Out, as_attributes, call, operator

_NUMBERS, _PER_ROW = "[numbers, channels]", "[batch, numbers, length, channels]"


def _number_axis(a: Any) -> int | None:
    """Returns the batch axis of decays; None if all rows share them."""
    return 0 if a.ndim == 4 else None


def _forward(save: bool, policies: Any, x: Any, a: Any, w: Any, initial: Any, lengths: Any) -> Any:
    results = call("decaying_sum", [In(x), In(a, _number_axis(a)), In(w, None), In(initial), In(lengths)],
                   [Out(x.shape, x.dtype), Out(initial.shape, initial.dtype)], policies)
    return tuple(results), (x, a, w, initial, lengths)


def _backward(policies: Any, saved: Any, needed: Any, gradients: Any) -> Any:
    x, a, w, initial, lengths = saved
    dy, dlast = gradients
    dx, da, dw, dinitial = call(
        "decaying_sum_backward",
        [In(dy), In(dlast), In(x), In(a, _number_axis(a)), In(w, None), In(initial), In(lengths)],
        [Out(x.shape, x.dtype), Out(a.shape, a.dtype, _number_axis(a)), Out(w.shape, w.dtype, None),
         Out(initial.shape, initial.dtype)], policies)
    return dx, da, dw, dinitial, None


_decaying_sum = operator(_forward, _backward)


def decaying_sum_with_state(x: Any, a: Any, w: Any = None, initial: Any = None, direction: str = "forward",
                            is_complex: bool = False, lengths: Any = None) -> tuple[Any, Any]:
    """`decaying_sum`, and the states behind the last valid row, `[batch, numbers, channels]`: pass them as `initial` to
    continue the sequence with the bits of one call."""
    x = as_array("x", x)
    a = as_array("a", a, _PER_ROW if jnp.ndim(a) == 4 else _NUMBERS)
    numbers = a.shape[1] if a.ndim == 4 else a.shape[0]
    if w is None:
        w = jnp.ones((numbers, x.shape[2]), x.dtype)
        w = w.at[1::2].set(0) if is_complex else w
    if initial is None:
        initial = jnp.zeros((x.shape[0], numbers, x.shape[2]), accumulator_dtype(x.dtype))
    return _decaying_sum(as_attributes(is_complex=int(is_complex), direction=direction), x, a, as_array("w", w, _NUMBERS),
                         as_array("initial", initial, "[batch, numbers, channels]"), as_lengths("lengths", lengths))


def decaying_sum(x: Any, a: Any, w: Any = None, initial: Any = None, direction: str = "forward", is_complex: bool = False,
                 lengths: Any = None) -> Any:
    """`s[t] = a * s[t-1] + x[t]`, `y[t] = sum over the states of w * s[t]`, of `2 Re(w * s[t])` if complex: a linear
    recurrence along the length, with a constant (MEGA, S4D) or given per row (minGRU, RG-LRU). x, y: `[batch, length,
    channels]`; a: `[numbers, channels]`, or per row `[batch, numbers, length, channels]`; w: `[numbers, channels]`, by
    default 1; initial: `[batch, numbers, channels]`, float32 (float64 for float64), by default 0. A state is one number, a
    complex one two: real and imaginary part. `direction` is `forward`, `reverse`, or `both`, whose numbers are first those
    of forward, then those of reverse."""
    return decaying_sum_with_state(x, a, w, initial, direction, is_complex, lengths)[0]
