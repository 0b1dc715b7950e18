# SPDX-License-Identifier: Apache-2.0
"""Compares the operators with reference implementations in torch: values, gradients, dtypes, strides, sizes."""
import itertools
import unittest
from functools import partial

import torch
from cases import BATCH, CASES, CHANNELS, LENGTH, F

# Tolerance of sums of numbers of about 1.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 2e-2, torch.bfloat16: 1e-1}
TWICE_DIFFERENTIABLE = "slicing_sort", "permute", "max_exchange", "shuffle", "top_k"


class Values(unittest.TestCase):
    def test_values_and_gradients_are_those_of_torch_alone(self):
        for case in CASES:
            for dtype in (torch.float64, torch.float32):
                with self.subTest(case.name, dtype=dtype):
                    actual_inputs, expected_inputs = case.tensors(dtype, grad=True), case.tensors(dtype, grad=True)
                    y, expected = case.call(*actual_inputs), case.reference(*expected_inputs)
                    torch.testing.assert_close(y, expected, rtol=0, atol=TOLERANCE[dtype])
                    dy = torch.randn_like(expected)
                    for dx, expected_dx in zip(torch.autograd.grad(y, actual_inputs, dy), torch.autograd.grad(expected, expected_inputs, dy)):
                        torch.testing.assert_close(dx, expected_dx, rtol=0, atol=20 * TOLERANCE[dtype])

    def test_half_precision(self):
        for case in CASES:
            for dtype in (torch.float16, torch.bfloat16):
                with self.subTest(case.name, dtype=dtype):
                    tensors = case.tensors(dtype)
                    if case.floats:
                        with self.assertRaisesRegex(RuntimeError, "float32 or float64"):
                            case.call(*tensors)
                        continue
                    y = case.call(*tensors)
                    self.assertEqual(y.dtype, dtype)
                    if "csp" in case.name or "sort" in case.name or "perm" in case.name:
                        continue  # ties of rounded numbers: test_ties
                    expected = case.reference(*(x.double() for x in tensors))
                    torch.testing.assert_close(y.double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])

    def test_gradcheck(self):
        for case in CASES:
            with self.subTest(case.name):
                self.assertTrue(torch.autograd.gradcheck(case.call, case.tensors(grad=True)))

    def test_second_derivatives_of_permutations(self):
        for name in TWICE_DIFFERENTIABLE:
            case = next(case for case in CASES if case.name == name)
            with self.subTest(name):
                self.assertTrue(torch.autograd.gradgradcheck(case.call, case.tensors(grad=True)))

    def test_no_other_second_derivative(self):
        for case in CASES:
            if case.name.split()[0] in TWICE_DIFFERENTIABLE:
                continue
            with self.subTest(case.name):
                tensors = case.tensors(grad=True)
                dx = torch.autograd.grad(case.call(*tensors).square().sum(), tensors[0], create_graph=True)[0]
                with self.assertRaisesRegex(RuntimeError, "differentiated twice"):
                    dx.sum().backward()

    def test_ties_nan_and_zeros_as_torch_orders_them(self):
        for dtype in TOLERANCE:
            for descending in (False, True):
                x = torch.randint(-3, 4, (3, 70, 9)).to(dtype)
                x[0, 5:9] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0]).to(dtype)[:, None]
                y, perm = F.slicing_sort_with_permutation(x, "descending" if descending else "ascending")
                values, indices = torch.sort(x, dim=1, stable=True, descending=descending)
                self.assertTrue(torch.equal(perm.to(torch.int64), indices))
                torch.testing.assert_close(y, values, rtol=0, atol=0, equal_nan=True)
                self.assertEqual(perm.dtype, torch.uint16)

    def test_shuffle_is_that_of_the_library(self):
        """Compares with the rows in docs/operators/shuffle.md."""
        x = torch.arange(8.0)[None, :, None].expand(2, 8, 2)
        first, second = [7.0, 4, 2, 6, 1, 0, 3, 5], [5.0, 7, 4, 2, 1, 0, 3, 6]
        for sample in range(2):
            self.assertTrue(torch.equal(F.shuffle(x, 2024)[sample], torch.tensor([first, first]).T))
            self.assertTrue(torch.equal(F.shuffle(x, 2024, "per_channel")[sample], torch.tensor([first, second]).T))


