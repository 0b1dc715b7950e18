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

    def test_rows_that_become_zeros(self) -> None:
        """The operators whose output is zero past a length: of x, and of weights that samples share."""
        x, a, w, filters = random(0, (4, 12, 5)), random(1, (4, 5)) / 4, random(2, (4, 5)), random(3, (5, 3))
        calls = {
            "short_convolution": (partial(sj.short_convolution, shift=1), (filters,)),
            "decaying_sum": (sj.decaying_sum, (a, w)),
            "decaying_sum reverse": (partial(sj.decaying_sum, direction="reverse", is_complex=True), (a, w)),
            "decaying_sum both": (partial(sj.decaying_sum, direction="both"), (a, w)),
        }
        for name, (call, weights) in calls.items():
            with self.subTest(name):
                y, vjp = jax.vjp(partial(call, lengths=np.array(LENGTHS)), x, *weights)
                dx, *dweights = vjp(x)
                expected = [jnp.zeros_like(dw) for dw in dweights]
                for b, n in enumerate(LENGTHS):
                    self.assert_same_bits(y[b, n:], jnp.zeros_like(y[b, n:]))
                    self.assert_same_bits(dx[b, n:], jnp.zeros_like(dx[b, n:]))
                    if n > 0:
                        alone, vjp = jax.vjp(call, x[b:b + 1, :n], *weights)
                        self.assert_same_bits(y[b, :n], alone[0])
                        dx_alone, *dweights_alone = vjp(x[b:b + 1, :n])
                        self.assert_same_bits(dx[b, :n], dx_alone[0])
                        expected = [sum_ + dw for sum_, dw in zip(expected, dweights_alone)]
                for dw, sum_ in zip(dweights, expected):
                    self.assert_close(dw, sum_)

    def test_the_last_state_is_that_behind_the_length(self) -> None:
        x, a, w, initial = random(0, (4, 12, 5)), random(1, (2, 5)) / 4, random(2, (2, 5)), random(3, (4, 2, 5))
        last = sj.decaying_sum_with_state(x, a, w, initial, lengths=np.array(LENGTHS))[1]
        for b, n in enumerate(LENGTHS):
            alone = sj.decaying_sum_with_state(x[b:b + 1, :n], a, w, initial[b:b + 1])[1]
            self.assert_same_bits(last[b], alone[0])
        self.assert_same_bits(last[3], initial[3])

    def test_decays_per_row(self) -> None:
        x, a = random(0, (4, 12, 5)), random(1, (4, 1, 12, 5)) / 4
        y, vjp = jax.vjp(partial(sj.decaying_sum, lengths=np.array(LENGTHS)), x, a)
        da = vjp(x)[1]
        for b, n in enumerate(LENGTHS):
            self.assert_same_bits(da[b, :, n:], jnp.zeros_like(da[b, :, n:]))
            if n > 0:
                alone, vjp = jax.vjp(sj.decaying_sum, x[b:b + 1, :n], a[b:b + 1, :, :n])
                self.assert_same_bits(y[b, :n], alone[0])
                self.assert_same_bits(da[b, :, :n], vjp(x[b:b + 1, :n])[1][0])

    def test_sinkhorn(self) -> None:
        logits, columns = random(0, (4, 12, 5)), [5, 2, 1, 3]
        y, vjp = jax.vjp(partial(sj.sinkhorn, half_steps=3, lengths=np.array(LENGTHS), column_lengths=np.array(columns)), logits)
        gradient, = vjp(logits)
        for b, (n, m) in enumerate(zip(LENGTHS, columns)):
            for result in (y, gradient):
                self.assert_same_bits(result[b, n:], jnp.zeros_like(result[b, n:]))
                self.assert_same_bits(result[b, :, m:], jnp.zeros_like(result[b, :, m:]))
            if n > 0:
                valid = logits[b:b + 1, :n, :m]
                alone, vjp = jax.vjp(partial(sj.sinkhorn, half_steps=3), valid)
                self.assert_close(y[b, :n, :m], alone[0])
                self.assert_close(gradient[b, :n, :m], vjp(valid)[0][0])

    def test_permute(self) -> None:
        x, lengths = random(0, (4, 12, 5)), np.array(LENGTHS, np.int32)
        y, perm = sj.sort(x, lengths=lengths)
        self.assert_same_bits(sj.permute(x, perm, lengths), y)
        self.assert_same_bits(jax.vjp(lambda a: sj.permute(a, perm, lengths), x)[1](y)[0], x)

    def test_attention(self) -> None:
        q, k, v = random(0, (2, 3, 9, 4)), random(1, (2, 3, 7, 4)), random(2, (2, 3, 7, 5))
        keys, queries = [5, 0], [9, 3]
        for name, attend in (("softmax", sj.softmax_attention), ("linear", sj.linear_attention), ("pointwise", sj.pointwise_attention),
                             ("per key", partial(sj.pointwise_attention, scale="per_key"))):
            with self.subTest(name):
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
