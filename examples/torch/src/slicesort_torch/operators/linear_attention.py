# SPDX-License-Identifier: Apache-2.0
"""linear_attention: attention with feature maps, linear in the length."""
import warnings

import torch

from .registration import accumulator_dtype, cast_to_autocast_dtype, needs_gradient, register, require_rank, require_text
from .softmax_attention import output_like


def _fake(q, k, v, w=None, feature="elu_plus_one", divisor="sum_plus", direction="noncausal", lengths=None,
          query_lengths=None):
    return output_like(q, v)


def _save(ctx, inputs, output):
    ctx.policies = inputs[4:7]
    ctx.save_for_backward(*inputs[:4], *inputs[7:9])


def _backward(ctx, dy):
    *tensors, lengths, query_lengths = ctx.saved_tensors
    needs_dw = needs_gradient(ctx, 3)
    *gradients, dw = _linear_attention_backward(dy, *tensors, *ctx.policies, lengths, query_lengths, needs_dw)
    return *gradients, dw if needs_dw else None, None, None, None, None, None


def _fake_backward(dy, q, k, v, w, feature, divisor, direction, lengths, query_lengths, w_gradient):
    dw = torch.empty_like(w) if w is not None and w_gradient else q.new_empty((0,))
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), dw


_linear_attention = register(
    "linear_attention", fake=_fake, save=_save, backward=_backward, batched={0: 0, 1: 0, 2: 0, 7: 0, 8: 0})
# dw is a sum over the batch, so mapped slices cannot be folded into it.
_linear_attention_backward = register(
    "linear_attention_backward", fake=_fake_backward, batched={0: 0, 1: 0, 2: 0, 3: 0, 8: 0, 9: 0},
    outputs=(0, 0, 0, None), can_fold=lambda *inputs: not inputs[10])


def _fake_with_state(q, k, v, initial, w, feature, divisor, lengths=None):
    require_rank(initial, "initial", 3, "[batch, heads, elements]")
    return output_like(q, v), torch.empty_like(initial)


def _save_with_state(ctx, inputs, output):
    ctx.policies = inputs[5:7]
    ctx.save_for_backward(*inputs[:5], inputs[7])


def _backward_with_state(ctx, dy, dlast):
    *tensors, lengths = ctx.saved_tensors
    needs_dw = needs_gradient(ctx, 4)
    *gradients, dw = _with_state_backward(dy, dlast, *tensors, *ctx.policies, lengths, needs_dw)
    return *gradients, dw if needs_dw else None, None, None, None


def _fake_with_state_backward(dy, dlast, q, k, v, initial, w, feature, divisor, lengths, w_gradient):
    dw = torch.empty_like(w) if w is not None and w_gradient else q.new_empty((0,))
    return *(torch.empty_like(t) for t in (q, k, v, initial)), dw


_with_state = register("linear_attention_with_state", fake=_fake_with_state, save=_save_with_state,
                       backward=_backward_with_state, batched={0: 0, 1: 0, 2: 0, 3: 0, 7: 0}, outputs=(0, 0))
_with_state_backward = register(
    "linear_attention_with_state_backward", fake=_fake_with_state_backward,
    batched={0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 9: 0}, outputs=(0, 0, 0, 0, None), can_fold=lambda *inputs: not inputs[10])


def linear_attention_with_state(q, k, v, w=None, initial=None, feature="elu_plus_one", divisor="sum_plus", lengths=None):
    """Causal `linear_attention` of a piece of a sequence, and the state behind its last valid row, `[batch, v's heads,
    elements]` in float32 (float64 for float64): pass it as `initial` to continue the sequence with the bits of one call.
    One token costs O(features * values). Without `initial`, the sequence starts."""
    for name, policy in (("feature", feature), ("divisor", divisor)):
        require_text(name, policy)
    q, k, v, w = cast_to_autocast_dtype(q, k, v, w)
    if initial is None:
        # A state of zeros starts a sequence. state_extents of the operator describes its elements.
        name = feature.split("{")[0].strip()
        features = q.size(-1) if w is None else w.size(-2) * (2 if name == "random_fourier" else 1)
        elements = 3 + features * (v.size(-1) + 1) + 63 * (features + v.size(-1) + 1)
        initial = q.new_zeros(q.size(0), v.size(1), elements, dtype=accumulator_dtype(q))
    return _with_state(q, k, v, initial, w, feature, divisor, lengths)


def linear_attention(q, k, v, w=None, feature="elu_plus_one", divisor="sum_plus", direction="noncausal", lengths=None,
                     query_lengths=None):
    """`phi(q_i)^T sum phi(k_j) v_j^T / D(phi(q_i)^T sum phi(k_j))` for every sample, head and query (Transformers are
    RNNs, eq. 4 to 7; with other features Performer, cosFormer and Random Feature Attention).

    q: `[batch, heads, queries, channels]`; k: `[batch, heads, keys, channels]`; v: `[batch, heads, keys, values]`; w,
    for random features only: `[k's heads or 1, r, channels]`. k and v may have a divisor of q's heads. `feature`:
    `elu_plus_one`, `relu{eps}`, `cosine_reweighted`, `random_exp{eps}`, `random_relu{eps, scale}` or
    `random_fourier{floor, scale}`. `divisor`: `sum_plus{eps}`, `at_least{eps}` or `none`. `direction`: `noncausal` or
    `causal`. Autocast casts the tensors to its dtype.
    """
    if direction == "both":
        warnings.warn('direction "both" is deprecated: use "noncausal"', DeprecationWarning, stacklevel=2)
        direction = "noncausal"
    for name, policy in (("feature", feature), ("divisor", divisor), ("direction", direction)):
        require_text(name, policy)
    q, k, v, w = cast_to_autocast_dtype(q, k, v, w)
    return _linear_attention(q, k, v, w, feature, divisor, direction, lengths, query_lengths)
