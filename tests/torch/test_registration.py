# SPDX-License-Identifier: Apache-2.0
"""Registration with torch: schemas, meta tensors, compiled and exported programs, vmap, autocast, and error messages."""
import io
import unittest

import torch
from cases import BATCH, CASES, CHANNELS, LENGTH, F
from torch._dynamo.testing import CompileCounter

OPS = torch.ops.slicesort


class Checks(unittest.TestCase):
    def test_opcheck(self):
        """Runs all four checks on every forward and backward operator that a case calls."""
        for case in CASES:
            calls = []

            class Recorder(torch.utils._python_dispatch.TorchDispatchMode):
                def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                    if func.namespace == "slicesort":
                        calls.append((func, args))
                    return func(*args, **(kwargs or {}))

            tensors = case.tensors(grad=True)
            with Recorder():
                torch.autograd.grad(case.call(*tensors).sum(), tensors)
            self.assertGreaterEqual(len(calls), 2)
            for op, args in calls:
                with self.subTest(case.name, op=op):
                    args = tuple(x.detach().clone().requires_grad_(x.is_floating_point() and "backward" not in str(op))
                                 if isinstance(x, torch.Tensor) else x for x in args)
                    self.assertEqual(set(torch.library.opcheck(op, args).values()), {"SUCCESS"})


class Programs(unittest.TestCase):
    def test_compiled_whole(self):
        for case in CASES:
            with self.subTest(case.name):
                torch._dynamo.reset()
                compiled = torch.compile(case.call, fullgraph=True, backend="aot_eager")
                actual_inputs, expected_inputs = case.tensors(torch.float32, grad=True), case.tensors(torch.float32, grad=True)
                y, expected = compiled(*actual_inputs), case.call(*expected_inputs)
                self.assertTrue(torch.equal(y, expected))
                dy = torch.randn_like(y)
                for dx, expected_dx in zip(torch.autograd.grad(y, actual_inputs, dy), torch.autograd.grad(expected, expected_inputs, dy)):
                    self.assertTrue(torch.equal(dx, expected_dx))

    def test_policies_are_read_as_eagerly(self):
        x = torch.randn(2, 12, 4)
        for groups in ("group_size{4.0}", " group_size { 2 } ", "group_count{+3}", "group_size{1e1}"):
            torch._dynamo.reset()
            call = lambda x: torch.ops.slicesort.csp(x, groups)  # noqa: E731
            compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
            for y, expected in zip(compiled(x), call(x)):
                self.assertTrue(torch.equal(y, expected))

    def test_other_lengths_are_not_compiled_again(self):
        for call in (F.slicing_sort, F.shuffle, F.csp, lambda x: F.softmax_attention(x[:, None], x[:, None], x[:, None])):
            torch._dynamo.reset()
            count = CompileCounter()
            compiled = torch.compile(call, fullgraph=True, dynamic=True, backend=count)
            for length in range(20, 60, 2):
                x = torch.randn(2, length, 8)
                self.assertTrue(torch.equal(compiled(x), call(x)))
            self.assertEqual(count.frame_count, 1)

    def test_pieces_of_a_recurrence(self):
        """A state goes from piece to piece within a compiled program."""
        def feed(x, a, w, state):
            rows = []
            for first in range(0, LENGTH, 5):
                piece = slice(first, first + 5)
                y, state = F.decaying_sum_with_state(x[:, piece], a if a.dim() == 2 else a[:, :, piece], w, state,
                                                     is_complex=w.size(0) == 4)
                rows.append(y)
            return torch.cat(rows, 1), state

        for numbers, per_row, backend in ((2, False, "inductor"), (2, True, "aot_eager"), (4, False, "aot_eager"), (4, True, "aot_eager")):
            with self.subTest(numbers=numbers, per_row=per_row, backend=backend):
                torch._dynamo.reset()
                shape = (BATCH, numbers, LENGTH, CHANNELS) if per_row else (numbers, CHANNELS)
                tensors = [torch.randn(BATCH, LENGTH, CHANNELS), torch.rand(*shape) - 0.5, torch.randn(numbers, CHANNELS),
                           torch.randn(BATCH, numbers, CHANNELS)]
                dys = torch.randn(BATCH, LENGTH, CHANNELS), torch.randn(BATCH, numbers, CHANNELS)
                results = []
                for call in (feed, torch.compile(feed, fullgraph=True, backend=backend)):
                    leaves = [x.clone().requires_grad_() for x in tensors]
                    outputs = call(*leaves)
                    results.append([*outputs, *torch.autograd.grad(outputs, leaves, dys)])
                for name, x, expected in zip(("y", "state", "dx", "da", "dw", "dinitial"), *results):
                    if backend == "inductor" and name in ("da", "dw"):  # sums over the pieces
                        torch.testing.assert_close(x, expected)
                    else:
                        self.assertTrue(torch.equal(x, expected), name)

    def test_a_step_of_a_recurrence_is_compiled_once(self):
        torch._dynamo.reset()
        count = CompileCounter()
        step = torch.compile(F.decaying_sum_with_state, fullgraph=True, backend=count)
        x, a, w = torch.randn(BATCH, LENGTH, CHANNELS), torch.rand(2, CHANNELS), torch.randn(2, CHANNELS)
        y, last = F.decaying_sum_with_state(x, a, w)
        state = torch.zeros_like(last)
        for n in range(LENGTH):
            row, state = step(x[:, n:n + 1], a, w, state)
            self.assertTrue(torch.equal(row[:, 0], y[:, n]))
        self.assertTrue(torch.equal(state, last))
        self.assertEqual(count.frame_count, 1)

    def test_inductor(self):
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: F.slicing_sort(2 * x + 1).relu(), fullgraph=True)
        x = torch.randn(2, 50, 8, requires_grad=True)
        y = compiled(x)
        torch.testing.assert_close(y, torch.sort(2 * x + 1, dim=1).values.relu())
        y.sum().backward()
        torch.testing.assert_close(x.grad, 2.0 * (2 * x + 1 > 0))

    def test_exported_and_read_back(self):
        for case in CASES:
            with self.subTest(case.name):
                tensors = tuple(case.tensors(torch.float32))
                module = torch.nn.Module()
                module.forward = case.call
                file = io.BytesIO()
                torch.export.save(torch.export.export(module, tensors), file)
                file.seek(0)
                self.assertTrue(torch.equal(torch.export.load(file).module()(*tensors), case.call(*tensors)))


