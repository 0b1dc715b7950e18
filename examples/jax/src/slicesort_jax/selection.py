# SPDX-License-Identifier: Apache-2.0
"""top_k and argsort."""
from typing import Any

import jax
import jax.numpy as jnp

from ._arguments import as_array, as_lengths, index_dtype
from ._call import In, Out, as_attributes, call, operator


def _scatter_forward(save: bool, policies: Any, dy: Any, indices: Any) -> Any:
    if save:
        return _scatter(policies, dy, indices), indices
    batch, _, channels = dy.shape
    return *call("top_k_backward", [In(dy), In(indices)], [Out((batch, int(dict(policies)["length"]), channels), dy.dtype)],
                 ()), None


def _gather(dx: Any, indices: Any) -> Any:
    return jnp.take_along_axis(dx, indices.astype(jnp.int32), axis=1)


_scatter = operator(_scatter_forward, lambda policies, saved, needed, d: (_gather(d, saved), None))


def _top_k_forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    if save:
        values, indices = _top_k(policies, x, lengths)
    else:
        batch, length, channels = x.shape
        selected = batch, max(int(dict(policies)["k"]), 0), channels
        values, indices = call("top_k", [In(x), In(lengths)],
                               [Out(selected, x.dtype), Out(selected, index_dtype(length))],
                               tuple(policy for policy in policies if policy[0] != "length"))
    return (values, indices), indices


_top_k = operator(
    _top_k_forward,
    lambda policies, saved, needed, d: (_scatter(as_attributes(length=dict(policies)["length"]), d[0], saved), None))


def top_k(x: Any, k: int, order: str = "descending", by_index: bool = False, nan_last: bool = False,
          lengths: Any = None) -> tuple[Any, Any]:
    """Returns the first k rows of every sorted channel of x, `[batch, length, channels]`, and their numbers:
    `[batch, k, channels]` each.

    `order` is as for `slicing_sort`: `descending` selects the largest. Of equal values the lower row comes first, -0
    equals 0, and NaN is above +inf, or after all numbers with `nan_last`. `by_index`: rows keep their order. Indices are
    uint16 up to 65536 rows, else int32."""
    array = as_array("x", x)
    length = array.shape[1] if array.ndim == 3 else 0
    policies = as_attributes(k=k, order=order, by_index=int(by_index), nan_last=int(nan_last), length=length)
    return _top_k(policies, array, as_lengths("lengths", lengths))


def argsort(x: Any, order: str = "ascending", lengths: Any = None) -> Any:
    """Returns the stable argsort of every channel of x, `[batch, length, channels]`: the permutation of `slicing_sort`,
    uint16 up to 65536 rows, else int32."""
    array = jax.lax.stop_gradient(as_array("x", x))
    (indices,) = call("argsort", [In(array), In(as_lengths("lengths", lengths))],
                      [Out(array.shape, index_dtype(array.shape[1]))], as_attributes(order=order))
    return indices