class Layouts(unittest.TestCase):
    def test_strided_tensors_are_used_and_made(self):
        for case in CASES:
            with self.subTest(case.name):
                plain = case.tensors(grad=True)
                strided = [x.detach().transpose(-1, -2).contiguous().transpose(-1, -2).requires_grad_() if x.dim() > 1
                           else x.detach().repeat_interleave(2)[::2].requires_grad_() for x in plain]
                y, expected = case.call(*strided), case.call(*plain)
                self.assertTrue(torch.equal(y, expected))
                if y.shape == strided[0].shape:
                    self.assertEqual(y.stride(), strided[0].stride())
                dy = torch.randn_like(expected).transpose(-1, -2).contiguous().transpose(-1, -2)
                for dx, expected_dx in zip(torch.autograd.grad(y, strided, dy), torch.autograd.grad(expected, plain, dy)):
                    self.assertTrue(torch.equal(dx, expected_dx))

    def test_gradients_that_are_expanded(self):
        for case in CASES:
            with self.subTest(case.name):
                tensors = case.tensors(grad=True)
                torch.testing.assert_close(
                    torch.autograd.grad(case.call(*tensors).sum(), tensors),
                    torch.autograd.grad(case.call(*tensors), tensors, torch.ones_like(case.call(*tensors))), rtol=0, atol=0)

    def test_empty(self):
        for shape in ((0, LENGTH, CHANNELS), (BATCH, 0, CHANNELS), (BATCH, LENGTH, 0)):
            x = torch.zeros(shape, requires_grad=True)
            w = torch.zeros(2, *shape[:2], 3)
            calls = (F.slicing_sort, F.max_exchange, F.shuffle, lambda x: F.csp(x, alignment="ascending"),
                     lambda x: F.sparse_mix(x, w), lambda x: F.multi_permutation(x, torch.ones(2)))
            for call in calls:
                y = call(x)
                self.assertEqual(y.shape, shape)
                self.assertEqual(torch.autograd.grad(y.sum(), x)[0].shape, shape)
        q, kv = torch.ones(2, 3, 4, 5), torch.ones(2, 3, 0, 5)
        self.assertTrue(torch.equal(F.softmax_attention(q, kv, kv), torch.zeros_like(q)))
        self.assertTrue(torch.equal(F.linear_attention(q, kv, kv), torch.zeros_like(q)))
        for scale in (None, "per_key"):
            self.assertTrue(torch.equal(F.pointwise_attention(q, kv, kv, scale=scale), torch.zeros_like(q)))

    def test_beyond_sixteen_bits(self):
        x = torch.randn(1, 65537, 2)
        y, perm = F.slicing_sort_with_permutation(x)
        self.assertEqual(perm.dtype, torch.int32)
        self.assertTrue(torch.equal(y, torch.sort(x, dim=1).values))

    def test_pieces_of_a_recurrence_have_the_bits_of_the_whole(self):
        for dtype in (torch.float32, torch.bfloat16):
            x, a, w = torch.randn(2, LENGTH, 4).to(dtype), torch.rand(2, 4).to(dtype), torch.randn(2, 4).to(dtype)
            y, last = F.decaying_sum_with_state(x, a, w)
            pieces, state = [], None
            for piece in x.split(3, dim=1):
                rows, state = F.decaying_sum_with_state(piece, a, w, state)
                pieces.append(rows)
            self.assertTrue(torch.equal(torch.cat(pieces, 1), y))
            self.assertTrue(torch.equal(state, last))

    def test_pieces_of_linear_attention_have_the_bits_of_the_whole(self):
        for dtype, kv_heads in itertools.product((torch.float32, torch.bfloat16), (4, 2)):
            q, k, v = (torch.randn(2, heads, 70, channels).to(dtype) for heads, channels in ((4, 4), (kv_heads, 4), (kv_heads, 5)))
            w = torch.randn(1, 6, 4).to(dtype)
            for options in ({}, {"w": w, "feature": "random_exp"}, {"w": w, "feature": "random_fourier", "divisor": "sum_plus{80}"}):
                y = F.linear_attention(q, k, v, direction="causal", **options)
                _, last = F.linear_attention_with_state(q, k, v, **options)
                pieces, state = [], None
                for rows in zip(q.split(9, dim=2), k.split(9, dim=2), v.split(9, dim=2)):
                    piece, state = F.linear_attention_with_state(*rows, initial=state, **options)
                    pieces.append(piece)
                self.assertTrue(torch.equal(torch.cat(pieces, 2), y))
                self.assertTrue(torch.equal(state, last))
                self.assertEqual(state.size(1), kv_heads)

    def test_gradients_through_states_of_linear_attention(self):
        for kv_heads in (4, 2, 1):
            q, k, v = (torch.randn(2, heads, 70, 4, dtype=torch.float64, requires_grad=True) for heads in (4, kv_heads, kv_heads))
            dy = torch.randn(2, 4, 70, 4, dtype=torch.float64)
            whole = torch.autograd.grad(F.linear_attention(q, k, v, direction="causal"), (q, k, v), dy)
            first, state = F.linear_attention_with_state(q[:, :, :40], k[:, :, :40], v[:, :, :40])
            second, _ = F.linear_attention_with_state(q[:, :, 40:], k[:, :, 40:], v[:, :, 40:], initial=state)
            for gradient, expected in zip(torch.autograd.grad(torch.cat((first, second), 2), (q, k, v), dy), whole):
                torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-12)

    def test_lengths(self):
        lengths = torch.tensor([LENGTH, 5])
        for case in CASES:
            if case.name.startswith(("permute", "merge_attention", "softmax_attention", "scaled_dot_product_attention",
                                     "linear_attention", "pointwise_attention", "multi", "sparse_mix", "csp one", "short_convolution", "decaying_sum",
                                     "sinkhorn rows", "top_k")) or case.name == "sinkhorn":
                continue
            x = case.tensors()[0]
            name = case.name.split()[0]
            call = getattr(F, name)
            arguments = {"sinkhorn_csp": {"tau": 0.5}, "soft_sort": {"dim": 1}, "soft_rank": {"dim": 1}}.get(name, {})
            with self.subTest(case.name):
                y = call(x, lengths=lengths, **arguments)
                self.assertTrue(torch.equal(y[1, 5:], x[1, 5:] * (name != "soft_rank")))
                if name not in ("csp", "sinkhorn_csp"):  # their linear shift depends on the tensor's length
                    torch.testing.assert_close(y[1:, :5], call(x[1:, :5], **arguments))
        x, weights = torch.randn(2, LENGTH, 4), torch.randn(4, 3)
        for selected, expected in zip(F.top_k(x, 3, lengths=lengths), F.top_k(x[1:, :5], 3)):
            self.assertTrue(torch.equal(selected[1:], expected))
        y = F.short_convolution(x, weights, shift=1, lengths=lengths)
        self.assertTrue(torch.equal(y[1:, :5], F.short_convolution(x[1:, :5], weights, shift=1)))
        self.assertTrue(torch.equal(y[1, 5:], torch.zeros_like(y[1, 5:])))
        a, w = torch.rand(2, 4) - 0.5, torch.randn(2, 4)
        y = F.decaying_sum(x, a, w, direction="reverse", lengths=lengths)
        self.assertTrue(torch.equal(y[1:, :5], F.decaying_sum(x[1:, :5], a, w, direction="reverse")))
        self.assertTrue(torch.equal(y[1, 5:], torch.zeros_like(y[1, 5:])))
        columns = torch.tensor([4, 3])
        y = F.sinkhorn(x, lengths=lengths, column_lengths=columns)
        torch.testing.assert_close(y[1:, :5, :3], F.sinkhorn(x[1:, :5, :3]))
        self.assertEqual(y[1, 5:].abs().sum() + y[1, :, 3:].abs().sum(), 0)
        q, k, v = (torch.randn(2, 3, LENGTH, 4) for _ in range(3))
        for call in (F.softmax_attention, F.linear_attention, F.pointwise_attention, partial(F.pointwise_attention, scale="per_key")):
            y = call(q, k, v, lengths=lengths, query_lengths=lengths)
            torch.testing.assert_close(y[1:, :, :5], call(q[1:, :, :5], k[1:, :, :5], v[1:, :, :5]))
            self.assertTrue(torch.equal(y[1, :, 5:], torch.zeros_like(y[1, :, 5:])))


