# SPDX-License-Identifier: Apache-2.0
"""softmax_attention, and merge_attention, which merges attention over several sets of keys."""
import torch

from .registration import (accumulator_dtype, cast_to_autocast_dtype, cast_to_widest_dtype, needs_gradient, register,
                           require_rank, require_text, split_in_half)


def output_like(q, v):
    """Allocates the output of attention, with the strides of q if v has as many channels."""
    for x, name in ((q, "q"), (v, "v")):
        require_rank(x, name, 4, "[batch, heads, length, channels]")
    return torch.empty_like(q) if q.size(3) == v.size(3) else q.new_empty((*q.shape[:3], v.size(3)))


def _fake(q, k, v, bias=None, mask="full", scale=None, lengths=None, query_lengths=None, dropout=0.0, seed=0, allowed=None,
          segments=None):
    return output_like(q, v), q.new_empty((*q.shape[:3], 2), dtype=accumulator_dtype(q))


def _save(ctx, inputs, output):
    q, k, v, bias, mask, scale, lengths, query_lengths, dropout, seed, allowed, segments = inputs
    ctx.set_materialize_grads(False)  # avoids computing with zeros if the state is unused
    ctx.save_for_backward(q, k, v, bias, *output, lengths, query_lengths, allowed, segments)
    ctx.mask, ctx.scale, ctx.dropout, ctx.seed = mask, scale, dropout, seed


def _backward(ctx, dy, dstate):
    """With the weights p of a query, `ds[j] = p[j] (<dy, v[j]> - <dy, y> + d)`, where d is the gradient of
    `log(sum of exp(s))`. An extra channel adds d to the product `<dy, y>`."""
    q, k, v, bias, y, state, lengths, query_lengths, allowed, segments = ctx.saved_tensors
    dy = torch.zeros_like(y) if dy is None else dy
    if dstate is not None:
        d = (state[..., 1:] * dstate[..., 1:]).to(y.dtype)
        v, dy = torch.nn.functional.pad(v, (0, 1)), torch.cat((dy, d), dim=3)
        y = torch.nn.functional.pad(y, (0, 1), value=-1.0)
    needs_dbias = needs_gradient(ctx, 3)
    dq, dk, dv, dbias = _softmax_attention_backward(dy, q, k, v, bias, y, state, ctx.mask, ctx.scale, lengths,
                                                    query_lengths, ctx.dropout, ctx.seed, needs_dbias, allowed, segments)
    if dstate is not None:
        dv = dv[..., :-1]
    return dq, dk, dv, dbias if needs_dbias else None, *(None,) * 8


def _fake_backward(dy, q, k, v, bias, y, state, mask, scale, lengths, query_lengths, dropout, seed, bias_gradient,
                   allowed=None, segments=None):
    dbias = torch.empty_like(bias) if bias is not None and bias_gradient else q.new_empty((0,))
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), dbias


# Mapped slices cannot be folded into the batch if it shares a bias or a table of booleans, or with dropout, which depends
# on the sample index.
_softmax_attention = register(
    "softmax_attention", fake=_fake, save=_save, backward=_backward, batched={0: 0, 1: 0, 2: 0, 6: 0, 7: 0},
    outputs=(0, 0), can_fold=lambda *inputs: inputs[3] is None and inputs[8] == 0 and inputs[10] is None)
_softmax_attention_backward = register(
    "softmax_attention_backward", fake=_fake_backward, batched={0: 0, 1: 0, 2: 0, 3: 0, 5: 0, 6: 0, 9: 0, 10: 0},
    outputs=(0, 0, 0, None), can_fold=lambda *inputs: inputs[4] is None and inputs[11] == 0 and inputs[14] is None)


def draw_seed():
    """Draws a seed from torch's generator, so that `torch.manual_seed` makes calls reproducible."""
    return int(torch.randint(2**63 - 1, ()))


