# SPDX-License-Identifier: Apache-2.0
"""Arguments as the handlers take them. Ranks are checked here, where shapes of results are made of them; all else is
refused by the library, when the call runs."""
from typing import Any

import jax.numpy as jnp
import numpy as np

ROWS = "[batch, length, channels]"


def array(name: str, x: Any, axes: str = ROWS) -> Any:
    x = jnp.asarray(x)
    if x.ndim != axes.count(",") + 1:
        raise ValueError(f"{name} must be {axes}, has {x.ndim} {'axis' if x.ndim == 1 else 'axes'}")
    return x


def lengths(name: str, given: Any) -> Any:
    """int32 or int64; the handler widens the former."""
    if given is None:
        return None
    given = array(name, given, "[batch]")
    narrow = jnp.issubdtype(given.dtype, jnp.integer) and given.dtype not in (jnp.int32, jnp.int64)
    return given.astype(jnp.int32) if narrow else given


def seed(given: Any) -> Any:
    """Two words, the lower one first. They are an input, not an attribute: a new seed needs no new compilation."""
    if isinstance(given, (int, np.integer)):
        bits = int(given) % 2**64
        return np.array([bits % 2**32, bits >> 32], np.uint32)
    given = jnp.asarray(given)
    if given.ndim == 0 and jnp.issubdtype(given.dtype, jnp.integer):
        high = given >> 32 if given.dtype.itemsize == 8 else jnp.where(given < 0, -1, 0)
        return jnp.stack([given.astype(jnp.uint32), high.astype(jnp.uint32)])
    if given.shape != (2,) or given.dtype != jnp.uint32:
        raise ValueError("seed must be an integer, or two words of uint32 as jax.random.key_data gives")
    return given


def index_dtype(length: int) -> Any:
    """Of saved rows: 16 bits hold those of 65536."""
    return jnp.uint16 if length <= 65536 else jnp.int32


def accumulator(dtype: Any) -> Any:
    """The type that the library forms sums in."""
    return jnp.float64 if dtype == jnp.float64 else jnp.float32
