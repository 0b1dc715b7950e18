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

__all__ = ["JaxTestCase", "jax", "jnp", "np", "random", "sj", "with_x64"]

# Relative tolerance of sums. Permutations are compared exactly.
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


@contextlib.contextmanager
def with_x64(dtype: str = "float64") -> Iterator[None]:
    """Enables 64-bit types if the dtype needs them."""
    with jax.enable_x64(dtype in ("float64", "int64")):
        yield


def random(seed: int, shape: tuple[int, ...], dtype: str = "float32", low: float = -2, high: float = 2) -> Any:
    """Returns random values without ties."""
    count = int(np.prod(shape))
    ranks = np.random.default_rng(seed).permutation(count).reshape(shape)
    return jnp.asarray(low + (high - low) * (ranks + 0.5) / max(count, 1), dtype)


class JaxTestCase(unittest.TestCase):
    def assert_same_bits(self, a: Any, b: Any) -> None:
        """Asserts equal shape, dtype and bits."""
        a, b = np.asarray(a), np.asarray(b)
        self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
        self.assertEqual(a.tobytes(), b.tobytes())

    def assert_close(self, a: Any, b: Any, dtype: str = "float32") -> None:
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        self.assertEqual(a.shape, b.shape)
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])

    def assert_near(self, a: Any, b: Any, dtype: str) -> None:
        """Asserts small errors relative to the largest value, for 16-bit types, which are rounded between sums."""
        scale = float(jnp.abs(b).max())
        self.assert_close(np.asarray(a, np.float64) / scale, np.asarray(b, np.float64) / scale, dtype)

    def assert_error(self, message_pattern: str, call: Any) -> None:
        """Asserts an error: a ValueError (ranks, while tracing) or JAX's error (everything else, at run time)."""
        with self.assertRaisesRegex((ValueError, jax.errors.JaxRuntimeError), message_pattern):
            jax.block_until_ready(call())
