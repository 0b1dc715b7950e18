# SPDX-License-Identifier: Apache-2.0
"""max_exchange and shuffle."""
from typing import Any

from ._arguments import as_array, as_lengths, as_seed, index_dtype
from ._call import In, Out, as_attributes, call, operator


def _exchange_forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    batch, length, channels = x.shape
    y, maximum = call("max_exchange", [In(x), In(lengths)],
                      [Out(x.shape, x.dtype), Out((batch, 1, channels), index_dtype(length)) if save else None],
                      policies)
    return y, (maximum, lengths)


def _exchange_backward(policies: Any, saved: Any, needed: Any, dy: Any) -> Any:
    maximum, lengths = saved
    (dx,) = call("max_exchange_backward", [In(dy), In(maximum), In(lengths)], [Out(dy.shape, dy.dtype)], policies)
    return dx, None


_exchange = operator(_exchange_forward, _exchange_backward)


def max_exchange(x: Any, row: int = 0, lengths: Any = None) -> Any:
    """Exchanges the first maximum of every channel of x, `[batch, length, channels]`, with row `row` (Sliceformer's
    max-exchange; row 0 for a class token)."""
    return _exchange(as_attributes(row=row), as_array("x", x), as_lengths("lengths", lengths))


# _shuffle and _unshuffle are each other's gradient, so that both have derivatives of any order.


def _shuffle_forward(save: bool, policies: Any, x: Any, seed: Any, lengths: Any) -> Any:
    if save:
        return _shuffle(policies, x, seed, lengths), (seed, lengths)
    return *call("shuffle", [In(x), In(seed, None), In(lengths)], [Out(x.shape, x.dtype)], policies), None


def _unshuffle_forward(save: bool, policies: Any, dy: Any, seed: Any, lengths: Any) -> Any:
    if save:
        return _unshuffle(policies, dy, seed, lengths), (seed, lengths)
    return *call("shuffle_backward", [In(dy), In(seed, None), In(lengths)], [Out(dy.shape, dy.dtype)], policies), None


_shuffle = operator(_shuffle_forward,
                    lambda policies, saved, needed, dy: (_unshuffle(policies, dy, *saved), None, None))
_unshuffle = operator(_unshuffle_forward,
                      lambda policies, saved, needed, d: (_shuffle(policies, d, *saved), None, None))


def shuffle(x: Any, seed: Any = 0, form: str = "shared_by_channels", lengths: Any = None) -> Any:
    """Permutes the rows of x, `[batch, length, channels]`, in an order that depends on the seed alone: one for all
    channels, or `per_channel` (Sliceformer's ablation). `seed`: an integer, or `jax.random.key_data(key)`."""
    return _shuffle(as_attributes(form=form), as_array("x", x), as_seed(seed), as_lengths("lengths", lengths))
