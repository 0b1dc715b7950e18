# SPDX-License-Identifier: Apache-2.0
"""softmax_attention, and merge_attention, which merges its results."""
from typing import Any, Sequence

import jax

from ._arguments import accumulator_dtype, as_array, as_lengths, as_seed
from ._call import In, Out, Policies, as_attributes, call, operator

_QUERIES, _KEYS = "[batch, heads, queries, channels]", "[batch, heads, keys, channels]"
_VALUES, _OUTPUT, _STATE = ("[batch, heads, keys, values]", "[batch, heads, queries, values]",
                            "[batch, heads, queries, 2]")
_BIAS = "[batch, heads, queries, keys]"  # or [batch, heads, 1, queries + keys - 1]
_ALLOWED, _SEGMENTS = "[batch or 1, heads or 1, queries or 1, keys]", "[segments + 1]"


def pair_axis(q: Any, pairs: Any) -> int | None:
    """Returns the batch axis of a bias or of booleans; None if all samples share them (batch 1)."""
    return 0 if pairs is None or pairs.shape[0] == q.shape[0] else None


def _can_fold(policies: Policies) -> bool:
    """Returns False with dropout: it depends on the sample index, which folding into the batch would change."""
    return dict(policies)["dropout"] == 0


def _forward(save: bool, policies: Policies, q: Any, k: Any, v: Any, bias: Any, *rest: Any) -> Any:
    lengths, query_lengths, seed, allowed, segments = rest
    y, state = call("softmax_attention",
                    [In(q), In(k), In(v), In(bias, pair_axis(q, bias)), In(lengths), In(query_lengths),
                     In(seed, None), In(allowed, pair_axis(q, allowed)), In(segments, None)],
                    [Out((*q.shape[:3], v.shape[3]), q.dtype),
                     Out((*q.shape[:3], 2), accumulator_dtype(q.dtype)) if save else None], policies,
                    _can_fold(policies))
    return y, (q, k, v, bias, y, state, *rest)


def _gradients(policies: Policies, dy: Any, saved: Any, needs_bias: bool) -> list[Any]:
    q, k, v, bias, y, state, lengths, query_lengths, seed, allowed, segments = saved
    axis = pair_axis(q, bias)
    return call("softmax_attention_backward",
                [In(dy), In(q), In(k), In(v), In(bias, axis), In(y), In(state), In(lengths), In(query_lengths),
                 In(seed, None), In(allowed, pair_axis(q, allowed)), In(segments, None)],
                [Out(q.shape, q.dtype), Out(k.shape, k.dtype), Out(v.shape, v.dtype),
                 Out(bias.shape, bias.dtype, axis) if needs_bias else None], policies, _can_fold(policies))


def _backward(policies: Policies, saved: Any, needed: Any, dy: Any) -> Any:
    return (*_gradients(policies, dy, saved, needed[3]), *(None,) * 5)


def _forward_with_state(save: bool, policies: Policies, *arrays: Any) -> Any:
    y, saved = _forward(True, policies, *arrays)
    return (y, saved[5]), saved


_attention = operator(_forward, _backward)
_attention_with_state = operator(_forward_with_state,
                                 lambda policies, saved, needed, d: _backward(policies, saved, needed, d[0]))


def _policies(mask: str, scale: float | None, dropout: float) -> Policies:
    optional = {} if scale is None else {"scale": float(scale)}  # default: 1 / sqrt(channels)
    return as_attributes(mask=mask, dropout=float(dropout), **optional)


def as_inputs(q: Any, k: Any, v: Any, bias: Any) -> tuple[Any, ...]:
    return (as_array("q", q, _QUERIES), as_array("k", k, _KEYS), as_array("v", v, _VALUES),
            None if bias is None else as_array("bias", bias, _BIAS))


def as_booleans(allowed: Any) -> Any:
    return None if allowed is None else as_array("allowed", allowed, _ALLOWED)


def as_segments(segments: Any) -> Any:
    return as_lengths("segments", segments, _SEGMENTS)


def _options(lengths: Any, query_lengths: Any, dropout: float, seed: Any, allowed: Any,
             segments: Any) -> tuple[Any, ...]:
    if seed is None:
        if dropout > 0:
            raise ValueError("seed is None, must be given beside dropout, another one for every step")
        seed = 0
    return (as_lengths("lengths", lengths), as_lengths("query_lengths", query_lengths), as_seed(seed),
            as_booleans(allowed), as_segments(segments))


