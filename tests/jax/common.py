# SPDX-License-Identifier: Apache-2.0
"""Assertions and test values for examples/jax. Skips the tests without JAX or the extension."""
import contextlib
import unittest
from typing import Any, Iterator

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    import slicesort_jax as sj
except ImportError as missing:
    raise unittest.SkipTest(f"{missing.name} is not installed: pip install jax setuptools wheel ./examples/jax")

__all__ = ["Tested", "jax", "jnp", "np", "random", "sj", "wide"]

# Relative tolerance of sums. Permutations are compared exactly.
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


@contextlib.contextmanager
def wide(dtype: str = "float64") -> Iterator[None]:
    """Enables 64-bit types if the dtype is one."""
    with jax.enable_x64(dtype in ("float64", "int64")):
        yield


def random(seed: int, shape: tuple[int, ...], dtype: str = "float32", low: float = -2, high: float = 2) -> Any:
    """Returns random numbers without ties."""
    count = int(np.prod(shape))
    numbers = np.random.default_rng(seed).permutation(count).reshape(shape)
    return jnp.asarray(low + (high - low) * (numbers + 0.5) / max(count, 1), dtype)


class Tested(unittest.TestCase):
    def same(self, a: Any, b: Any) -> None:
        """Asserts equal shape, dtype and bits."""
        a, b = np.asarray(a), np.asarray(b)
        self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
        self.assertEqual(a.tobytes(), b.tobytes())

    def close(self, a: Any, b: Any, dtype: str = "float32") -> None:
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        self.assertEqual(a.shape, b.shape)
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])

    def near(self, a: Any, b: Any, dtype: str) -> None:
        """Asserts small errors relative to the largest value, for 16-bit types, which are rounded between sums."""
        scale = float(jnp.abs(b).max())
        self.close(np.asarray(a, np.float64) / scale, np.asarray(b, np.float64) / scale, dtype)

    def refused(self, sentence: str, call: Any) -> None:
        """Asserts an error: a ValueError (ranks, while tracing) or JAX's error (everything else, at run time)."""
        with self.assertRaisesRegex((ValueError, jax.errors.JaxRuntimeError), sentence):
            jax.block_until_ready(call())
