# SPDX-License-Identifier: Apache-2.0
"""pointwise_attention."""
from typing import Any

from ._arguments import as_lengths
from ._call import In, Out, Policies, as_attributes, call, operator
from .softmax import as_booleans, as_inputs, as_segments, pair_axis


def _forward(save: bool, policies: Policies, *arrays: Any) -> Any:
    q, k, v, bias, lengths, query_lengths, allowed, segments = arrays
    y, = call("pointwise_attention",
              [In(q), In(k), In(v), In(bias, pair_axis(q, bias)), In(lengths), In(query_lengths),
               In(allowed, pair_axis(q, allowed)), In(segments, None)],
              [Out((*q.shape[:3], v.shape[3]), q.dtype)], policies)
    return y, arrays


def _backward(policies: Policies, saved: Any, needed: Any, dy: Any) -> Any:
    q, k, v, bias, lengths, query_lengths, allowed, segments = saved
    axis = pair_axis(q, bias)
    gradients = call("pointwise_attention_backward",
                     [In(dy), In(q), In(k), In(v), In(bias, axis), In(lengths), In(query_lengths),
                      In(allowed, pair_axis(q, allowed)), In(segments, None)],
                     [Out(q.shape, q.dtype), Out(k.shape, k.dtype), Out(v.shape, v.dtype),
                      Out(bias.shape, bias.dtype, axis) if needed[3] else None], policies)
    return (*gradients, *(None,) * 4)


_attention = operator(_forward, _backward)


def pointwise_attention(q: Any, k: Any, v: Any, bias: Any = None, mask: str = "full", function: str = "laplace",
                        scale: float | str | None = None, lengths: Any = None, query_lengths: Any = None,
                        allowed: Any = None, segments: Any = None) -> Any:
    """`f(scale * q k^T + bias) v` for every sample and head, where f is a function of each score in place of the softmax
    (MEGA, eq. 15 and 16). Never stores the map of weights, which are not normalized.

    Arrays, `mask`, `allowed` and `segments` as in `softmax_attention`; pairs that they exclude, and scores of -infinity,
    have weight 0. `function`: `laplace{mean, deviation}`, `(1 + erf((s - mean) / (deviation sqrt(2)))) / 2`, by default
    with 0.707107 and 0.282095, or `squared_relu`, `max(s, 0)^2`. `scale`: a number, `channels ** -0.5` if it is None, or
    `"per_key"`, 1 / the valid keys of the sample."""
    if isinstance(scale, str) and scale != "per_key":
        raise ValueError(f'scale is "{scale}", must be a number, None or "per_key"')
    optional = {} if scale is None or isinstance(scale, str) else {"scale": float(scale)}
    policies = as_attributes(mask=mask, function=function, per_key=int(scale == "per_key"), **optional)
    return _attention(policies, *as_inputs(q, k, v, bias), as_lengths("lengths", lengths),
                      as_lengths("query_lengths", query_lengths), as_booleans(allowed), as_segments(segments))