def softmax_attention(q: Any, k: Any, v: Any, bias: Any = None, mask: str = "full", scale: float | None = None,
                      lengths: Any = None, query_lengths: Any = None, dropout: float = 0.0, seed: Any = None,
                      allowed: Any = None, segments: Any = None) -> Any:
    """`softmax(scale * q k^T + bias + mask) v` for every sample and head (Attention Is All You Need, eq. 1). Never
    stores the map of weights.

    q: `[batch, heads, queries, channels]`; k: `[batch, heads, keys, channels]`; v: `[batch, heads, keys, values]`; y:
    `[batch, heads, queries, values]`. k and v may have a divisor of q's heads (GQA, MQA). bias:
    `[batch or 1, heads or 1, queries, keys]`, or relative, `[.., .., 1, queries + keys - 1]`. `mask`: `full`,
    `causal{offset}`, `window{left, right}`, `block_local{size}`, `strided{stride, near_by}`,
    `fixed{block, tail, first_column}`, `dilated_window{left, right, step}`, `global_window{left, right, globals}`,
    `globals{count}`, `chunk_back{size, circular}`, `bigbird{block, window, ends, random, seed}`, or a combination of up
    to four, such as `both{causal, either{window{8, 8}, globals{1}}}`. `allowed`: booleans
    `[batch or 1, heads or 1, queries or 1, keys]`; pairs that are False, or that the mask excludes, have weight 0.
    `segments`: offsets of samples packed into one sequence, `[0, .., queries]`; a query sees keys of its own segment.
    `scale` is `channels ** -0.5` if it is None. `dropout` requires a `seed`, which determines the weights that it
    keeps."""
    return _attention(_policies(mask, scale, dropout), *as_inputs(q, k, v, bias),
                      *_options(lengths, query_lengths, dropout, seed, allowed, segments))


def softmax_attention_with_state(q: Any, k: Any, v: Any, bias: Any = None, mask: str = "full",
                                 scale: float | None = None, lengths: Any = None, query_lengths: Any = None,
                                 dropout: float = 0.0, seed: Any = None, allowed: Any = None,
                                 segments: Any = None) -> tuple[Any, Any]:
    """Returns `softmax_attention` and the state that `merge_attention` needs, two values per query. No gradient flows
    through the state."""
    y, state = _attention_with_state(_policies(mask, scale, dropout), *as_inputs(q, k, v, bias),
                                     *_options(lengths, query_lengths, dropout, seed, allowed, segments))
    return y, jax.lax.stop_gradient(state)


def softmax_attention_backward(dy: Any, q: Any, k: Any, v: Any, y: Any, state: Any, bias: Any = None,
                               mask: str = "full", scale: float | None = None, lengths: Any = None,
                               query_lengths: Any = None, dropout: float = 0.0, seed: Any = None,
                               allowed: Any = None, segments: Any = None) -> tuple[Any, Any, Any, Any]:
    """Returns `(dq, dk, dv, dbias)`; dbias is None without a bias. With the merged y and state of `merge_attention` and
    the keys and values of one part, these are the gradients of attention over all parts; sum dq over the parts."""
    saved = (*as_inputs(q, k, v, bias), as_array("y", y, _OUTPUT), as_array("state", state, _STATE),
             *_options(lengths, query_lengths, dropout, seed, allowed, segments))
    return tuple(_gradients(_policies(mask, scale, dropout), as_array("dy", dy, _OUTPUT), saved, bias is not None))


def _merge_forward(save: bool, policies: Policies, *parts: Any) -> Any:
    y, state = parts[0], parts[len(parts) // 2]
    return tuple(call("merge_attention", [In(a) for a in parts],
                      [Out(y.shape, y.dtype), Out(state.shape, state.dtype)])), None


def _merge_backward(policies: Policies, saved: Any, needed: Any, dy: Any) -> Any:
    raise NotImplementedError("merge_attention has no gradient of its own: call softmax_attention_backward for every "
                              "part, with the merged y and state")


_merge = operator(_merge_forward, _merge_backward)


def merge_attention(ys: Sequence[Any], states: Sequence[Any]) -> tuple[Any, Any]:
    """Merges attention of the same queries over several sets of keys into attention over all keys: `(y, state)`."""
    if len(ys) != len(states) or not ys:
        raise ValueError("merge_attention: there must be as many states as ys, and at least one")
    return _merge((), *(as_array("y", y, _OUTPUT) for y in ys), *(as_array("state", s, _STATE) for s in states))
