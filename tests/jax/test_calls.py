# SPDX-License-Identifier: Apache-2.0
"""Saved states, second derivatives, threads, and errors."""
import unittest
from functools import partial
from typing import Any

from common import JaxTestCase, jax, jnp, np, random, sj, with_x64


class Sorting(JaxTestCase):
    def test_indices(self) -> None:
        x = random(0, (2, 50, 3))
        y, perm = sj.sort(x)
        self.assertEqual(perm.dtype, jnp.uint16)
        self.assert_same_bits(perm.astype(jnp.int32), jnp.argsort(x, axis=1, stable=True))
        self.assert_same_bits(sj.permute(x, perm), y)
        long = random(0, (1, 65537, 1))
        y, perm = sj.sort(long, order="descending")
        self.assertEqual(perm.dtype, jnp.int32)
        self.assert_same_bits(jnp.take_along_axis(long, perm, axis=1), y)

    def test_top_k_and_argsort(self) -> None:
        x = random(0, (2, 600, 3))
        expected = jnp.argsort(x, axis=1, descending=True, stable=True)
        self.assert_same_bits(sj.argsort(x, "descending").astype(jnp.int32), expected)
        values, indices = jax.jit(partial(sj.top_k, k=20))(x)
        self.assertEqual(indices.dtype, jnp.uint16)
        self.assert_same_bits(indices.astype(jnp.int32), expected[:, :20])
        self.assert_same_bits(values, jnp.take_along_axis(x, expected[:, :20], axis=1))
        by_index = sj.top_k(x, 20, by_index=True, lengths=np.array([600, 600]))[1]
        self.assert_same_bits(by_index, jnp.sort(indices, axis=1))
        with_nan = x.at[:, 5].set(jnp.nan)
        self.assertTrue((sj.top_k(with_nan, 1)[1] == 5).all())
        self.assertFalse((sj.top_k(with_nan, 600, nan_last=True)[1][:, :599] == 5).any())
        self.assert_error("k is 601, must be in 0..600", lambda: sj.top_k(x, 601))

    def test_rows_out_of_range(self) -> None:
        x = random(0, (2, 8, 3))
        perm = jnp.argsort(x, axis=1)
        self.assert_same_bits(sj.permute(x, perm), jnp.sort(x, axis=1))
        for bad in (-1, 8, 2**31 - 1):
            bad_perm = perm.at[1, 3, 2].set(bad)
            pattern = rf"perm\[1, 3, 2\] is {bad}, must be in 0..7 \(length\)"
            with self.assertRaisesRegex(IndexError, pattern):
                sj.permute(x, bad_perm)
            with self.assertRaisesRegex(IndexError, pattern):
                jax.grad(lambda a: sj.permute(a, bad_perm).sum())(x)
            self.assert_error(pattern, lambda: jax.jit(sj.permute)(x, bad_perm))
            self.assert_error(pattern, lambda: jax.jit(jax.grad(lambda a, p: (sj.permute(a, p) * a).sum()))(x, bad_perm))
            self.assert_error(pattern, lambda: jax.jit(jax.grad(lambda a, p: sj.permute(a, p).sum()))(x, bad_perm))
        lengths = np.array([8, 3], np.int32)
        past = perm.at[0].set(jnp.argsort(x[0], axis=0)).at[1].set(99).at[1, :3].set(1)
        self.assert_same_bits(sj.permute(x, past, lengths)[1, 3:], x[1, 3:])
        with self.assertRaisesRegex(IndexError, r"perm\[1, 0, 0\] is 3, must be in 0..2"):
            sj.permute(x, past.at[1, 0, 0].set(3), lengths)
        self.assert_error(r"perm\[1, 0, 0\] is 3, must be in 0..2",
                     lambda: jax.jit(sj.permute)(x, past.at[1, 0, 0].set(3), lengths))
        with with_x64():
            far = np.asarray(perm, np.int64)
            self.assert_same_bits(sj.permute(x, far), jnp.sort(x, axis=1))
            far[0, 0, 0] = 2**32
            with self.assertRaisesRegex(IndexError, r"perm\[0, 0, 0\] is 4294967296, must be in 0..7"):
                sj.permute(x, far)
            self.assert_error(r"perm\[0, 0, 0\] is 8", lambda: jax.jit(sj.permute)(x, far))

    def test_further_derivatives(self) -> None:
        """The gradient of a sort is linear in dy and differentiable."""
        with with_x64():
            x, t = random(0, (2, 9, 3), "float64"), random(1, (2, 9, 3), "float64")

            def twice(f: Any) -> Any:
                inner = jax.grad(lambda a: (jnp.sin(f(a)) * t).sum())
                return jax.grad(lambda a: (jnp.cos(inner(a)) * t).sum())(x)
            for f in (sj.slicing_sort, lambda a: sj.sort(a)[0]):
                self.assert_close(twice(f), twice(partial(jnp.sort, axis=1)), "float64")
            perm = sj.sort(t)[1]
            rows = perm.astype(jnp.int32)
            self.assert_close(twice(lambda a: sj.permute(a, perm)), twice(lambda a: jnp.take_along_axis(a, rows, 1)),
                       "float64")
            rows = jnp.broadcast_to(sj.shuffle(jnp.arange(9.0)[None, :, None]).astype(jnp.int32), x.shape)
            self.assert_close(twice(sj.shuffle), twice(lambda a: jnp.take_along_axis(a, rows, 1)), "float64")

    def test_nan_and_zeros(self) -> None:
        x = jnp.array([3, jnp.nan, -jnp.inf, 0.0, -0.0, jnp.inf]).reshape(1, 6, 1)
        y = sj.slicing_sort(x)[0, :, 0]
        self.assert_same_bits(y[:5], jnp.array([-jnp.inf, 0.0, -0.0, 3, jnp.inf]))
        self.assertTrue(np.isnan(y[5]))

    def test_shuffle_is_that_of_the_library(self) -> None:
        """Compares with the rows in docs/operators/shuffle.md."""
        x = jnp.broadcast_to(jnp.arange(8.0)[None, :, None], (2, 8, 2))
        first, second = [7, 4, 2, 6, 1, 0, 3, 5], [5, 7, 4, 2, 1, 0, 3, 6]
        for sample in range(2):
            self.assert_same_bits(sj.shuffle(x, 2024)[sample], jnp.array([first, first], jnp.float32).T)
            self.assert_same_bits(sj.shuffle(x, 2024, "per_channel")[sample], jnp.array([first, second], jnp.float32).T)


