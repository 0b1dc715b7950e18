# SPDX-License-Identifier: Apache-2.0
"""What the tests of examples/jax share. Without JAX or the extension they are skipped."""
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

# The relative precision of each dtype, as tolerance of sums. (Permutations are compared exactly.)
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


@contextlib.contextmanager
def wide(dtype: str = "float64") -> Iterator[None]:
    """JAX with 64-bit types, where the dtype is one."""
    with jax.enable_x64(dtype in ("float64", "int64")):
        yield


def random(seed: int, shape: tuple[int, ...], dtype: str = "float32", low: float = -2, high: float = 2) -> Any:
    """Numbers without ties."""
    count = int(np.prod(shape))
    numbers = np.random.default_rng(seed).permutation(count).reshape(shape)
    return jnp.asarray(low + (high - low) * (numbers + 0.5) / max(count, 1), dtype)


class Tested(unittest.TestCase):
    def same(self, a: Any, b: Any) -> None:
        """The same shape, dtype and bits."""
        a, b = np.asarray(a), np.asarray(b)
        self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
        self.assertEqual(a.tobytes(), b.tobytes())

    def close(self, a: Any, b: Any, dtype: str = "float32") -> None:
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        self.assertEqual(a.shape, b.shape)
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])

    def near(self, a: Any, b: Any, dtype: str) -> None:
        """Of 16-bit types that are rounded between sums: an error is small beside the largest of the numbers."""
        scale = float(jnp.abs(b).max())
        self.close(np.asarray(a, np.float64) / scale, np.asarray(b, np.float64) / scale, dtype)

    def refused(self, sentence: str, call: Any) -> None:
        """Ranks are refused while a call is traced (ValueError), the rest when it runs."""
        with self.assertRaisesRegex((ValueError, jax.errors.JaxRuntimeError), sentence):
            jax.block_until_ready(call())
