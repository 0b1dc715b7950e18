# SPDX-License-Identifier: Apache-2.0
"""Merging, dropout, masks, scales and features of attention. test_every_operator checks values."""
import unittest
from functools import partial
from typing import Any

import reference
from common import JaxTestCase, jax, jnp, np, random, sj, with_x64


def inputs(keys: int = 7, dtype: str = "float32") -> list[Any]:
    return [random(0, (2, 3, 9, 4), dtype), random(1, (2, 3, keys, 4), dtype), random(2, (2, 3, keys, 5), dtype)]


class Merge(JaxTestCase):
    def test_parts_become_the_whole(self) -> None:
        for dtype in ("float32", "float64", "bfloat16"):
            with self.subTest(dtype), with_x64(dtype):
                q, k, v = inputs(dtype=dtype)
                cuts = [(0, 3), (3, 4), (4, 7)]
                parts = [sj.softmax_attention_with_state(q, k[:, :, a:b], v[:, :, a:b]) for a, b in cuts]
                y, state = sj.merge_attention(*zip(*parts))
                whole, whole_state = sj.softmax_attention_with_state(q, k, v)
                self.assertEqual(str(state.dtype), "float64" if dtype == "float64" else "float32")
                self.assert_close(y, whole, dtype)
                self.assert_close(state, whole_state, dtype)

    def test_gradients(self) -> None:
        with with_x64():
            q, k, v = inputs(dtype="float64")
            dy = random(3, (2, 3, 9, 5), "float64")
            cuts = [(0, 3), (3, 7)]
            parts = [sj.softmax_attention_with_state(q, k[:, :, a:b], v[:, :, a:b]) for a, b in cuts]
            y, state = sj.merge_attention(*zip(*parts))
            back = [sj.softmax_attention_backward(dy, q, k[:, :, a:b], v[:, :, a:b], y, state) for a, b in cuts]
            self.assertTrue(all(dbias is None for *_, dbias in back))
            dq, dk, dv = jax.vjp(reference.softmax_attention, q, k, v)[1](dy)
            self.assert_close(sum(b[0] for b in back), dq, "float64")
            self.assert_close(jnp.concatenate([b[1] for b in back], 2), dk, "float64")
            self.assert_close(jnp.concatenate([b[2] for b in back], 2), dv, "float64")

    def test_a_state_is_a_constant(self) -> None:
        def loss(q: Any, k: Any, v: Any) -> Any:
            y, state = sj.softmax_attention_with_state(q, k, v)
            return (y**2).sum() + state.sum()
        gradient = jax.grad(loss)(*inputs())
        self.assert_same_bits(gradient, jax.grad(lambda *a: (sj.softmax_attention(*a)**2).sum())(*inputs()))

    def test_vmap(self) -> None:
        parts = [sj.softmax_attention_with_state(*inputs(keys)) for keys in (3, 4)]
        mapped = jax.vmap(sj.merge_attention)([jnp.stack([y, 2 * y]) for y, _ in parts],
                                              [jnp.stack([s, s]) for _, s in parts])
        y, state = sj.merge_attention(*zip(*parts))
        self.assert_same_bits(mapped[0], jnp.stack([y, 2 * y]))
        self.assert_same_bits(mapped[1], jnp.stack([state, state]))

    def test_errors(self) -> None:
        y, state = sj.softmax_attention_with_state(*inputs())
        self.assert_error("as many states as ys", lambda: sj.merge_attention([y], []))
        self.assert_error("merge_attention.forward", lambda: sj.merge_attention([y, y[:1]], [state, state]))
        with self.assertRaisesRegex(NotImplementedError, "call softmax_attention_backward for every part"):
            jax.grad(lambda a: sj.merge_attention([a], [state])[0].sum())(y)