class Rows(unittest.TestCase):
    """Indices from the caller."""

    def test_out_of_range_is_an_index_error(self):
        x = torch.randn(2, 8, 4, requires_grad=True)
        compiled = torch.compile(F.permute, fullgraph=True, backend="aot_eager")
        good = torch.argsort(x, dim=1)
        for dtype in (torch.uint16, torch.int32, torch.uint32, torch.int64):
            for bad in (-1, 8, 2**16 - 1, 2**31 - 1, 2**40):
                if not torch.iinfo(dtype).min <= bad <= torch.iinfo(dtype).max:
                    continue
                perm = good.clone()
                perm[1, 3, 2] = bad
                for call in (F.permute, compiled, torch.func.vjp):
                    with self.subTest(dtype=dtype, bad=bad, call=call), self.assertRaisesRegex(
                            IndexError, rf"^perm\[1, 3, 2\] is {bad}, must be in 0..7 \(length\)"):
                        if call is torch.func.vjp:
                            torch.func.vjp(lambda a: F.permute(a, perm.to(dtype)), x)
                        else:
                            call(x, perm.to(dtype))

    def test_long_tensors(self):
        for rows in (32768, 40000, 65536, 65537):
            x = torch.randn(1, rows, 1)
            y, perm = F.slicing_sort_with_permutation(x)
            self.assertTrue(torch.equal(F.permute(x, perm), y))
            if rows < 65536:
                wrong = perm.to(torch.int32)
                wrong[0, 1, 0] = rows
                with self.assertRaises(IndexError):
                    F.permute(x, wrong.to(torch.uint16))

    def test_rows_past_a_length_are_not_read(self):
        x, lengths = torch.randn(2, 8, 4), torch.tensor([3, 8])
        y, perm = F.slicing_sort_with_permutation(x, lengths=lengths)
        perm = perm.to(torch.int64)
        perm[0, 3:] = 2**40
        self.assertTrue(torch.equal(F.permute(x, perm, lengths), y))
        perm[0, 2, 1] = 3
        with self.assertRaisesRegex(IndexError, r"perm\[0, 2, 1\] is 3, must be in 0..2"):
            F.permute(x, perm, lengths)

    def test_indices_of_torch_and_for_torch(self):
        x = torch.randn(2, 9, 5, dtype=torch.float64, requires_grad=True)
        y, perm = F.slicing_sort_with_permutation(x, "descending", index_dtype=torch.int64)
        self.assertEqual(perm.dtype, torch.int64)
        self.assertTrue(torch.equal(torch.gather(x, 1, perm), y))
        self.assertEqual(F.slicing_sort_with_permutation(x, index_dtype=torch.int32)[1].dtype, torch.int32)
        by_torch = torch.argsort(x, dim=1, descending=True)
        self.assertTrue(torch.equal(F.permute(x, by_torch), y))
        self.assertTrue(torch.autograd.gradcheck(lambda a: F.permute(a, by_torch), x))
        with self.assertRaisesRegex(ValueError, "index_dtype is torch.int8, must be None, torch.int32 or torch.int64"):
            F.slicing_sort_with_permutation(x, index_dtype=torch.int8)


