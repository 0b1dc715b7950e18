# SPDX-License-Identifier: Apache-2.0
"""soft_sort and soft_rank."""
from typing import Any

from ._arguments import as_array, as_lengths, index_dtype
from ._call import In, Out, as_attributes, call, operator


def _forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    saved = Out(x.shape, index_dtype(x.shape[1]))
    y, perm, pools = call("soft_sort", [In(x), In(lengths)], [Out(x.shape, x.dtype), saved, saved], policies)
    return y, (x, perm, pools, lengths)


def _backward(policies: Any, saved: Any, needed: Any, dy: Any) -> Any:
    x, *state, lengths = saved
    return *call("soft_sort_backward", [In(dy), In(x), *map(In, state), In(lengths)], [Out(x.shape, x.dtype)], policies), None


_soft_sort = operator(_forward, _backward)


def soft_sort(x: Any, regularization: str = "l2", strength: float = 1.0, lengths: Any = None) -> Any:
    """Soft sort of every channel of x, `[batch, length, channels]`, ascending: the projection of `(1, 2, .., n) / strength`
    onto the permutahedron of the channel (Blondel et al., 2020). `regularization`: `l2` or `kl` (also `entropic`).
    Strength 0 sorts. Once differentiable."""
    return _soft_sort(as_attributes(ranks=0, regularization=regularization, strength=float(strength)), as_array("x", x),
                      as_lengths("lengths", lengths))


def soft_rank(x: Any, regularization: str = "l2", strength: float = 1.0, lengths: Any = None) -> Any:
    """Soft ranks of every channel of x, 1 for the smallest value, with the arguments of `soft_sort`; the strength is
    positive."""
    return _soft_sort(as_attributes(ranks=1, regularization=regularization, strength=float(strength)), as_array("x", x),
                      as_lengths("lengths", lengths))