class Softmax(JaxTestCase):
    def test_dropout(self) -> None:
        q, k, v = inputs()
        drop = jax.jit(lambda seed, v: sj.softmax_attention(q, k, v, dropout=0.5, seed=seed))
        ones = jnp.ones_like(v)
        self.assert_same_bits(drop(3, v), sj.softmax_attention(q, k, v, dropout=0.5, seed=3))
        self.assertFalse(np.array_equal(drop(3, v), drop(4, v)))
        self.assertEqual(drop._cache_size(), 1)  # a new seed compiles nothing
        mean = np.mean([drop(seed, ones) for seed in range(300)])
        self.assertAlmostEqual(mean, 1, delta=0.02)  # 300 * 54 sums, deviation of each below 0.8
        # y is linear in v, so the gradient uses the same kept weights.
        y, back = jax.vjp(partial(drop, 3), v)
        self.assert_close((back(y)[0] * v).sum(), (y * y).sum())

    def test_vmap_of_dropout_is_the_loop(self) -> None:
        """The kept weights depend on the sample index, which folding into the batch would change."""
        arrays = [jnp.stack([a, 2 * a, a[::-1]]) for a in inputs()]

        def attend(*arrays: Any) -> Any:
            return sj.softmax_attention_with_state(*arrays, dropout=0.4, seed=5)

        def gradients(*arrays: Any) -> Any:
            return jax.grad(lambda *a: (sj.softmax_attention(*a, dropout=0.4, seed=5) ** 2).sum(), (0, 1, 2))(*arrays)
        for f in (attend, gradients):
            expected = [f(*(a[i] for a in arrays)) for i in range(3)]
            for g in (jax.vmap(f), jax.jit(jax.vmap(f))):
                for result, slices in zip(g(*arrays), zip(*expected)):
                    self.assert_same_bits(result, jnp.stack(slices))
            first = jax.vmap(f, in_axes=(0, None, None))(arrays[0], *(a[0] for a in arrays[1:]))
            for result, last in zip(first, f(arrays[0][2], *(a[0] for a in arrays[1:]))):
                self.assert_same_bits(result[2], last)

    def test_a_seed_is_required(self) -> None:
        with self.assertRaisesRegex(ValueError, "seed is None, must be given beside dropout"):
            sj.softmax_attention(*inputs(), dropout=0.5)
        sj.softmax_attention(*inputs())

    def test_seeds(self) -> None:
        attend = partial(sj.softmax_attention, *inputs(), dropout=0.5)
        key = jax.random.key(9)
        self.assert_same_bits(attend(seed=9), attend(seed=np.array([9, 0], np.uint32)))
        self.assert_same_bits(attend(seed=9), attend(seed=jnp.int32(9)))
        self.assert_same_bits(attend(seed=-1), attend(seed=jnp.int32(-1)))
        self.assert_same_bits(attend(seed=2**64 - 1), attend(seed=-1))
        with with_x64():
            self.assert_same_bits(attend(seed=2**40 + 5), attend(seed=jnp.int64(2**40 + 5)))
        attend(seed=jax.random.key_data(key))
        self.assert_error("seed must be an integer", lambda: attend(seed=0.5))
        seeds = jnp.arange(3)
        self.assert_same_bits(jax.vmap(lambda s: attend(seed=s))(seeds), jnp.stack([attend(seed=int(s)) for s in seeds]))

    def test_grouped_heads_and_stored_masks(self) -> None:
        with with_x64():
            q, k, v = random(0, (2, 6, 9, 4), "float64"), random(1, (2, 2, 9, 4), "float64"), random(2, (2, 2, 9, 5), "float64")
            i, j = np.arange(9)[:, None], np.arange(9)
            segment = np.searchsorted([3, 4], np.arange(9), "right")
            allowed = np.random.default_rng(0).random((2, 1, 9, 9)) < 0.5
            text = "both{causal, either{window{2, 2}, globals{1}}}"
            pairs = (allowed | (i == j)) & (j <= i) & ((abs(i - j) <= 2) | (j == 0)) & (segment[:, None] == segment)

            def dense(q: Any, k: Any, v: Any) -> Any:
                scores = jnp.einsum("bhic,bhjc->bhij", q, jnp.repeat(k, 3, 1)) / 2
                return jax.nn.softmax(jnp.where(pairs, scores, -jnp.inf)) @ jnp.repeat(v, 3, 1)

            options = {"mask": text, "allowed": allowed | (i == j), "segments": np.array([0, 3, 4, 9])}
            y, back = jax.vjp(lambda *a: sj.softmax_attention(*a, **options), q, k, v)
            expected, expected_back = jax.vjp(dense, q, k, v)
            self.assert_close(y, expected, "float64")
            for actual, gradient in zip(back(y), expected_back(y)):
                self.assert_close(actual, gradient, "float64")
            mapped = jax.vmap(lambda q, a: sj.softmax_attention(q, k, v, **{**options, "allowed": a}))(
                jnp.stack([q, q]), jnp.stack([options["allowed"], options["allowed"]]))
            self.assert_same_bits(mapped, jnp.stack([y, y]))

    def test_scale_and_mask(self) -> None:
        q, k, v = inputs()
        self.assert_same_bits(sj.softmax_attention(q, k, v, scale=0.5), sj.softmax_attention(q, k, v))
        self.assert_close(sj.softmax_attention(q, k, v, scale=1), reference.softmax_attention(2 * q, k, v))
        window = np.abs(np.arange(9)[:, None] - np.arange(7)) <= 2
        self.assert_close(sj.softmax_attention(q, k, v, mask="window{2, 2}"),
                   reference.softmax_attention(q, k, v, np.where(window, 0, -np.inf)))

    def test_bias_by_distance(self) -> None:
        q, k, v = inputs()
        bias = random(5, (1, 3, 1, 15))
        rows = np.arange(7) - np.arange(9)[:, None] + 8  # key - query + queries - 1
        self.assert_close(sj.softmax_attention(q, k, v, bias), reference.softmax_attention(q, k, v, bias[:, :, 0][:, :, rows]))
        for a, b in zip(jax.grad(lambda *a: (sj.softmax_attention(*a)**2).sum(), (0, 3))(q, k, v, bias),
                        jax.grad(lambda q, k, v, b: (reference.softmax_attention(q, k, v, b[:, :, 0][:, :, rows])**2)
                                 .sum(), (0, 3))(q, k, v, bias)):
            self.assert_close(a, b)

    def test_errors(self) -> None:
        q, k, v = inputs()
        self.assert_error("dropout", lambda: sj.softmax_attention(q, k, v, dropout=1.5, seed=1))
        self.assert_error("write it as either{a, b}", lambda: sj.softmax_attention(q, k, v, mask="either{causal}"))
        self.assert_error("allowed must have dtype bool",
                          lambda: sj.softmax_attention(q, k, v, allowed=jnp.ones((1, 1, 9, 7), jnp.float32)))
        self.assert_error("as many queries as q",
                          lambda: sj.softmax_attention(q, k, v, allowed=jnp.ones((1, 1, 8, 7), bool)))
        self.assert_error('mask "banded" is none of full, causal', lambda: sj.softmax_attention(q, k, v, mask="banded"))
        with self.assertRaisesRegex(TypeError, "^mask is a .*, must be text or a number"):
            sj.softmax_attention(q, k, v, mask=jnp.ones((9, 7), bool))
        self.assert_error("softmax_attention.forward: .*k", lambda: sj.softmax_attention(q, k[:1], v))


