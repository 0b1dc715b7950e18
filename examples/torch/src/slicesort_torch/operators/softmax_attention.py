# SPDX-License-Identifier: Apache-2.0
"""softmax_attention, and merge_attention, which merges attention over several sets of keys."""
import torch

from ..library import ops
from .registration import accumulator_dtype, lower_precision, needs_gradient, register, require_rank


def output_like(q, v):
    """The output of attention: as q lies, where values have as many channels as q."""
    for x, name in ((q, "q"), (v, "v")):
        require_rank(x, name, 4, "[batch, heads, length, channels]")
    return torch.empty_like(q) if q.size(3) == v.size(3) else q.new_empty((*q.shape[:3], v.size(3)))


def _fake(q, k, v, bias=None, mask="full", scale=None, lengths=None, query_lengths=None, dropout=0.0, seed=0):
    return output_like(q, v), q.new_empty((*q.shape[:3], 2), dtype=accumulator_dtype(q))


def _save(ctx, inputs, output):
    q, k, v, bias, mask, scale, lengths, query_lengths, dropout, seed = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, bias, *output, lengths, query_lengths)
    ctx.mask, ctx.scale, ctx.dropout, ctx.seed = mask, scale, dropout, seed


def _backward(ctx, dy, _):
    *tensors, lengths, query_lengths = ctx.saved_tensors
    with_bias = needs_gradient(ctx, 3)
    *gradients, dbias = _softmax_attention_backward(dy, *tensors, ctx.mask, ctx.scale, lengths, query_lengths,
                                                       ctx.dropout, ctx.seed, with_bias)
    return *gradients, dbias if with_bias else None, None, None, None, None, None, None


def _fake_backward(dy, q, k, v, bias, y, state, mask, scale, lengths, query_lengths, dropout, seed, bias_gradient):
    dbias = torch.empty_like(bias) if bias is not None and bias_gradient else q.new_empty((0,))
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), dbias


# A bias may be shared by the batch, and dropout follows from a sample's number: then mapped slices are no larger batch.
_softmax_attention = register(
    "softmax_attention", fake=_fake, save=_save, backward=_backward, batched={0: 0, 1: 0, 2: 0, 6: 0, 7: 0},
    outputs=(0, 0), folds=lambda *inputs: inputs[3] is None and inputs[8] == 0)
_softmax_attention_backward = register(
    "softmax_attention_backward", fake=_fake_backward, batched={0: 0, 1: 0, 2: 0, 3: 0, 5: 0, 6: 0, 9: 0, 10: 0},
    outputs=(0, 0, 0, None), folds=lambda *inputs: inputs[4] is None and inputs[11] == 0)


def softmax_attention(q, k, v, bias=None, mask="full", scale=None, lengths=None, query_lengths=None, dropout=0.0,
                      seed=0):
    """`softmax(scale * q k^T + bias + mask) v` for every sample and head (Attention Is All You Need, eq. 1), without
    the map of weights in memory.

    q: `[batch, heads, queries, channels]`; k: `[batch, heads, keys, channels]`; v: `[batch, heads, keys, values]`; y:
    `[batch, heads, queries, values]`. bias: `[batch or 1, heads or 1, queries, keys]`, or relative,
    `[.., .., 1, queries + keys - 1]`. `mask`: `full`, `causal{offset}`, `window{left, right}`, `block_local{size}`,
    `strided{stride, near_by}`, `fixed{block, tail, first_column}`, `dilated_window{left, right, step}`,
    `global_window{left, right, globals}`, `chunk_back{size, circular}` or `bigbird{block, window, ends, random, seed}`;
    others are a bias of -inf. `scale` is `channels ** -0.5` if it is None. Which weights `dropout` keeps follows from
    `seed`: take another for every step. Under autocast the tensors are cast to its dtype.
    A query without any key has zeros.
    """
    return softmax_attention_with_state(q, k, v, bias, mask, scale, lengths, query_lengths, dropout, seed)[0]


def softmax_attention_with_state(q, k, v, bias=None, mask="full", scale=None, lengths=None, query_lengths=None,
                                 dropout=0.0, seed=0):
    """`softmax_attention`, and the state that `merge_attention` needs: `[batch, heads, queries, 2]`, the greatest score
    and the sum of exponentials, float32 (float64 for float64), without a gradient."""
    q, k, v, bias = lower_precision(q, k, v, bias)
    return _softmax_attention(q, k, v, bias, mask, scale, lengths, query_lengths, float(dropout), seed)


def _fake_merge(ys, states):
    require_rank(ys[0], "ys", 4, "[batch, heads, queries, values]")
    return torch.empty_like(ys[0]), states[0].new_empty((*ys[0].shape[:3], 2))


torch.library.register_fake("slicesort::merge_attention", _fake_merge)


def merge_attention(ys, states):
    """Attention of the same queries over several sets of keys, from its outputs and states, becomes that over all of
    them (FlashAttention's online softmax, between calls): `(y, state)`.

    For keys on several machines. It has no gradient of its own, and needs none: `ops.softmax_attention_backward` of
    every part, with the merged y and state, forms those of the whole.
    """
    if len(ys) == 0:
        raise RuntimeError("merge_attention: there must be at least one part")
    return ops.merge_attention(list(ys), list(states))
