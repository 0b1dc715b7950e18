# SPDX-License-Identifier: Apache-2.0
"""Compares every operator with its reference: values, gradients, jit and vmap. Needs `pip install ./examples/jax`:
`python3 -m unittest discover -s tests/jax`."""
import functools
import re
import unittest
from typing import Any

from cases import CASES, Case
from common import JaxTestCase, jax, jnp, sj, with_x64
from jax.test_util import check_grads


def weighted(f: Any) -> Any:
    """Returns a scalar function whose gradient differs for every element of f."""
    def loss(*arrays: Any) -> Any:
        y = f(*arrays)
        return (y * jnp.cos(jnp.arange(y.size, dtype=y.dtype)).reshape(y.shape)).sum()
    return loss


def stacked(case: Case, dtype: str, count: int = 3) -> list[Any]:
    """Stacks `count` versions of the case's arrays along a new first axis."""
    return [jnp.stack(slices) for slices in zip(*(case.arrays(dtype, seed) for seed in range(count)))]


def for_every_case(test: Any) -> Any:
    @functools.wraps(test)
    def run(self: Any) -> None:
        for case in CASES:
            with self.subTest(case.name):
                test(self, case)
    return run


class EveryHandler(JaxTestCase):
    def test_none_is_forgotten(self) -> None:
        """Every registered handler is called by a case or its gradient, so that the tests below cover it. merge_attention and
        argsort, which have no gradient, are tested in test_attention and test_calls."""
        called = {"argsort", "merge_attention"}
        for case in CASES:
            arrays, arguments = case.arrays("float32"), tuple(range(len(case.shapes)))
            text = str(jax.make_jaxpr(jax.value_and_grad(weighted(case.call), arguments))(*arrays))
            called |= set(re.findall(r"target_name=slicesort_(\w+)", text))
        self.assertEqual(sorted(called), sorted(sj._library._NAMES))

    def test_every_function_has_a_case(self) -> None:
        named = {case.name.split()[0] for case in CASES}
        elsewhere = {"argsort", "get_num_threads", "set_num_threads", "merge_attention", "softmax_attention_backward",
                     "slicing_sort_with_permutation", "softmax_attention_with_state",
                     "decaying_sum_with_state"}  # decaying_sum calls it
        self.assertEqual(sorted(named | elsewhere), sorted(sj.__all__))


