# SPDX-License-Identifier: Apache-2.0
"""slicing_sort, permute and multi_permutation."""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._arguments import as_array, as_lengths, index_dtype
from ._call import In, Out, as_attributes, call, operator


# permute and unpermute are each other's gradient. Forward rules call these differentiable functions, not handlers, so
# that sorts have derivatives of any order.


def _permute_forward(save: bool, policies: Any, x: Any, perm: Any, lengths: Any) -> Any:
    if save:
        return _permute(policies, x, perm, lengths), (perm, lengths)
    return *call("permute", [In(x), In(perm), In(lengths)], [Out(x.shape, x.dtype)], policies), None


def _unpermute_forward(save: bool, policies: Any, dy: Any, perm: Any, lengths: Any) -> Any:
    if save:
        return _unpermute(policies, dy, perm, lengths), (perm, lengths)
    return *call("permute_backward", [In(dy), In(perm), In(lengths)], [Out(dy.shape, dy.dtype)], policies), None


_permute = operator(_permute_forward,
                    lambda policies, saved, needed, dy: (_unpermute(policies, dy, *saved), None, None))
_unpermute = operator(_unpermute_forward,
                      lambda policies, saved, needed, d: (_permute(policies, d, *saved), None, None))


def _sort_with_perm_forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    if save:
        y, perm = _sort_with_perm(policies, x, lengths)
    else:
        y, perm = call("slicing_sort", [In(x), In(lengths)],
                       [Out(x.shape, x.dtype), Out(x.shape, index_dtype(x.shape[1]))], policies)
    return (y, perm), (perm, lengths)


def _sort_forward(save: bool, policies: Any, x: Any, lengths: Any) -> Any:
    if save:
        y, perm = _sort_with_perm(policies, x, lengths)
        return y, (perm, lengths)
    return call("slicing_sort", [In(x), In(lengths)], [Out(x.shape, x.dtype), None], policies)[0], None


_sort_with_perm = operator(_sort_with_perm_forward,
                           lambda policies, saved, needed, d: (_unpermute((), d[0], *saved), None))
_sort = operator(_sort_forward, lambda policies, saved, needed, dy: (_unpermute((), dy, *saved), None))


def slicing_sort(x: Any, order: str = "ascending", lengths: Any = None) -> Any:
    """Sorts every channel of every sample along the length: `y[b, :, c] = sort(x[b, :, c])` (Sliceformer, eq. 4).

    x, y: `[batch, length, channels]`, float32, float64, float16 or bfloat16. NaN sorts above +inf, -0 equals 0, and
    ties keep the lower row first. `order`: `ascending`, `descending`, `half_half{heads}`, `interleave{layer, layers}`
    or `haar_interleave{level, heads}`. `lengths`, int32 or int64 `[batch]`, is the number of valid leading rows of each
    sample, here and in every function."""
    return _sort(as_attributes(order=order), as_array("x", x), as_lengths("lengths", lengths))


def slicing_sort_with_permutation(x: Any, order: str = "ascending", lengths: Any = None) -> tuple[Any, Any]:
    """Returns `slicing_sort` and the stable argsort `perm` (uint16 up to 65536 rows, else int32): `y[n] = x[perm[n]]`."""
    return _sort_with_perm(as_attributes(order=order), as_array("x", x), as_lengths("lengths", lengths))


sort = slicing_sort_with_permutation


def _check_indices(perm: Any, rows: int, lengths: Any) -> None:
    """Raises an IndexError if an index in a valid row is not below its sample's length."""
    indices = np.asarray(perm).astype(np.int64)
    end = np.full((len(indices), 1, 1), rows) if lengths is None else np.asarray(lengths).reshape(-1, 1, 1)
    out_of_range = np.argwhere(((indices < 0) | (indices >= end)) & (np.arange(rows)[:, None] < end))
    if len(out_of_range):
        position = tuple(map(int, out_of_range[0]))
        last = int(end[position[0], 0, 0]) - 1
        raise IndexError(f"perm{list(position)} is {indices[position]}, must be in 0..{last} (length)")


def permute(x: Any, perm: Any, lengths: Any = None) -> Any:
    """`y[b, n, c] = x[b, perm[b, n, c], c]`. `perm` comes from a sort or from `jnp.argsort`: uint16, int32, uint32 or
    int64. Raises an IndexError for an index out of range. If perm is traced, so that its values are not known yet, the
    call raises the error on a CPU and clamps the index on a GPU."""
    x, perm, lengths = as_array("x", x), as_array("perm", perm), as_lengths("lengths", lengths)
    rows, attributes = x.shape[1], as_attributes(unchecked=1)
    if perm.shape == x.shape and jnp.issubdtype(perm.dtype, jnp.integer):
        is_concrete = not any(isinstance(a, jax.core.Tracer) for a in (perm, lengths))
        if is_concrete and (lengths is None or lengths.shape == x.shape[:1]):
            _check_indices(perm, rows, lengths)
            attributes = as_attributes()
        if perm.dtype == jnp.int64:  # clamps values that int32 cannot represent
            perm = jnp.clip(perm, -1, rows).astype(jnp.int32)
        if rows > 0:
            perm = jax.lax.platform_dependent(perm, default=lambda p: p, cuda=lambda p: jnp.clip(p, 0, rows - 1))
    return _permute(attributes, x, perm, lengths)


def _multi_permutation_forward(save: bool, policies: Any, x: Any, weights: Any, lengths: Any) -> Any:
    y, perm = call("multi_permutation", [In(x), In(weights, None), In(lengths)],
                   [Out(x.shape, x.dtype), Out(x.shape, index_dtype(x.shape[1])) if save else None], policies)
    return y, (x, weights, perm, lengths)


def _multi_permutation_backward(policies: Any, saved: Any, needed: Any, dy: Any) -> Any:
    x, weights, perm, lengths = saved
    dx, dweights = call("multi_permutation_backward",
                        [In(dy), In(x), In(weights, None), In(perm), In(lengths)],
                        [Out(x.shape, x.dtype), Out(weights.shape, weights.dtype, None)])
    return dx, dweights, None


_multi_permutation = operator(_multi_permutation_forward, _multi_permutation_backward)


def multi_permutation(x: Any, weights: Any, order: str = "ascending", lengths: Any = None) -> Any:
    """`y = sum over k = 1 .. components of weights[k - 1] * P^k x`, where P sorts each channel (Sliceformer's
    multi-permutation). x, y: `[batch, length, channels]`; weights: `[components]`, float32, or float64 if x is float64."""
    return _multi_permutation(as_attributes(order=order), as_array("x", x), as_array("weights", weights, "[components]"),
                              as_lengths("lengths", lengths))
