# SPDX-License-Identifier: Apache-2.0
"""linear_attention."""
import warnings
from typing import Any

import jax.numpy as jnp

from ._arguments import accumulator_dtype, as_array, as_lengths
from ._call import In, Out, Policies, as_attributes, call, operator


def _forward(save: bool, policies: Policies, q: Any, k: Any, v: Any, w: Any, *lengths: Any) -> Any:
    (y,) = call("linear_attention", [In(q), In(k), In(v), In(w, None), *map(In, lengths)],
                [Out((*q.shape[:3], v.shape[3]), q.dtype)], policies)
    return y, (q, k, v, w, *lengths)


def _backward(policies: Policies, saved: Any, needed: Any, dy: Any) -> Any:
    q, k, v, w, *lengths = saved
    gradients = call("linear_attention_backward", [In(dy), In(q), In(k), In(v), In(w, None), *map(In, lengths)],
                     [Out(q.shape, q.dtype), Out(k.shape, k.dtype), Out(v.shape, v.dtype),
                      Out(w.shape, w.dtype, None) if needed[3] else None], policies)
    return (*gradients, None, None)


_linear_attention = operator(_forward, _backward)


def _forward_with_state(save: bool, policies: Policies, q: Any, k: Any, v: Any, initial: Any, w: Any, lengths: Any) -> Any:
    results = call("linear_attention_with_state", [In(q), In(k), In(v), In(initial), In(w, None), In(lengths)],
                   [Out((*q.shape[:3], v.shape[3]), q.dtype), Out(initial.shape, initial.dtype)], policies)
    return tuple(results), (q, k, v, initial, w, lengths)


def _backward_with_state(policies: Policies, saved: Any, needed: Any, gradients: Any) -> Any:
    q, k, v, initial, w, lengths = saved
    dy, dlast = gradients
    results = call("linear_attention_with_state_backward",
                   [In(dy), In(dlast), In(q), In(k), In(v), In(initial), In(w, None), In(lengths)],
                   [*(Out(x.shape, x.dtype) for x in (q, k, v, initial)),
                    Out(w.shape, w.dtype, None) if needed[4] else None], policies)
    return (*results, None)


_linear_attention_with_state = operator(_forward_with_state, _backward_with_state)


def linear_attention_with_state(q: Any, k: Any, v: Any, w: Any = None, initial: Any = None, feature: str = "elu_plus_one",
                                divisor: str = "sum_plus", lengths: Any = None) -> tuple[Any, Any]:
    """Causal `linear_attention` of a piece of a sequence, and the state behind its last valid row, `[batch, v's heads,
    elements]` in float32 (float64 for float64): pass it as `initial` to continue the sequence with the bits of one call.
    One token costs O(features * values). Without `initial`, the sequence starts."""
    q, k = as_array("q", q, "[batch, heads, length, channels]"), as_array("k", k, "[batch, heads, length, channels]")
    v = as_array("v", v, "[batch, heads, length, values]")
    w = None if w is None else as_array("w", w, "[heads, features, channels]")
    if initial is None:
        # A state of zeros starts a sequence. state_extents of the operator describes its elements.
        name = feature.split("{")[0].strip()
        features = q.shape[3] if w is None else w.shape[1] * (2 if name == "random_fourier" else 1)
        elements = 3 + features * (v.shape[3] + 1) + 63 * (features + v.shape[3] + 1)
        initial = jnp.zeros((q.shape[0], v.shape[1], elements), accumulator_dtype(q.dtype))
    return _linear_attention_with_state(
        as_attributes(feature=feature, divisor=divisor), q, k, v, as_array("initial", initial, "[batch, heads, elements]"),
        w, as_lengths("lengths", lengths))


def linear_attention(q: Any, k: Any, v: Any, w: Any = None, feature: str = "elu_plus_one", divisor: str = "sum_plus",
                     direction: str = "noncausal", lengths: Any = None, query_lengths: Any = None) -> Any:
    """`phi(q_i)^T sum phi(k_j) v_j^T / D(phi(q_i)^T sum phi(k_j))` for every sample, head and query (Transformers are
    RNNs, eq. 4 to 7; with other features Performer, cosFormer and Random Feature Attention).

    q: `[batch, heads, queries, channels]`; k: `[batch, heads, keys, channels]`; v: `[batch, heads, keys, values]`; w,
    for random features only: `[k's heads or 1, r, channels]`. k and v may have a divisor of q's heads. `feature`:
    `elu_plus_one`, `relu{eps}`, `cosine_reweighted`, `random_exp{eps}`, `random_relu{eps, scale}` or
    `random_fourier{floor, scale}`. `divisor`: `sum_plus{eps}`, `at_least{eps}` or `none`. `direction`: `noncausal` or
    `causal`."""
    if direction == "both":
        warnings.warn('direction "both" is deprecated: use "noncausal"', DeprecationWarning, stacklevel=2)
        direction = "noncausal"
    return _linear_attention(
        as_attributes(feature=feature, divisor=divisor, direction=direction),
        as_array("q", q, "[batch, heads, queries, channels]"), as_array("k", k, "[batch, heads, keys, channels]"),
        as_array("v", v, "[batch, heads, keys, values]"),
        None if w is None else as_array("w", w, "[heads, features, channels]"),
        as_lengths("lengths", lengths), as_lengths("query_lengths", query_lengths))