class Calls(JaxTestCase):
    def test_threads(self) -> None:
        before, x = sj.get_num_threads(), random(0, (8, 300, 40))
        self.assertGreaterEqual(before, 1)
        f = jax.jit(sj.slicing_sort)
        try:
            results = []
            for threads in (1, 2, 5):
                sj.set_num_threads(threads)
                self.assertEqual(sj.get_num_threads(), threads)
                results.append(f(x))
        finally:
            sj.set_num_threads(before)
        self.assert_same_bits(results[0], results[1])
        self.assert_same_bits(results[0], results[2])
        self.assertEqual(f._cache_size(), 1)
        self.assert_error("at least 1", lambda: sj.set_num_threads(0))

    def test_gradients_that_are_not_needed_are_not_computed(self) -> None:
        """Checks the gradients of a bias and of random features, which are the most expensive."""
        q, bias, w = jnp.ones((1, 2, 5, 4)), jnp.ones((1, 2, 5, 5)), jnp.ones((2, 3, 4))
        for f, last in ((sj.softmax_attention, bias), (partial(sj.linear_attention, feature="random_relu"), w)):
            for argument, computed in ((0, False), (3, True)):
                text = str(jax.make_jaxpr(jax.grad(lambda *a: f(*a).sum(), argument))(q, q, q, last))
                backward = [line for line in text.splitlines() if "ffi_call" in line][-1]
                missing = "bool[0]" in backward.split("=")[0]  # the results are left of the equals sign
                self.assertEqual(missing, not computed, backward)

    def test_scan(self) -> None:
        x = random(0, (4, 2, 9, 3))
        _, ys = jax.lax.scan(lambda carry, a: (carry, sj.slicing_sort(a)), 0, x)
        self.assert_same_bits(ys, jnp.sort(x, axis=2))

    def test_numpy_arrays_and_lists(self) -> None:
        x = np.asarray(random(0, (2, 9, 3)))
        self.assert_same_bits(sj.slicing_sort(x), np.sort(x, axis=1))
        self.assert_same_bits(sj.slicing_sort(x.tolist()), np.sort(x, axis=1))

    def test_numbers_of_numpy(self) -> None:
        x = random(0, (2, 8, 3))
        self.assert_same_bits(sj.max_exchange(x, np.int32(3)), sj.max_exchange(x, 3))
        self.assert_same_bits(sj.sinkhorn_csp(x, np.float32(0.5), np.uint8(4)), sj.sinkhorn_csp(x, 0.5, 4))

    def test_errors(self) -> None:
        x = random(0, (2, 8, 3))
        for pattern, call in {
            r"x must be \[batch, length, channels\], has 2 axes": lambda: sj.slicing_sort(x[0]),
            "x: the dtype must be float32, float64, float16 or bfloat16": lambda: sj.sort(x.astype(jnp.int32)),
            'order "up" is none of ascending, descending': lambda: sj.slicing_sort(x, "up"),
            "channels must be a multiple of heads": lambda: sj.slicing_sort(x, "half_half{2}"),
            "perm: the dtype must be uint16, int32 or uint32": lambda: sj.permute(x, x),
            r"w must be \[factors, batch, length, links\], has 3 axes": lambda: sj.sparse_mix(x, x),
            r"w.links is 6, must be 4 \(topology.links\)": lambda: sj.sparse_mix(x, jnp.ones((3, 2, 8, 6))),
            "max_exchange.forward: row": lambda: sj.max_exchange(x, 8),
            "sinkhorn_csp.*tau": lambda: sj.sinkhorn_csp(x, -1),
            "state and weights: the accumulator's": lambda: sj.multi_permutation(x, jnp.ones(2, jnp.bfloat16)),
            'shift "far" is none of none, linear': lambda: sj.csp(x, shift="far"),
        }.items():
            with self.subTest(pattern):
                self.assert_error(pattern, call)
                self.assert_error(pattern, lambda: jax.jit(lambda _: call())(0))
        self.assert_error('shift "far" is none of', lambda: jax.grad(lambda a: sj.csp(a, shift="far").sum())(x))


if __name__ == "__main__":
    unittest.main()
