# SPDX-License-Identifier: Apache-2.0
"""sparse_mix and short_convolution."""
from typing import Any

from ._arguments import as_array, as_lengths
from ._call import In, Out, as_attributes, call, operator


def _sparse_mix_forward(save: bool, policies: Any, x: Any, w: Any, lengths: Any) -> Any:
    checkpoint_every, factors = int(dict(policies)["checkpoint_every"]), w.shape[0]
    # Equals checkpoints::states.
    state_count = (factors - 1) // checkpoint_every if checkpoint_every > 0 and factors > 0 else 0
    y, states = call("sparse_mix", [In(x), In(w, 1), In(lengths)],
                     [Out(x.shape, x.dtype), Out((state_count, *x.shape), x.dtype, 1) if save else None], policies)
    return y, (x, w, states, lengths)


def _sparse_mix_backward(policies: Any, saved: Any, needed: Any, dy: Any) -> Any:
    x, w, states, lengths = saved
    dx, dw = call("sparse_mix_backward", [In(dy), In(x), In(w, 1), In(states, 1), In(lengths)],
                  [Out(x.shape, x.dtype), Out(w.shape, w.dtype, 1)], policies)
    return dx, dw, None


_sparse_mix = operator(_sparse_mix_forward, _sparse_mix_backward)


def sparse_mix(x: Any, w: Any, topology: str = "chord", residual: str = "per_factor", checkpoint_every: int = 1,
               lengths: Any = None) -> Any:
    """A chain of sparse factors (Paramixer, section 3). Factor m maps row i to
    `sum over k of w[m, b, i, k] * v[(i + offset(k, m)) mod length]`, plus the residual.

    x, y: `[batch, length, channels]`; w: `[factors, batch, length, links]`, of one dtype. `topology`: `chord` with
    factors + 1 links, `chord{links}`, `cdil{half}` with 2 * half + 1 links, or `offsets{..}`. `residual`: `per_factor`,
    `none` or `initial`. Saves every `checkpoint_every`-th state for backward; 0 saves none."""
    return _sparse_mix(
        as_attributes(topology=topology, residual=residual, checkpoint_every=checkpoint_every), as_array("x", x),
        as_array("w", w, "[factors, batch, length, links]"), as_lengths("lengths", lengths))


def _convolution_forward(save: bool, policies: Any, x: Any, weights: Any, lengths: Any) -> Any:
    (y,) = call("short_convolution", [In(x), In(weights, None), In(lengths)], [Out(x.shape, x.dtype)], policies)
    return y, (x, weights, lengths)


def _convolution_backward(policies: Any, saved: Any, needed: Any, dy: Any) -> Any:
    x, weights, lengths = saved
    dx, dweights = call("short_convolution_backward", [In(dy), In(x), In(weights, None), In(lengths)],
                        [Out(x.shape, x.dtype), Out(weights.shape, weights.dtype, None)], policies)
    return dx, dweights, None


_convolution = operator(_convolution_forward, _convolution_backward)


def short_convolution(x: Any, weights: Any, shift: int | None = None, lengths: Any = None) -> Any:
    """`y[b, n, c] = sum over k of weights[g, k] * x[b, n + k - shift, c]`, where g is the group of channel c: a depthwise
    convolution along the length. Rows outside the sequence count as zeros. x, y: `[batch, length, channels]`; weights:
    `[groups, taps]` with up to 64 taps; groups divides channels. `shift` is taps - 1 by default, which is causal;
    (taps - 1) // 2 is centered."""
    weights = as_array("weights", weights, "[groups, taps]")
    return _convolution(as_attributes(shift=weights.shape[1] - 1 if shift is None else shift), as_array("x", x), weights,
                        as_lengths("lengths", lengths))
