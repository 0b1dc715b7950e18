# SPDX-License-Identifier: Apache-2.0
"""Every operator with its reference implementation, for the tests of all operators."""
from functools import partial
from typing import Any, Callable, NamedTuple

import reference
from common import jnp, np, random, sj


class Case(NamedTuple):
    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    axes: tuple[int | None, ...] = (0,)  # batch axis of each array
    only_moves_values: bool = False  # results are exact
    supports_16_bit: bool = True
    accumulators: tuple[int, ...] = ()  # indices of the arrays with the accumulator's type

    def arrays(self, dtype: str, seed: int = 0) -> list[Any]:
        wider = "float64" if dtype == "float64" else "float32"
        return [random(seed * 10 + i, shape, wider if i in self.accumulators else dtype)
                for i, shape in enumerate(self.shapes)]


X = ((3, 12, 5),)
HEADS = ((2, 3, 9, 4), (2, 3, 7, 4), (2, 3, 7, 5))
BOOLEANS = (np.arange(9 * 7) * 5 % 7 < 4).reshape(1, 1, 9, 7)
SQUARE = ((2, 3, 7, 4), (2, 3, 7, 4), (2, 3, 7, 5))
GROUPED = ((2, 6, 9, 4), (2, 2, 7, 4), (2, 2, 7, 5))
GROUPED_SQUARE = ((2, 6, 7, 4), (2, 2, 7, 4), (2, 2, 7, 5))


def shuffled(x: Any, form: str) -> Any:
    """Gathers rows with the permutation that the shuffle applies to row indices."""
    rows = sj.shuffle(jnp.broadcast_to(jnp.arange(x.shape[1], dtype=jnp.float32)[None, :, None], x.shape), 7, form)
    return jnp.take_along_axis(x, rows.astype(jnp.int32), axis=1)


def half_half(x: Any) -> Any:
    half = x.shape[2] // 2
    return jnp.concatenate([jnp.sort(x[:, :, :half], axis=1), -jnp.sort(-x[:, :, half:], axis=1)], axis=2)


