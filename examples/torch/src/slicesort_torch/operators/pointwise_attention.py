# SPDX-License-Identifier: Apache-2.0
"""pointwise_attention: attention whose weights are a function of each score."""
import torch

from .registration import cast_to_autocast_dtype, needs_gradient, register, require_text
from .softmax_attention import output_like


def _fake(q, k, v, bias=None, mask="full", function="laplace", scale=None, per_key=False, lengths=None, query_lengths=None,
          allowed=None, segments=None):
    return output_like(q, v)


def _save(ctx, inputs, output):
    q, k, v, bias, *ctx.policies, lengths, query_lengths, allowed, segments = inputs
    ctx.save_for_backward(q, k, v, bias, lengths, query_lengths, allowed, segments)


def _backward(ctx, dy):
    q, k, v, bias, lengths, query_lengths, allowed, segments = ctx.saved_tensors
    needs_dbias = needs_gradient(ctx, 3)
    dq, dk, dv, dbias = _pointwise_attention_backward(dy, q, k, v, bias, *ctx.policies, lengths, query_lengths, needs_dbias,
                                                      allowed, segments)
    return dq, dk, dv, dbias if needs_dbias else None, *(None,) * 8


def _fake_backward(dy, q, k, v, bias, mask, function, scale, per_key, lengths, query_lengths, bias_gradient, allowed=None,
                   segments=None):
    dbias = torch.empty_like(bias) if bias is not None and bias_gradient else q.new_empty((0,))
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), dbias


# Mapped slices cannot be folded into the batch if it shares a bias or a table of booleans.
_pointwise_attention = register(
    "pointwise_attention", fake=_fake, save=_save, backward=_backward, batched={0: 0, 1: 0, 2: 0, 8: 0, 9: 0},
    can_fold=lambda *inputs: inputs[3] is None and inputs[10] is None)
_pointwise_attention_backward = register(
    "pointwise_attention_backward", fake=_fake_backward, batched={0: 0, 1: 0, 2: 0, 3: 0, 9: 0, 10: 0},
    outputs=(0, 0, 0, None), can_fold=lambda *inputs: inputs[4] is None and inputs[12] is None)


def pointwise_attention(q, k, v, bias=None, mask="full", function="laplace", scale=None, lengths=None, query_lengths=None,
                        allowed=None, segments=None):
    """`f(scale * q k^T + bias) v` for every sample and head, where f is a function of each score in place of the softmax
    (MEGA, eq. 15 and 16). Never stores the map of weights, which are not normalized.

    Tensors, `mask`, `allowed` and `segments` as in `softmax_attention`; pairs that they exclude, and scores of -infinity,
    have weight 0. `function`: `laplace{mean, deviation}`, `(1 + erf((s - mean) / (deviation sqrt(2)))) / 2`, by default
    with 0.707107 and 0.282095, or `squared_relu`, `max(s, 0)^2`. `scale`: a number, `channels ** -0.5` if it is None, or
    `"per_key"`, 1 / the valid keys of the sample. Autocast casts the tensors to its dtype.
    """
    require_text("mask", mask, ": the name of a mask; pass booleans as `allowed`, numbers as a bias")
    require_text("function", function)
    scale, per_key = scale_of(scale)
    q, k, v, bias = cast_to_autocast_dtype(q, k, v, bias)
    segments = segments if segments is None else segments.to(torch.int64)
    return _pointwise_attention(q, k, v, bias, mask, function, scale, per_key, lengths, query_lengths, allowed, segments)


def scale_of(scale):
    """Returns the number, or None, and True if it is 1 / the number of keys."""
    if not isinstance(scale, str):
        return scale, False
    if scale != "per_key":
        raise ValueError(f'scale is "{scale}", must be a number, None or "per_key"')
    return None, True