class Linear(JaxTestCase):
    def test_features(self) -> None:
        q, k, v = inputs()
        y = sj.linear_attention(q, k, v, feature="relu{0.001}", divisor="sum_plus{0}")
        weights = jnp.einsum("bhic,bhjc->bhij", *(jax.nn.relu(a) + 1e-3 for a in (q, k)))
        self.assert_close(y, jnp.einsum("bhij,bhjd->bhid", weights / weights.sum(3, keepdims=True), v))

    def test_pieces_have_the_bits_of_the_whole(self) -> None:
        q, k, v = (jax.random.normal(jax.random.key(seed), (2, heads, 70, 4), "float32") for seed, heads in enumerate((4, 2, 2)))
        whole = sj.linear_attention(q, k, v, direction="causal")
        state, pieces = None, []
        for first in range(0, 70, 35):
            rows = (a[:, :, first:first + 35] for a in (q, k, v))
            y, state = sj.linear_attention_with_state(*rows, initial=state)
            pieces.append(y)
        self.assert_same_bits(jnp.concatenate(pieces, 2), whole)
        self.assert_same_bits(state, sj.linear_attention_with_state(q, k, v)[1])

    def test_both_is_a_deprecated_name_of_noncausal(self) -> None:
        with self.assertWarnsRegex(DeprecationWarning, '"both" is deprecated: use "noncausal"'):
            y = sj.linear_attention(*inputs(), direction="both")
        self.assert_same_bits(y, sj.linear_attention(*inputs(), direction="noncausal"))

    def test_errors(self) -> None:
        q, k, v = inputs()
        self.assert_error("linear_attention.*: w is left out, must be the feature map.s matrix",
                     lambda: sj.linear_attention(q, k, v, feature="random_exp"))
        self.assert_error("direction", lambda: sj.linear_attention(q, k, v, direction="back"))


if __name__ == "__main__":
    unittest.main()