class Direction(unittest.TestCase):
    def test_both_is_a_deprecated_name_of_noncausal(self):
        q, k, v = (torch.randn(2, 3, 8, 4) for _ in range(3))
        with self.assertWarnsRegex(DeprecationWarning, '"both" is deprecated: use "noncausal"'):
            y = F.linear_attention(q, k, v, direction="both")
        self.assertTrue(torch.equal(y, F.linear_attention(q, k, v, direction="noncausal")))


class Dropout(unittest.TestCase):
    def test_torch_draws_the_seed(self):
        q = torch.randn(1, 2, 16, 4)
        results = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            results.append([F.softmax_attention(q, q, q, dropout=0.5) for _ in range(2)])
        self.assertFalse(torch.equal(*results[0]))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(results[0], results[1])))
        self.assertFalse(torch.equal(results[0][0], results[2][0]))
        state = torch.get_rng_state()
        F.softmax_attention(q, q, q), F.softmax_attention(q, q, q, dropout=0.5, seed=1)
        self.assertTrue(torch.equal(state, torch.get_rng_state()))  # neither call draws a seed

    def test_gradients_drop_what_was_dropped(self):
        q, k, v = (torch.randn(1, 2, 6, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))

        def call(q, k, v):
            torch.manual_seed(3)
            return F.softmax_attention(q, k, v, dropout=0.5)
        self.assertTrue(torch.autograd.gradcheck(call, (q, k, v)))

    def test_vmap(self):
        q = torch.randn(3, 1, 2, 16, 4)
        mapped = torch.vmap(lambda q: F.softmax_attention(q, q, q, dropout=0.5, seed=7))(q)
        for i in range(3):
            self.assertTrue(torch.equal(mapped[i], F.softmax_attention(q[i], q[i], q[i], dropout=0.5, seed=7)))
        for randomness in ("error", "different"):
            with self.assertRaisesRegex(RuntimeError, "vmap"):
                torch.vmap(lambda q: F.softmax_attention(q, q, q, dropout=0.5), randomness=randomness)(q)

    def test_merged_parts_of_dropped_attention(self):
        """Each part has its own dropout seed; the normalizing sums include dropped weights."""
        q, k, v = (torch.randn(1, 2, 6, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))

        def call(q, k, v):
            parts = [F.softmax_attention_with_state(q, k[:, :, a:b], v[:, :, a:b], dropout=0.5, seed=a) for a, b in ((0, 2), (2, 6))]
            return F.merge_attention(*zip(*parts))[0]
        self.assertTrue(torch.autograd.gradcheck(call, (q, k, v)))


