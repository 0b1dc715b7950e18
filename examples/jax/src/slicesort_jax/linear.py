# SPDX-License-Identifier: Apache-2.0
"""linear_attention."""
import warnings
from typing import Any

from ._arguments import as_array, as_lengths
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


def linear_attention(q: Any, k: Any, v: Any, w: Any = None, feature: str = "elu_plus_one", divisor: str = "sum_plus",
                     direction: str = "noncausal", lengths: Any = None, query_lengths: Any = None) -> Any:
    """`phi(q_i)^T sum phi(k_j) v_j^T / D(phi(q_i)^T sum phi(k_j))` for every sample, head and query (Transformers are
    RNNs, eq. 4 to 7; with other features Performer, cosFormer and Random Feature Attention).

    q: `[batch, heads, queries, channels]`; k: `[batch, heads, keys, channels]`; v: `[batch, heads, keys, values]`; w,
    for random features only: `[heads or 1, r, channels]`. `feature`: `elu_plus_one`, `relu{eps}`, `cosine_reweighted`,
    `random_exp{eps}`, `random_relu{eps, scale}` or `random_fourier{floor, scale}`. `divisor`: `sum_plus{eps}`,
    `at_least{eps}` or `none`. `direction`: `noncausal` or `causal`."""
    if direction == "both":
        warnings.warn('direction "both" is deprecated: use "noncausal"', DeprecationWarning, stacklevel=2)
        direction = "noncausal"
    return _linear_attention(
        as_attributes(feature=feature, divisor=divisor, direction=direction),
        as_array("q", q, "[batch, heads, queries, channels]"), as_array("k", k, "[batch, heads, keys, channels]"),
        as_array("v", v, "[batch, heads, keys, values]"),
        None if w is None else as_array("w", w, "[heads, features, channels]"),
        as_lengths("lengths", lengths), as_lengths("query_lengths", query_lengths))