def softmax_attention(q, k, v, bias=None, mask="full", scale=None, lengths=None, query_lengths=None, dropout=0.0,
                      seed=None, allowed=None, segments=None):
    """`softmax(scale * q k^T + bias + mask) v` for every sample and head (Attention Is All You Need, eq. 1). Never
    stores the map of weights.

    q: `[batch, heads, queries, channels]`; k: `[batch, heads, keys, channels]`; v: `[batch, heads, keys, values]`; y:
    `[batch, heads, queries, values]`. k and v may have a divisor of q's heads (GQA, MQA). bias:
    `[batch or 1, heads or 1, queries, keys]`, or relative, `[.., .., 1, queries + keys - 1]`. `mask`: `full`,
    `causal{offset}`, `window{left, right}`, `block_local{size}`, `strided{stride, near_by}`,
    `fixed{block, tail, first_column}`, `dilated_window{left, right, step}`, `global_window{left, right, globals}`,
    `globals{count}`, `chunk_back{size, circular}`, `bigbird{block, window, ends, random, seed}`, or a combination of up
    to four, such as `both{causal, either{window{8, 8}, globals{1}}}`. `allowed`: a boolean tensor
    `[batch or 1, heads or 1, queries or 1, keys]`; pairs that are False, or that the mask excludes, have weight 0.
    `segments`: offsets of samples packed into one sequence, `[0, .., queries]` (`cu_seqlens`); a query sees keys of its
    own segment. `scale` is `channels ** -0.5` if it is None. `seed` determines the weights that `dropout` keeps; None
    draws it from torch's generator. Autocast casts the tensors to its dtype. The output of a query without keys is 0.
    """
    return softmax_attention_with_state(q, k, v, bias, mask, scale, lengths, query_lengths, dropout, seed, allowed,
                                        segments)[0]