class Bits(unittest.TestCase):
    def test_threads_do_not_change_a_bit(self):
        threads = torch.get_num_threads()
        try:
            for case in CASES:
                with self.subTest(case.name):
                    results = []
                    for count in (1, 2, 5):
                        torch.set_num_threads(count)
                        tensors = case.tensors(torch.float32, grad=True)
                        y = case.call(*tensors)
                        results.append((y, *torch.autograd.grad(y.square().sum(), tensors)))
                    for other in results[1:]:
                        self.assertTrue(all(torch.equal(a, b) for a, b in zip(results[0], other)))
        finally:
            torch.set_num_threads(threads)

    def test_deterministic_algorithms_forbid_nothing(self):
        torch.use_deterministic_algorithms(True)
        try:
            for case in CASES:
                tensors = case.tensors(torch.float32, grad=True)
                torch.autograd.grad(case.call(*tensors).sum(), tensors)
        finally:
            torch.use_deterministic_algorithms(False)

    def test_dropout_follows_from_its_seed(self):
        q, k, v = (torch.randn(2, 3, 32, 4) for _ in range(3))
        first, again, other = (F.softmax_attention(q, k, v, dropout=0.5, seed=seed) for seed in (1, 1, 2))
        self.assertTrue(torch.equal(first, again))
        self.assertFalse(torch.equal(first, other))

    def test_merged_parts_are_the_whole(self):
        q, k, v = (torch.randn(2, 3, 32, 4) for _ in range(3))
        parts = [F.softmax_attention_with_state(q, k[:, :, a:b], v[:, :, a:b]) for a, b in ((0, 7), (7, 20), (20, 32))]
        y, state = F.merge_attention(*zip(*parts))
        whole, whole_state = F.softmax_attention_with_state(q, k, v)
        torch.testing.assert_close(y, whole)
        torch.testing.assert_close(state, whole_state)

    def test_merged_parts_that_some_queries_do_not_see(self):
        tensors = [torch.randn(2, 3, 12, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
        lengths = torch.tensor([12, 7])

        def merged(q, k, v):
            parts = [F.softmax_attention_with_state(q, k[:, :, a:b], v[:, :, a:b], mask=f"causal{{{-a}}}", query_lengths=lengths)
                     for a, b in ((0, 3), (3, 7), (7, 12))]
            return F.merge_attention(*zip(*parts))

        def whole(q, k, v):
            return F.softmax_attention_with_state(q, k, v, mask="causal", query_lengths=lengths)
        (y, state), (expected, whole_state) = merged(*tensors), whole(*tensors)
        torch.testing.assert_close(y, expected, rtol=0, atol=1e-14)
        dy, seen = torch.randn_like(y), state[..., 1] > 0
        torch.testing.assert_close(torch.autograd.grad(y, tensors, dy, retain_graph=True),
                                   torch.autograd.grad(expected, tensors, dy, retain_graph=True), rtol=0, atol=1e-13)
        sums = [(part_state[..., 0] + part_state[..., 1].log())[seen] for part_state in (state, whole_state)]
        torch.testing.assert_close(*(torch.autograd.grad(s.square().sum(), tensors[:2]) for s in sums), rtol=0, atol=1e-12)


if __name__ == "__main__":
    unittest.main()