class Transforms(unittest.TestCase):
    def test_vmap(self):
        for case in CASES:
            tensors = case.tensors()
            mapped = [torch.stack([x, x.flip(0), 2 * x], dim=1) for x in tensors]
            for which in (range(len(tensors)), [0]):
                with self.subTest(case.name, mapped=list(which)):
                    args = [m if i in which else x for i, (m, x) in enumerate(zip(mapped, tensors))]
                    dims = tuple(1 if i in which else None for i in range(len(tensors)))
                    y = torch.vmap(case.call, dims)(*args)
                    for i in range(3):
                        slices = [x.select(1, i) if dim == 1 else x for x, dim in zip(args, dims)]
                        torch.testing.assert_close(y[i], case.call(*slices), rtol=0, atol=1e-14)

    def test_vmap_over_no_slices(self):
        names = ("slicing_sort", "top_k", "csp pairs", "decaying_sum", "sparse_mix chord", "softmax_attention", "linear_attention")
        for case in (case for case in CASES if case.name in names):
            with self.subTest(case.name):
                tensors = case.tensors()
                empty = [x.new_zeros(0, *x.shape) for x in tensors]
                for mapped in (range(len(tensors)), [0]):  # all slices share the others
                    dims = tuple(0 if i in mapped else None for i in range(len(tensors)))
                    y = torch.vmap(case.call, dims)(*(empty[i] if i in mapped else x for i, x in enumerate(tensors)))
                    self.assertEqual(y.shape, (0, *case.call(*tensors).shape))
                gradient = torch.func.grad(lambda *xs: case.call(*xs).sum(), argnums=tuple(range(len(tensors))))
                self.assertEqual([dx.shape for dx in torch.vmap(gradient)(*empty)], [x.shape for x in empty])

    def test_vmap_of_gradients(self):
        for case in CASES:
            with self.subTest(case.name):
                tensors = case.tensors()
                mapped = [torch.stack([x, x.flip(0), 2 * x]) for x in tensors]
                arguments = tuple(range(len(tensors)))
                gradient = torch.func.grad(lambda *xs: case.call(*xs).square().sum(), argnums=arguments)
                together = torch.vmap(gradient)(*mapped)
                for i in range(3):
                    for result, expected in zip(together, gradient(*(x[i] for x in mapped))):
                        torch.testing.assert_close(result[i], expected, rtol=0, atol=1e-12)

    def test_forward_mode_is_refused(self):
        for case in CASES:
            tensors = tuple(case.tensors())
            with self.subTest(case.name), self.assertRaisesRegex((NotImplementedError, RuntimeError), "jvp"):
                torch.func.jvp(case.call, tensors, tuple(map(torch.ones_like, tensors)))
        with torch.autograd.forward_ad.dual_level(), self.assertRaisesRegex((NotImplementedError, RuntimeError), "jvp"):
            F.slicing_sort(torch.autograd.forward_ad.make_dual(torch.randn(1, 6, 2), torch.ones(1, 6, 2)))


