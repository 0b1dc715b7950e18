# SPDX-License-Identifier: Apache-2.0
"""Lengths: rows past a sample's length have no effect."""
import unittest
from functools import partial
from typing import Any

from common import JaxTestCase, jax, jnp, np, random, sj, with_x64

LENGTHS = [12, 7, 1, 0]
ROWS = {
    "slicing_sort": sj.slicing_sort, "sort": lambda x, lengths=None: sj.sort(x, lengths=lengths)[0],
    "max_exchange": sj.max_exchange, "shuffle": sj.shuffle, "csp": partial(sj.csp, shift="none"),
    "sinkhorn_csp": partial(sj.sinkhorn_csp, tau=0.5, shift="none"),
    "multi_permutation": lambda x, lengths=None: sj.multi_permutation(x, np.array([0.75, 0.25], np.float32),
                                                                     lengths=lengths),
    "sparse_mix": lambda x, lengths=None: sj.sparse_mix(x, random(1, (4, 1, 12, 5)).repeat(x.shape[0], 1)
                                                       [:, :, :x.shape[1]], lengths=lengths),
}


class Lengths(JaxTestCase):
    def test_rows(self) -> None:
        x = random(0, (4, 12, 5))
        for name, call in ROWS.items():
            for dtype in ("int32", "int64", "uint8"):
                with self.subTest(name, dtype=dtype), with_x64(dtype):
                    y = call(x, lengths=jnp.asarray(LENGTHS, dtype))
                    gradient = jax.grad(lambda a: (call(a, lengths=jnp.asarray(LENGTHS, dtype)) * x).sum())(x)
                    for b, n in enumerate(LENGTHS):
                        self.assert_same_bits(y[b, n:], x[b, n:])
                        self.assert_same_bits(gradient[b, n:], x[b, n:])
                        if n > 0:
                            alone = x[b:b + 1, :n]
                            self.assert_same_bits(y[b, :n], call(alone)[0])
                            self.assert_same_bits(gradient[b, :n], jax.grad(lambda a: (call(a) * alone).sum())(alone)[0])

    def test_permute(self) -> None:
        x, lengths = random(0, (4, 12, 5)), np.array(LENGTHS, np.int32)
        y, perm = sj.sort(x, lengths=lengths)
        self.assert_same_bits(sj.permute(x, perm, lengths), y)
        self.assert_same_bits(jax.vjp(lambda a: sj.permute(a, perm, lengths), x)[1](y)[0], x)

    def test_attention(self) -> None:
        q, k, v = random(0, (2, 3, 9, 4)), random(1, (2, 3, 7, 4)), random(2, (2, 3, 7, 5))
        keys, queries = [5, 0], [9, 3]
        for attend in (sj.softmax_attention, sj.linear_attention):
            with self.subTest(attend.__name__):
                y = attend(q, k, v, lengths=keys, query_lengths=queries)
                gradients = jax.grad(lambda *a: (attend(*a, lengths=keys, query_lengths=queries) * y.at[0, 0, 0, 0]
                                                 .add(1)).sum(), (0, 1, 2))(q, k, v)
                alone = (q[:1], k[:1, :, :5], v[:1, :, :5])
                self.assert_same_bits(y[0], attend(*alone)[0])
                self.assert_same_bits(y[1], jnp.zeros_like(y[1]))
                expected = jax.vjp(attend, *alone)[1](y[:1].at[0, 0, 0, 0].add(1))
                for gradient, valid in zip(gradients, expected):
                    rows = valid.shape[2]
                    self.assert_same_bits(gradient[0, :, :rows], valid[0])
                    self.assert_same_bits(gradient[0, :, rows:], jnp.zeros_like(gradient[0, :, rows:]))
                    self.assert_same_bits(gradient[1], jnp.zeros_like(gradient[1]))

    def test_vmap(self) -> None:
        """Maps x, the lengths, or both."""
        x, lengths = random(0, (3, 2, 12, 5)), np.array([[12, 3], [0, 1], [7, 5]], np.int32)
        for name, call in ROWS.items():
            with self.subTest(name):
                def f(x: Any, lengths: Any) -> Any:
                    return jax.vjp(lambda a: call(a, lengths=lengths), x)[1](x)[0] + call(x, lengths=lengths)
                for x_axis, lengths_axis in ((0, 0), (0, None), (None, 0)):
                    a, n = x if x_axis == 0 else x[0], lengths if lengths_axis == 0 else lengths[0]
                    expected = [f(a[i] if x_axis == 0 else a, n[i] if lengths_axis == 0 else n) for i in range(3)]
                    self.assert_same_bits(jax.vmap(f, in_axes=(x_axis, lengths_axis))(a, n), jnp.stack(expected))

    def test_errors(self) -> None:
        x = random(0, (4, 12, 5))
        self.assert_error("lengths must have dtype int64", lambda: sj.slicing_sort(x, lengths=jnp.ones(4)))
        self.assert_error(r"lengths must be \[batch\], has 2 axes", lambda: sj.slicing_sort(x, lengths=jnp.ones((2, 2))))
        for invalid in ([1, 2, 3], [], [1, 2, 3, 13], [-1, 2, 3, 4]):
            with self.subTest(lengths=invalid):
                lengths = np.array(invalid, np.int32)
                self.assert_error("slicing_sort.forward: .*lengths", lambda: sj.slicing_sort(x, lengths=lengths))


if __name__ == "__main__":
    unittest.main()
