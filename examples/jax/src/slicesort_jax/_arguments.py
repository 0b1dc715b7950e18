# SPDX-License-Identifier: Apache-2.0
"""Converts arguments for the handlers. Checks ranks, which the shapes of results depend on; the library checks
everything else when the call runs."""
from typing import Any

import jax.numpy as jnp
import numpy as np

ROWS = "[batch, length, channels]"


def as_array(name: str, x: Any, axes: str = ROWS) -> Any:
    x = jnp.asarray(x)
    if x.ndim != axes.count(",") + 1:
        raise ValueError(f"{name} must be {axes}, has {x.ndim} {'axis' if x.ndim == 1 else 'axes'}")
    return x


def as_lengths(name: str, value: Any, axes: str = "[batch]") -> Any:
    """Returns int32 or int64 lengths; the handler widens int32."""
    if value is None:
        return None
    value = as_array(name, value, axes)
    needs_cast = jnp.issubdtype(value.dtype, jnp.integer) and value.dtype not in (jnp.int32, jnp.int64)
    return value.astype(jnp.int32) if needs_cast else value


def as_seed(value: Any) -> Any:
    """Returns two words, low word first. The seed is an input of the handler, so a new one causes no recompilation."""
    if isinstance(value, (int, np.integer)):
        bits = int(value) % 2**64
        return np.array([bits % 2**32, bits >> 32], np.uint32)
    value = jnp.asarray(value)
    if value.ndim == 0 and jnp.issubdtype(value.dtype, jnp.integer):
        high = value >> 32 if value.dtype.itemsize == 8 else jnp.where(value < 0, -1, 0)
        return jnp.stack([value.astype(jnp.uint32), high.astype(jnp.uint32)])
    if value.shape != (2,) or value.dtype != jnp.uint32:
        raise ValueError("seed must be an integer, or two words of uint32 as jax.random.key_data gives")
    return value


def index_dtype(length: int) -> Any:
    """Returns the dtype of saved indices: 16 bits up to 65536 rows."""
    return jnp.uint16 if length <= 65536 else jnp.int32


def accumulator_dtype(dtype: Any) -> Any:
    """Returns the dtype of the library's accumulator."""
    return jnp.float64 if dtype == jnp.float64 else jnp.float32