class EagerGradients(unittest.TestCase):
    def test_saved_state_is_given_no_zeros(self):
        """A backward pass does not fill tensors with zeros in place of gradients of saved state."""
        class Fills(torch.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                fills.extend([func] * ("zero" in str(func)))
                return func(*args, **(kwargs or {}))

        for case in CASES:
            if case.name.startswith(("decaying_sum", "linear_attention_with_state", "merge_attention")):
                continue  # their states have gradients
            tensors, fills = case.tensors(grad=True), []
            y = case.call(*tensors)
            with self.subTest(case.name), Fills():
                torch.autograd.grad(y, tensors, torch.ones_like(y))
                self.assertEqual(fills, [])

    def test_no_gradient_of_the_output(self):
        """A function of the output may return None as its gradient."""
        class Constant(torch.autograd.Function):
            @staticmethod
            def forward(ctx, y):
                return y.sum()

            @staticmethod
            def backward(ctx, dy):
                return None

        for case in CASES:
            with self.subTest(case.name):
                tensors = case.tensors(grad=True)
                loss = Constant.apply(case.call(*tensors)) + sum(x.sum() for x in tensors)
                for x, dx in zip(tensors, torch.autograd.grad(loss, tensors)):
                    self.assertTrue(torch.equal(dx, torch.ones_like(x)))


class Autocast(unittest.TestCase):
    def test_dtypes(self):
        x, q = torch.randn(2, 8, 4), torch.randn(2, 3, 8, 4)
        w = torch.randn(2, 2, 8, 3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(F.slicing_sort(x).dtype, torch.float32)
            self.assertEqual(F.csp(x.bfloat16()).dtype, torch.bfloat16)
            self.assertEqual(F.sparse_mix(x.bfloat16(), w).dtype, torch.float32)
            self.assertEqual(F.sinkhorn_csp(x.bfloat16(), 0.5).dtype, torch.float32)
            self.assertEqual(F.decaying_sum(x, torch.full((1, 4), 0.5, dtype=torch.float64)).dtype, torch.float64)
            self.assertEqual(F.softmax_attention(q, q, q).dtype, torch.bfloat16)
            self.assertEqual(F.linear_attention(q, q, q).dtype, torch.bfloat16)
            self.assertEqual(F.pointwise_attention(q, q, q).dtype, torch.bfloat16)
            self.assertEqual(F.multi_permutation(x.bfloat16(), torch.ones(2)).dtype, torch.bfloat16)
            parts = [F.softmax_attention_with_state(q, q, q), F.softmax_attention_with_state(q, q, q)]
            y, state = F.merge_attention([parts[0][0], parts[1][0].float()], [s for _, s in parts])
            self.assertEqual((y.dtype, state.dtype), (torch.float32, torch.float32))
            self.assertEqual(F.softmax_attention(q.double(), q.double(), q.double()).dtype, torch.float64)

    def test_gradients_have_the_dtype_of_their_tensor(self):
        q = torch.randn(2, 3, 8, 4, requires_grad=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = F.softmax_attention(q, q, q)
        self.assertEqual(torch.autograd.grad(y.float().sum(), q)[0].dtype, torch.float32)


class Messages(unittest.TestCase):
    def assert_error(self, pattern, call, *args, **kwargs):
        with self.assertRaisesRegex(RuntimeError, pattern):
            call(*args, **kwargs)

    def test_errors(self):
        x, q = torch.randn(BATCH, LENGTH, CHANNELS), torch.randn(2, 3, 8, 4)
        self.assert_error(r"x must be \[batch, length, channels\], has 2 axes", F.slicing_sort, x[0])
        self.assert_error("x: the dtype must be float32, float64, float16 or bfloat16", F.slicing_sort, x.int())
        self.assert_error('order "sideways" is none of ascending, descending', F.slicing_sort, x, "sideways")
        self.assert_error(r'order "interleave\{1\}": write it as interleave\{layer, layers\}', F.slicing_sort, x, "interleave{1}")
        self.assert_error("is not a name with numbers in braces", F.slicing_sort, x, "half_half{4")
        self.assert_error("channels must be a multiple of heads", F.slicing_sort, x, "half_half{4}")
        self.assert_error(r"lengths\[0\] is 14", F.slicing_sort, x, lengths=torch.tensor([LENGTH + 1, 2]))
        self.assert_error("lengths must have dtype int64", F.slicing_sort, x, lengths=torch.ones(2, dtype=torch.int32))
        self.assert_error("lengths", F.slicing_sort, x, lengths=torch.ones(3, dtype=torch.int64))
        self.assert_error("lengths", F.slicing_sort, x, lengths=torch.ones(0, dtype=torch.int64))
        self.assert_error("perm: the dtype must be uint16, int32 or uint32", F.permute, x, torch.zeros(x.shape, dtype=torch.int16))
        self.assert_error("perm: the dtype must be uint16, int32 or uint32", F.permute, x, x)
        self.assert_error("perm", F.permute, x, torch.zeros(1, 2, 3, dtype=torch.uint16))
        self.assert_error("groups must be at least 1", F.csp, x, "group_size{0}")
        self.assert_error("tau is 0, must be positive", F.sinkhorn_csp, x, 0.0)
        self.assert_error("w", F.sparse_mix, x, torch.randn(2, BATCH, LENGTH + 1, 3))
        self.assert_error("w: the dtype must be that of the other tensors", F.sparse_mix, x, torch.randn(2, BATCH, LENGTH, 3).double())
        self.assert_error("k: the dtype must be that of the other tensors", F.softmax_attention, q, q.double(), q)
        self.assert_error('mask "triangle" is none of full, causal', F.softmax_attention, q, q, q, mask="triangle")
        self.assert_error('function "relu" is none of laplace{mean, deviation}, squared_relu', F.pointwise_attention, q, q, q,
                          function="relu")
        with self.assertRaisesRegex(ValueError, 'scale is "keys", must be a number, None or "per_key"'):
            F.pointwise_attention(q, q, q, scale="keys")
        self.assert_error("laplace: deviation must be in 1e-15..1e15", F.pointwise_attention, q, q, q, function="laplace{0, 0}")
        self.assert_error("dropout", F.softmax_attention, q, q, q, dropout=1.5)
        self.assert_error("as many states as ys", F.merge_attention, [q], [])
        self.assert_error("there must be at least one part", F.merge_attention, [], [])
        self.assert_error("^softmax_attention(.forward)?: k.heads is 1, must be 3", F.softmax_attention, q, q[:, :1], q)
        self.assert_error("^linear_attention.forward: .*w", F.linear_attention, q, q, q, feature="random_exp")
        self.assert_error(r"torch has no memory for a tensor of \[1048576, 1048576, 1024\]", F.slicing_sort,
                     torch.zeros(1).expand(2**20, 2**20, 2**10))

    @unittest.skipUnless(torch.cuda.is_available(), "there is no GPU")
    def test_tensors_on_two_devices_are_refused(self):
        x, perm = F.slicing_sort_with_permutation(torch.randn(1, 4, 3))
        self.assert_error("perm must be on the device of the other tensors", F.permute, x.cuda(), perm)

    @unittest.skipUnless(torch.cuda.is_available(), "there is no GPU")
    def test_the_gpu_equals_the_cpu(self):
        for case in CASES:
            with self.subTest(case.name):
                on_cpu = case.tensors(torch.float32, grad=True)
                on_gpu = [x.detach().cuda().requires_grad_() for x in on_cpu]
                y, y_gpu = case.call(*on_cpu), case.call(*on_gpu)
                torch.testing.assert_close(y, y_gpu.cpu())
                for dx, dx_gpu in zip(torch.autograd.grad(y.sum(), on_cpu), torch.autograd.grad(y_gpu.sum(), on_gpu)):
                    torch.testing.assert_close(dx, dx_gpu.cpu())


if __name__ == "__main__":
    unittest.main()