def softmax_attention_with_state(q, k, v, bias=None, mask="full", scale=None, lengths=None, query_lengths=None,
                                 dropout=0.0, seed=None, allowed=None, segments=None):
    """Returns `softmax_attention` and the state that `merge_attention` needs: `[batch, heads, queries, 2]`, the largest
    score m and the sum l of exponentials relative to it, float32 (float64 for float64). The state's gradient treats m as
    a constant, which is exact for `m + log(l)`, the logarithm of the sum of exponentials."""
    require_text("mask", mask, ": the name of a mask; pass booleans as `allowed`, numbers as a bias")
    q, k, v, bias = cast_to_autocast_dtype(q, k, v, bias)
    if seed is None:
        seed = draw_seed() if dropout > 0 else 0
    segments = segments if segments is None else segments.to(torch.int64)
    return _softmax_attention(q, k, v, bias, mask, scale, lengths, query_lengths, float(dropout), seed, allowed, segments)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """`softmax_attention` with the arguments of `torch.nn.functional.scaled_dot_product_attention`, which it replaces.

    query: `[.., heads, queries, channels]`, key and value likewise, with two axes or more. Axes in front of the last two
    broadcast, as in torch's products. attn_mask: booleans (True: the query sees the key) or numbers added to the scores,
    of a shape that broadcasts to `[.., heads, queries, keys]`. `is_causal` aligns query 0 with key 0. With `enable_gqa`,
    key and value may have a divisor of query's heads. A query without keys gets 0, as by torch's kernels; by torch's
    documented formula it would get NaN. Pairs that booleans exclude are not read: their NaN has no effect.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: attn_mask must be None with is_causal")
    query, key, value = broadcast_batches(query, key, value, 3 if enable_gqa else 2)
    q, k, v = (as_four_axes(x) for x in (query, key, value))
    bias = allowed = None
    if attn_mask is not None:
        table = attn_mask.expand(*attn_mask.shape[:-1], key.size(-2))
        if query.dim() > 4 and table.dim() > 3:
            table = table.expand(*query.shape[:-3], *table.shape[-3:])
        if attn_mask.dtype == torch.bool:
            allowed = as_four_axes(table)
        else:
            bias = as_four_axes(table).expand(-1, -1, query.size(-2), -1).to(query.dtype)
    y = softmax_attention(q, k, v, bias, "causal" if is_causal else "full", scale, dropout=dropout_p, allowed=allowed)
    return y.reshape(*query.shape[:-1], value.size(-1))


def broadcast_batches(query, key, value, trailing):
    """Expands the axes in front of the last `trailing` ones to a common shape."""
    tensors = query, key, value
    try:
        shape = torch.broadcast_shapes(*(x.shape[:-trailing] for x in tensors))
    except RuntimeError:
        shapes = ", ".join(str(list(x.shape)) for x in tensors)
        raise RuntimeError(f"scaled_dot_product_attention: query, key and value of {shapes} do not broadcast"
                           + (": grouped heads need enable_gqa=True" if trailing == 2 else "")) from None
    return [x.expand(*shape, *x.shape[-trailing:]) for x in tensors]


def as_four_axes(x):
    """Merges the leading axes of a tensor, or adds axes in front, until it has four."""
    return x.flatten(0, -4) if x.dim() > 4 else x[(None,) * (4 - x.dim())]


def _fake_merge(*parts):
    ys, states = split_in_half(parts)
    require_rank(ys[0], "ys", 4, "[batch, heads, queries, values]")
    return torch.empty_like(ys[0]), states[0].new_empty((*ys[0].shape[:3], 2))


def _save_merge(ctx, inputs, output):
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*inputs, *output)


def _backward_merge(ctx, dy, dstate):
    """Differentiates `m = max m_p`, `l = sum l_p exp(m_p - m)` and `y = sum y_p l_p exp(m_p - m) / l`."""
    *parts, y, state = ctx.saved_tensors
    (m, l), y = state.unbind(3), y.to(state.dtype)
    dy = torch.zeros_like(y) if dy is None else dy.to(state.dtype)
    dm, dl = torch.zeros_like(state).unbind(3) if dstate is None else dstate.unbind(3)
    dys, dstates, has_max = [], [], torch.zeros_like(m, dtype=torch.bool)
    for part_y, part_state in zip(*split_in_half(parts)):
        m_p, l_p = part_state.unbind(3)
        has_keys = (l_p > 0) & (m_p > -torch.inf)
        scale = torch.where(has_keys, torch.exp(torch.where(has_keys, m_p - m, 0)), 0)
        share = scale / torch.where(has_keys, l, 1)
        weight = l_p * share
        # Ignores a part of weight 0, which may hold NaN.
        difference = torch.where((weight > 0)[..., None], part_y.to(state.dtype) - y, 0)
        dl_p = share * (dy * difference).sum(3) + scale * dl
        is_max = has_keys & (m_p == m) & ~has_max
        has_max = has_max | is_max
        dys.append((weight[..., None] * dy).to(part_y.dtype))
        dstates.append(torch.stack((l_p * dl_p + torch.where(is_max, dm - l * dl, 0), dl_p), dim=3))
    return *dys, *dstates


_merge_attention = register(
    "merge_attention", fake=_fake_merge, save=_save_merge, backward=_backward_merge, outputs=(0, 0), halves=True,
    batched=dict.fromkeys(range(32), 0))  # 16 parts


def merge_attention(ys, states):
    """Merges the outputs and states of attention of the same queries over several sets of keys into attention over all
    of them (FlashAttention's online softmax, between calls): `(y, state)`.

    The gradients are those of attention over all keys. If the keys are on several machines, each computes its gradients
    with `torch.ops.slicesort.softmax_attention_backward` of its keys and the merged y and state. Autocast casts ys to
    the widest of their dtypes.
    """
    if len(ys) == 0:
        raise RuntimeError("merge_attention: there must be at least one part")
    if len(ys) != len(states):
        raise RuntimeError("merge_attention: there must be as many states as ys, there are "
                           f"{len(states)} and {len(ys)}")
    return _merge_attention(*cast_to_widest_dtype(*ys), *states)
