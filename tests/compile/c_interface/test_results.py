# SPDX-License-Identifier: Apache-2.0
"""Calls libslicesort through ctypes and compares results with Python's. SLICESORT_LIBRARY is the path of the library."""
import ctypes
import math
import re
import unittest
from itertools import product
from pathlib import Path

from views import LIBRARY, Call, Pairs, SoftmaxAttention, Tensor, TopK, call, pointer_of, random_tensor, rows_like, slicing_sort, views_of

HEADERS = Path(__file__).resolve().parents[3] / "examples/bindings/c"
X = (2, 6, 4)  # batch, length, channels
Q, K, V = (2, 2, 5, 3), (2, 2, 6, 3), (2, 2, 6, 4)


class Results(unittest.TestCase):
    def test_the_library_exports_the_declared_functions(self) -> None:
        text = "".join(path.read_text(encoding="utf-8") for path in HEADERS.glob("*.h"))
        declared = set(re.findall(r"^SLICESORT_(?:CALL|EXPORT)\b.*?\b(slicesort_\w+)\(", text, re.M | re.S))
        self.assertGreater(len(declared), 40)
        for name in declared:
            self.assertTrue(hasattr(LIBRARY, name), name)

    def test_sorts(self) -> None:
        x = random_tensor(X)
        y, perm = slicing_sort(x)
        indices, gathered, back = rows_like(X), Tensor(X), Tensor(X)
        call("argsort", None, b"half_half{2}", x, indices, None)
        self.assertEqual(list(indices.values), list(perm.values))
        call("permute", None, x, perm, gathered, None)
        self.assertEqual(list(gathered.values), list(y.values))
        call("permute_backward", None, y, perm, back, None)
        self.assertEqual(list(back.values), list(x.values))
        values, rows = Tensor((2, 3, 4)), rows_like((2, 3, 4))
        call("top_k", None, TopK(k=3, order=b"descending"), x, values, rows, None)
        largest = Tensor((2, 3, 4))
        call("top_k", None, TopK(k=3), x, largest, rows, None)  # the default order
        self.assertEqual(list(largest.values), list(values.values))
        for b, c in product(range(2), range(4)):
            column = [x[b, n, c] for n in range(6)]
            expected = sorted(column, reverse=c % 2 == 1)  # heads of one channel alternate
            self.assertEqual([y[b, n, c] for n in range(6)], expected)
            self.assertEqual([values[b, i, c] for i in range(3)], sorted(column, reverse=True)[:3])
            self.assertEqual([x[b, int(rows[b, i, c]), c] for i in range(3)], [values[b, i, c] for i in range(3)])

    def test_max_exchange(self) -> None:
        x, y, maximum = random_tensor(X), Tensor(X), rows_like((2, 1, 4))
        call("max_exchange", None, 1, x, y, maximum, None)
        for b, c in product(range(2), range(4)):
            column = [x[b, n, c] for n in range(6)]
            row = column.index(max(column))
            column[1], column[row] = column[row], column[1]
            self.assertEqual([y[b, n, c] for n in range(6)], column)
            self.assertEqual(maximum[b, 0, c], row)

    def test_shuffle(self) -> None:
        x, y, other, back = random_tensor(X), Tensor(X), Tensor(X), Tensor(X)
        call("shuffle", None, 2**64 - 1, b"per_channel", x, y, None)
        call("shuffle", None, 2**64 - 2, b"per_channel", x, other, None)
        self.assertNotEqual(list(y.values), list(other.values))
        call("shuffle_backward", None, 2**64 - 1, b"per_channel", y, back, None)
        self.assertEqual(list(back.values), list(x.values))

    def test_short_convolution(self) -> None:
        x, weights, y = random_tensor(X), random_tensor((4, 2), 2), Tensor(X)
        call("short_convolution", None, 1, x, weights, y, None)
        for b, n, c in product(range(2), range(1, 6), range(4)):
            self.assertAlmostEqual(y[b, n, c], weights[c, 0] * x[b, n - 1, c] + weights[c, 1] * x[b, n, c])

    def test_softmax_attention(self) -> None:
        q, k, v, y = random_tensor(Q), random_tensor(K, 2), random_tensor(V, 3), Tensor((2, 2, 5, 4))
        lengths = Tensor((2,), [4, 6], "int64")
        options = SoftmaxAttention(pairs=Pairs(lengths=pointer_of(lengths)), scale=ctypes.pointer(ctypes.c_double(0.75)))
        call("softmax_attention", None, options, q, k, v, y, None)
        for b, h, i in product(range(2), range(2), range(5)):
            keys = range(4 if b == 0 else 6)
            weights = [math.exp(0.75 * sum(q[b, h, i, c] * k[b, h, j, c] for c in range(3))) for j in keys]
            for c in range(4):
                self.assertAlmostEqual(y[b, h, i, c], sum(w * v[b, h, j, c] for w, j in zip(weights, keys)) / sum(weights))

    def test_merge_attention_of_two_sets_of_keys(self) -> None:
        q, y_shape, state_shape = random_tensor(Q), (2, 2, 5, 4), (2, 2, 5, 2)
        k, v, whole, merged = random_tensor(K, 2), random_tensor(V, 3), Tensor(y_shape), Tensor(y_shape)
        call("softmax_attention", None, None, q, k, v, whole, None)
        ys, states = [Tensor(y_shape), Tensor(y_shape)], [Tensor(state_shape), Tensor(state_shape)]
        for part, (first, count) in enumerate([(0, 2), (2, 4)]):
            call("softmax_attention", None, None, q, k.view_of_rows(first, count), v.view_of_rows(first, count), ys[part], states[part])
        call("merge_attention", None, 2, views_of(ys), views_of(states), merged, Tensor(state_shape))
        for actual, expected in zip(merged.values, whole.values):
            self.assertAlmostEqual(actual, expected)


class Execution(unittest.TestCase):
    def test_threads_and_size_query(self) -> None:
        x, y, needed = random_tensor(X), Tensor(X), ctypes.c_size_t(77)
        call("slicing_sort", Call(threads=3, required_bytes=ctypes.pointer(needed)), None, x, y, None, None)
        self.assertEqual(set(y.values), {99})
        memory = (ctypes.c_uint8 * needed.value)()
        call("slicing_sort", Call(threads=3, workspace=ctypes.addressof(memory), workspace_bytes=needed.value), None, x, y, None, None)
        self.assertEqual(list(y.values), list(slicing_sort(x, b"ascending")[0].values))

    def test_errors(self) -> None:
        with self.assertRaisesRegex(ValueError, "^order \"up\" is none of ascending"):
            slicing_sort(random_tensor(X), b"up")