class EveryOperator(JaxTestCase):
    @for_every_case
    def test_values(self, case: Case) -> None:
        for dtype in ("float32", "float64", *(("float16", "bfloat16") if case.supports_16_bit else ())):
            with self.subTest(dtype=dtype), with_x64(dtype):
                arrays = case.arrays(dtype)
                y = case.call(*arrays)
                self.assertEqual(str(y.dtype), dtype)
                if case.only_moves_values:
                    self.assert_same_bits(y, case.reference(*arrays))
                elif y.dtype.itemsize > 2:
                    self.assert_close(y, case.reference(*arrays), dtype)
                else:
                    self.assert_near(y, case.reference(*(a.astype("float32") for a in arrays)), dtype)

    @for_every_case
    def test_gradients(self, case: Case) -> None:
        with with_x64():
            arrays, arguments = case.arrays("float64"), tuple(range(len(case.shapes)))
            actual = jax.grad(weighted(case.call), arguments)(*arrays)
            for a, b in zip(actual, jax.grad(weighted(case.reference), arguments)(*arrays)):
                self.assert_close(a, b, "float64")

    @for_every_case
    def test_gradients_equal_finite_differences(self, case: Case) -> None:
        with with_x64():
            # Steps are far smaller than the distances between values, so no order changes.
            check_grads(case.call, case.arrays("float64"), order=1, modes=["rev"], eps=1e-5, atol=1e-6, rtol=1e-6)

    @for_every_case
    def test_gradients_of_16_bit_types(self, case: Case) -> None:
        for dtype in ("float16", "bfloat16") if case.supports_16_bit else ():
            with self.subTest(dtype=dtype):
                arrays, arguments = case.arrays(dtype), tuple(range(len(case.shapes)))
                y = case.call(*arrays)
                dy = jnp.cos(jnp.arange(y.size)).reshape(y.shape).astype(dtype)
                actual = jax.vjp(case.call, *arrays)[1](dy)
                wider = [a.astype("float32") for a in arrays]
                reference = jax.vjp(case.reference, *wider)[1](dy.astype("float32"))
                for array, a, b in zip(arrays, actual, reference):
                    self.assertEqual(a.dtype, array.dtype)
                    self.assert_near(a, b, dtype)

    @for_every_case
    def test_jit(self, case: Case) -> None:
        arrays = case.arrays("float32")
        f = jax.jit(lambda *inputs: case.call(*inputs))
        self.assert_same_bits(f(*arrays), case.call(*arrays))
        f(*case.arrays("float32", seed=1))
        self.assertEqual(f._cache_size(), 1)
        gradient = jax.jit(jax.grad(weighted(case.call)))
        self.assert_same_bits(gradient(*arrays), jax.grad(weighted(case.call))(*arrays))

    @for_every_case
    def test_vmap(self, case: Case) -> None:
        arrays = stacked(case, "float32")
        slice_results = [case.call(*(a[i] for a in arrays)) for i in range(3)]
        self.assert_same_bits(jax.vmap(case.call)(*arrays), jnp.stack(slice_results))
        self.assert_same_bits(jax.jit(jax.vmap(case.call))(*arrays), jnp.stack(slice_results))
        last = jax.vmap(case.call, in_axes=-1, out_axes=1)(*(jnp.moveaxis(a, 0, -1) for a in arrays))
        self.assert_same_bits(last, jnp.stack(slice_results, axis=1))
        twice = jax.vmap(jax.vmap(case.call))(*(jnp.stack([a, a]) for a in arrays))
        self.assert_same_bits(twice[1], jnp.stack(slice_results))

    @for_every_case
    def test_vmap_of_some(self, case: Case) -> None:
        for mapped in range(len(case.shapes)) if len(case.shapes) > 1 else ():
            arrays = case.arrays("float32")
            arrays[mapped] = stacked(case, "float32")[mapped]
            axes = tuple(0 if i == mapped else None for i in range(len(arrays)))
            y = jax.vmap(case.call, in_axes=axes)(*arrays)
            for i in range(3):
                slices = [a[i] if n == mapped else a for n, a in enumerate(arrays)]
                self.assert_same_bits(y[i], case.call(*slices))

    @for_every_case
    def test_vmap_of_grad_and_grad_of_vmap(self, case: Case) -> None:
        arrays, arguments = stacked(case, "float32"), tuple(range(len(case.shapes)))
        gradient = jax.grad(weighted(case.call), arguments)
        slice_results = [gradient(*(a[i] for a in arrays)) for i in range(3)]
        expected = [jnp.stack(slices) for slices in zip(*slice_results)]
        for f in (jax.vmap(gradient), jax.jit(jax.vmap(gradient)),
                  jax.grad(lambda *a: jax.vmap(weighted(case.call))(*a).sum(), arguments)):
            for a, b in zip(f(*arrays), expected):
                self.assert_same_bits(a, b)
        # The gradient of an array that is not mapped is the sum over the slices.
        first = jax.grad(lambda x, *rest: jax.vmap(weighted(case.call), in_axes=(0, *[None] * len(rest)))(
            x, *rest).sum(), arguments)(arrays[0], *(a[0] for a in arrays[1:]))
        parts = [gradient(arrays[0][i], *(a[0] for a in arrays[1:])) for i in range(3)]
        self.assert_same_bits(first[0], jnp.stack([p[0] for p in parts]))
        for n in arguments[1:]:
            self.assert_close(first[n], sum(p[n] for p in parts))

    @for_every_case
    def test_gradients_of_others_do_not_change_a_gradient(self, case: Case) -> None:
        """Traces that JAX caches do not mix: gradients with respect to all arrays, to one, and mapped to all again."""
        arrays, arguments = case.arrays("float32"), tuple(range(len(case.shapes)))
        expected = jax.grad(weighted(case.call), arguments)(*arrays)
        jax.make_jaxpr(jax.value_and_grad(weighted(case.call), arguments))(*arrays)
        for argument in reversed(arguments):
            self.assert_same_bits(jax.jit(jax.grad(weighted(case.call), argument))(*arrays), expected[argument])
        mapped = [a[None] for a in arrays]
        for f in (jax.vmap(jax.grad(weighted(case.call), arguments)),
                  jax.grad(lambda *a: jax.vmap(weighted(case.call))(*a).sum(), arguments)):
            for a, b in zip(f(*mapped), expected):
                self.assert_same_bits(a[0], b)

    @for_every_case
    def test_empty(self, case: Case) -> None:
        for axis in range(3 if len(case.shapes[0]) == 3 else 1):
            if axis == 2 and "sparse_mix" not in case.name:
                continue  # references divide by the number of channels
            shapes = list(case.shapes)
            for i, batch in enumerate(case.axes):
                if batch is not None and (axis < 2 or i == 0):
                    shapes[i] = tuple(0 if n == batch + axis else extent for n, extent in enumerate(shapes[i]))
            arrays = [jnp.zeros(shape) for shape in shapes]
            y = case.call(*arrays)
            self.assertEqual(y.size, 0)
            gradients = jax.grad(lambda *a: case.call(*a).sum(), tuple(range(len(shapes))))(*arrays)
            self.assertEqual([g.shape for g in gradients], shapes)

    @for_every_case
    def test_errors(self, case: Case) -> None:
        arrays = case.arrays("float32")
        self.assert_error("must be .*, has 5 axes", lambda: case.call(jnp.zeros((1, 2, 3, 4, 5)), *arrays[1:]))
        self.assert_error("must be .*, has 1 axis", lambda: case.call(jnp.zeros(4), *arrays[1:]))
        integers = [a.astype(jnp.int32) for a in arrays]
        self.assert_error("the dtype must be float32", lambda: case.call(*integers))
        if not case.supports_16_bit:
            self.assert_error("the dtype must be float32 or float64", lambda: case.call(arrays[0].astype(jnp.bfloat16)))


if __name__ == "__main__":
    unittest.main()
