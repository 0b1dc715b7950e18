# SPDX-License-Identifier: Apache-2.0
"""Gradients of every operator of libslicesort, called through ctypes, against central differences. SLICESORT_LIBRARY is the path
of the library."""
import ctypes
import math
import unittest
from collections.abc import Callable
from itertools import product

from views import (Csp, DecayingSum, LinearAttention, Pairs, PointwiseAttention, Sinkhorn, SinkhornCsp, SoftmaxAttention, SoftSort, SparseMix,
                   Tensor, TopK, call, pointer_of, random_tensor, rows_like, slicing_sort)

X = (2, 6, 4)  # batch, length, channels
Q, K, V = (2, 2, 5, 3), (2, 2, 6, 3), (2, 2, 6, 4)
Forward = Callable[[list[Tensor]], list[Tensor]]
Backward = Callable[[list[Tensor], list[Tensor]], list[Tensor]]


class Gradients(unittest.TestCase):
    """Compares the gradient of sum(dy * f(inputs)) with central differences."""

    def compare(self, inputs: list[Tensor], forward: Forward, backward: Backward) -> None:
        dys = [random_tensor(y.shape, 10 + i) for i, y in enumerate(forward(inputs))]
        grads, step = backward(inputs, dys), 1e-5
        self.assertEqual(len(inputs), len(grads))
        for i, grad in enumerate(grads):
            direction = random_tensor(grad.shape, 20 + i)
            sums = []
            for sign in (1, -1):
                moved = Tensor(grad.shape, [x + sign * step * d for x, d in zip(inputs[i].values, direction.values)])
                ys = forward(inputs[:i] + [moved] + inputs[i + 1:])
                sums.append(sum(w * y for dy, out in zip(dys, ys) for w, y in zip(dy.values, out.values)))
            expected = sum(g * d for g, d in zip(grad.values, direction.values))
            self.assertAlmostEqual((sums[0] - sums[1]) / (2 * step), expected, delta=1e-6 * (1 + abs(expected)), msg=f"input {i}")
            self.assertGreater(abs(expected), 1e-4, f"the gradient of input {i} is not tested")

    def compare_one(self, name: str, before: tuple, saved: list[tuple[tuple[int, ...], str]] | None = None, needs_x: bool = False) -> None:
        """Compares an operator x -> y with `saved` tensors; `before` are the arguments before the tensors."""
        def run_forward(x: Tensor) -> tuple[Tensor, list[Tensor]]:
            y, states = Tensor(X), [Tensor(shape, dtype=dtype) for shape, dtype in saved or []]
            call(name, None, *before, x, y, *states, None)
            return y, states

        def run_backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            dx, (_, states) = Tensor(X), run_forward(inputs[0])
            call(name + "_backward", None, *before, *dys, *(inputs if needs_x else []), *states, dx, None)
            return [dx]
        self.compare([random_tensor(X)], lambda inputs: [run_forward(inputs[0])[0]], run_backward)

    def test_slicing_sort(self) -> None:
        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            dx = Tensor(X)
            call("slicing_sort_backward", None, dys[0], slicing_sort(inputs[0])[1], dx, None)
            return [dx]
        self.compare([random_tensor(X)], lambda inputs: [slicing_sort(inputs[0])[0]], backward)

    def test_top_k(self) -> None:
        shape = (2, 3, 4)

        def forward(x: Tensor) -> tuple[Tensor, Tensor]:
            values, rows = Tensor(shape), rows_like(shape)
            call("top_k", None, TopK(k=3, by_index=1), x, values, rows, None)
            return values, rows

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            dx = Tensor(X)
            call("top_k_backward", None, dys[0], forward(inputs[0])[1], dx)
            return [dx]
        self.compare([random_tensor(X)], lambda inputs: [forward(inputs[0])[0]], backward)

    def test_operators_with_one_input(self) -> None:
        saved_rows = (X, "int32")
        for ranks, regularization in product((0, 1), (b"l2", b"entropic")):
            options = SoftSort(ranks=ranks, regularization=regularization, strength=0.7)
            with self.subTest(ranks=ranks, regularization=regularization):
                self.compare_one("soft_sort", (options,), [saved_rows, saved_rows], needs_x=True)
        with self.subTest("max_exchange"):
            self.compare_one("max_exchange", (1,), [((2, 1, 4), "int32")])
        with self.subTest("shuffle"):
            self.compare_one("shuffle", (3, None))
        with self.subTest("csp"):
            csp = Csp(groups=b"group_size{3}", shift=b"linear", alignment=b"reference{1}")
            shape, dtype = (ctypes.c_int64 * 3)(), ctypes.c_int32()
            call("csp_state", csp, (ctypes.c_int64 * 3)(*X), shape, ctypes.byref(dtype))
            self.assertEqual(dtype.value, 5)
            self.compare_one("csp", (csp,), [(tuple(shape), "uint8")])
        with self.subTest("sinkhorn_csp"):
            options = SinkhornCsp(groups=b"group_size{3}", shift=b"linear", tau=0.5, iterations=3, reference=1)
            self.compare_one("sinkhorn_csp", (options,), needs_x=True)

    def test_sinkhorn(self) -> None:
        options = Sinkhorn(tau=0.5, half_steps=3, rows_last=1)
        rows, columns = Tensor((2,), [6, 4], "int64"), Tensor((2,), [4, 3], "int64")

        def forward(inputs: list[Tensor]) -> list[Tensor]:
            y = Tensor(X)
            call("sinkhorn", None, options, inputs[0], y, rows, columns)
            for row in range(6):
                self.assertAlmostEqual(sum(y[0, row, column] for column in range(4)), 1)
            return [y]

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            dlogits = Tensor(X)
            call("sinkhorn_backward", None, options, dys[0], inputs[0], dlogits, rows, columns)
            return [dlogits]
        self.compare([random_tensor(X)], forward, backward)

    def test_multi_permutation(self) -> None:
        def forward(inputs: list[Tensor]) -> tuple[Tensor, Tensor]:
            y, perm = Tensor(X), rows_like(X)
            call("multi_permutation", None, b"descending", *inputs, y, perm, None)
            return y, perm

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            dx, dweights = Tensor(X), Tensor((3,))
            call("multi_permutation_backward", None, dys[0], *inputs, forward(inputs)[1], dx, dweights, None)
            return [dx, dweights]
        self.compare([random_tensor(X), random_tensor((3,), 2)], lambda inputs: [forward(inputs)[0]], backward)

    def test_sparse_mix(self) -> None:
        w, options = (3, *X[:2], 4), SparseMix(topology=b"chord{4}", checkpoint_every=2)
        count = ctypes.c_int64()
        call("sparse_mix_states", options, 3, ctypes.byref(count))

        def forward(inputs: list[Tensor]) -> tuple[Tensor, Tensor]:
            y, states = Tensor(X), Tensor((count.value, *X))
            call("sparse_mix", None, options, *inputs, y, states, None)
            return y, states

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            dx, dw = Tensor(X), Tensor(w)
            call("sparse_mix_backward", None, options, dys[0], *inputs, forward(inputs)[1], dx, dw, None)
            return [dx, dw]
        self.compare([random_tensor(X), random_tensor(w, 2)], lambda inputs: [forward(inputs)[0]], backward)

    def compare_many(self, name: str, before: tuple, shapes: list[tuple[int, ...]], outputs: list[tuple[int, ...]], after: tuple = (),
                     reads_dys_of: int = 1) -> None:
        """Compares an operator that saves nothing: `before` and `after` are the arguments before and after its tensors."""
        def forward(inputs: list[Tensor]) -> list[Tensor]:
            ys = [Tensor(shape) for shape in outputs]
            call(name, None, *before, *inputs, *ys, *after)
            return ys

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            grads = [Tensor(shape) for shape in shapes]
            call(name + "_backward", None, *before, *dys[:reads_dys_of], *inputs, *grads, *after)
            return grads
        self.compare([random_tensor(shape, i + 1) for i, shape in enumerate(shapes)], forward, backward)

    def test_short_convolution(self) -> None:
        self.compare_many("short_convolution", (1,), [X, (4, 3)], [X], (None,))

    def test_decaying_sum(self) -> None:
        numbers, states = (4, 4), (2, 4, 4)
        self.compare_many("decaying_sum", (DecayingSum(is_complex=1, direction=b"both"),), [X, numbers, numbers, states], [X, states], (None,), 2)

    def test_softmax_attention(self) -> None:
        shapes, state_shape, y_shape = [Q, K, V, (1, 1, 5, 6)], (2, 2, 5, 2), (2, 2, 5, 4)

        def options(bias: Tensor) -> SoftmaxAttention:
            return SoftmaxAttention(pairs=Pairs(mask=b"window{2, 3}"), bias=pointer_of(bias), dropout=0.25, seed=7)

        def forward(inputs: list[Tensor]) -> tuple[Tensor, Tensor]:
            y, state = Tensor(y_shape), Tensor(state_shape)
            call("softmax_attention", None, options(inputs[3]), *inputs[:3], y, state)
            return y, state

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            grads = [Tensor(shape) for shape in shapes]
            call("softmax_attention_backward", None, options(inputs[3]), dys[0], *inputs[:3], *forward(inputs), *grads)
            return grads
        self.compare([random_tensor(shape, i + 1) for i, shape in enumerate(shapes)], lambda inputs: [forward(inputs)[0]], backward)

    def test_pointwise_attention(self) -> None:
        shapes = [Q, K, V, (1, 1, 5, 6)]

        def options(bias: Tensor) -> PointwiseAttention:
            return PointwiseAttention(pairs=Pairs(mask=b"causal{1}"), bias=pointer_of(bias), function=b"laplace{0.25, 0.5}", per_key=1)

        def forward(inputs: list[Tensor]) -> list[Tensor]:
            y = Tensor((2, 2, 5, 4))
            call("pointwise_attention", None, options(inputs[3]), *inputs[:3], y)
            return [y]

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            grads = [Tensor(shape) for shape in shapes]
            call("pointwise_attention_backward", None, options(inputs[3]), dys[0], *inputs[:3], *grads)
            return grads
        self.compare([random_tensor(shape, i + 1) for i, shape in enumerate(shapes)], forward, backward)

    def test_linear_attention(self) -> None:
        shapes = [Q, K, V, (2, 5, 3)]

        def options(w: Tensor) -> LinearAttention:
            return LinearAttention(feature=b"random_exp", w=pointer_of(w))

        def forward(inputs: list[Tensor]) -> list[Tensor]:
            y = Tensor((2, 2, 5, 4))
            call("linear_attention", None, options(inputs[3]), *inputs[:3], y)
            return [y]

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            grads = [Tensor(shape) for shape in shapes]
            call("linear_attention_backward", None, options(inputs[3]), dys[0], *inputs[:3], *grads)
            return grads
        self.compare([random_tensor(shape, i + 1) for i, shape in enumerate(shapes)], forward, backward)

    def test_linear_attention_in_two_pieces(self) -> None:
        q, elements = (2, 2, 6, 3), ctypes.c_int64()
        call("linear_attention_state", None, Tensor(q), Tensor(V), ctypes.byref(elements))
        state, name = (2, 2, elements.value), "linear_attention_with_state"
        zeros = Tensor(state, [0] * math.prod(state))

        def forward(inputs: list[Tensor]) -> tuple[Tensor, Tensor]:
            y, middle, last = Tensor(V), Tensor(state), Tensor(state)
            for rows, before, after in ((0, 3), zeros, middle), ((3, 3), middle, last):
                call(name, None, None, *(x.view_of_rows(*rows) for x in inputs), before, y.view_of_rows(*rows), after)
            return y, middle

        def backward(inputs: list[Tensor], dys: list[Tensor]) -> list[Tensor]:
            grads, middle, dmiddle, dfirst = [Tensor(q), Tensor(q), Tensor(V)], forward(inputs)[1], Tensor(state), Tensor(state)
            for rows, dlast, before, dbefore in ((3, 3), zeros, middle, dmiddle), ((0, 3), dmiddle, zeros, dfirst):
                call(name + "_backward", None, None, dys[0].view_of_rows(*rows), dlast, *(x.view_of_rows(*rows) for x in inputs), before,
                     *(grad.view_of_rows(*rows) for grad in grads), None, dbefore)
            return grads
        self.compare([random_tensor(shape, i + 1) for i, shape in enumerate([q, q, V])], lambda inputs: [forward(inputs)[0]], backward)