CASES = [
    Case("slicing_sort", sj.slicing_sort, partial(jnp.sort, axis=1), X, only_moves_values=True),
    Case("slicing_sort descending", partial(sj.slicing_sort, order="descending"), lambda x: -jnp.sort(-x, axis=1), X,
         only_moves_values=True),
    Case("slicing_sort half_half", partial(sj.slicing_sort, order="half_half{1}"), half_half, ((3, 12, 6),),
         only_moves_values=True),
    Case("sort", lambda x: sj.sort(x)[0], partial(jnp.sort, axis=1), X, only_moves_values=True),
    Case("top_k", lambda x: sj.top_k(x, min((4, *x.shape[1:2])))[0], lambda x: -jnp.sort(-x, axis=1)[:, :4], X, only_moves_values=True),
    Case("soft_sort", partial(sj.soft_sort, strength=2.0), lambda x: reference.soft_sort(x, False, 2.0), X),
    Case("soft_rank", partial(sj.soft_rank, strength=0.5), lambda x: reference.soft_sort(x, True, 0.5), X),
    Case("permute", lambda x: sj.permute(x, sj.sort(-x)[1]),
         lambda x: jnp.take_along_axis(x, jnp.argsort(-x, axis=1), axis=1), X, only_moves_values=True),
    Case("multi_permutation", sj.multi_permutation, reference.multi_permutation, (*X, (3,)), (0, None),
         accumulators=(1,)),
    Case("short_convolution", sj.short_convolution, reference.short_convolution, (*X, (5, 4)), (0, None)),
    Case("short_convolution centered", partial(sj.short_convolution, shift=1),
         partial(reference.short_convolution, shift=1), (*X, (1, 3)), (0, None)),
    Case("decaying_sum", lambda x, a, w: sj.decaying_sum(x, a / 4, w), lambda x, a, w: reference.decaying_sum(x, a / 4, w),
         (*X, (2, 5), (2, 5)), (0, None, None)),
    Case("decaying_sum gated", lambda x, a: sj.decaying_sum(x, a / 4),
         lambda x, a: reference.decaying_sum(x, a / 4, jnp.ones((1, 5), x.dtype)), (*X, (3, 1, 12, 5)), (0, 0)),
    Case("decaying_sum complex, both",
         lambda x, a, w: sj.decaying_sum(x, a / 8, w, direction="both", is_complex=True),
         lambda x, a, w: reference.decaying_sum_both(x, a / 8, w), (*X, (4, 5), (4, 5)), (0, None, None)),
    Case("max_exchange", sj.max_exchange, reference.max_exchange, X, only_moves_values=True),
    Case("shuffle", partial(sj.shuffle, seed=7), partial(shuffled, form="shared_by_channels"), X, only_moves_values=True),
    Case("shuffle per_channel", partial(sj.shuffle, seed=7, form="per_channel"),
         partial(shuffled, form="per_channel"), X, only_moves_values=True),
    Case("csp", sj.csp, reference.csp, X, only_moves_values=True),
    Case("csp of 5 rows", partial(sj.csp, groups="group_size{5}"), partial(reference.csp, rows=5), X, only_moves_values=True),
    Case("csp ascending", partial(sj.csp, groups="group_size{4}", alignment="ascending"),
         partial(reference.csp_ascending, rows=4), X, only_moves_values=True),
    Case("csp of one row", partial(sj.csp, groups="group_size{1}"), partial(reference.csp, rows=1), X, only_moves_values=True),
    Case("sinkhorn_csp", partial(sj.sinkhorn_csp, tau=0.7, iterations=4, groups="group_size{5}"),
         partial(reference.sinkhorn_csp, tau=0.7, rows=5, iterations=4), X, supports_16_bit=False),
    Case("sinkhorn", partial(sj.sinkhorn, tau=0.7, half_steps=4), partial(reference.sinkhorn, tau=0.7, half_steps=4), X),
    Case("sinkhorn rows last", partial(sj.sinkhorn, half_steps=3, rows_last=True),
         partial(reference.sinkhorn, tau=1, half_steps=3, rows_last=True), X),
    Case("sparse_mix", sj.sparse_mix, reference.sparse_mix, (*X, (4, 3, 12, 5)), (0, 1)),
    Case("sparse_mix initial", partial(sj.sparse_mix, residual="initial", checkpoint_every=2),
         partial(reference.sparse_mix, residual="initial"), (*X, (4, 3, 12, 5)), (0, 1)),
    Case("sparse_mix none", partial(sj.sparse_mix, residual="none", checkpoint_every=0),
         partial(reference.sparse_mix, residual="none"), (*X, (4, 3, 12, 5)), (0, 1)),
    Case("softmax_attention", sj.softmax_attention, reference.softmax_attention, HEADS, (0, 0, 0)),
    Case("softmax_attention causal, bias", partial(sj.softmax_attention, mask="causal"),
         partial(reference.softmax_attention, causal=True), (*SQUARE, (2, 3, 7, 7)), (0, 0, 0, 0)),
    Case("softmax_attention shared bias", sj.softmax_attention, reference.softmax_attention, (*HEADS, (1, 3, 9, 7)),
         (0, 0, 0, None)),
    Case("pointwise_attention", sj.pointwise_attention, reference.pointwise_attention, HEADS, (0, 0, 0)),
    Case("pointwise_attention squared_relu", partial(sj.pointwise_attention, function="squared_relu", mask="causal", scale=0.3),
         partial(reference.pointwise_attention, function=reference.squared_relu, scale=0.3, allowed=np.tri(7)),
         (*SQUARE, (2, 3, 7, 7)), (0, 0, 0, 0)),
    Case("pointwise_attention shared bias, booleans",
         partial(sj.pointwise_attention, function="laplace{0.1, 0.5}", scale="per_key", allowed=BOOLEANS),
         partial(reference.pointwise_attention, function=partial(reference.laplace, mean=0.1, deviation=0.5), scale=1 / 7,
                 allowed=BOOLEANS), (*HEADS, (1, 3, 9, 7)), (0, 0, 0, None)),
    Case("linear_attention", sj.linear_attention, reference.linear_attention, HEADS, (0, 0, 0)),
    Case("linear_attention causal", partial(sj.linear_attention, direction="causal"),
         partial(reference.linear_attention, causal=True), SQUARE, (0, 0, 0)),
    Case("linear_attention_with_state", lambda q, k, v: sj.linear_attention_with_state(q, k, v)[0],
         partial(reference.linear_attention, causal=True), SQUARE, (0, 0, 0)),
    Case("linear_attention grouped", sj.linear_attention, reference.linear_attention, GROUPED, (0, 0, 0)),
    Case("linear_attention_with_state grouped", lambda q, k, v: sj.linear_attention_with_state(q, k, v)[0],
         partial(reference.linear_attention, causal=True), GROUPED_SQUARE, (0, 0, 0)),
    Case("linear_attention random_relu", partial(sj.linear_attention, feature="random_relu"),
         reference.random_relu_attention, (*HEADS, (3, 6, 4)), (0, 0, 0, None)),
]
