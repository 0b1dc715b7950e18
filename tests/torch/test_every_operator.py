# SPDX-License-Identifier: Apache-2.0
"""Tests every operator that is registered with torch; an operator that is not listed here fails. Checks gradients against
finite differences (or their error), vmap against a loop, every dtype, and length 0."""
import functools
import inspect
import unittest

import torch
from cases import CASES, F
from torch.utils import _pytree as pytree

OPS = torch.ops.slicesort
NAMES = sorted(schema.name.split("::")[1] for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("slicesort::"))
WITHOUT_TENSORS = {"check_policy"}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-4, torch.float16: 3e-2, torch.bfloat16: 2e-1}
BATCH, HEADS, CHANNELS = 2, 2, 3


def distinct(*shape):
    """Returns numbers without ties that every dtype represents."""
    count = torch.Size(shape).numel()
    return ((torch.randperm(count) - count // 2) / 32.0).reshape(shape).double()


def arguments(length=5, dtype=torch.float64, seed=0):
    """Returns the arguments of a call of each operator. Backward operators get the outputs of forward."""
    torch.manual_seed(seed)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    x, dy = distinct(BATCH, length, CHANNELS).to(dtype), distinct(BATCH, length, CHANNELS).to(dtype)
    q, k, v, dout, other = (distinct(BATCH, HEADS, length, CHANNELS).to(dtype) for _ in range(5))
    lengths, row, weights = torch.tensor([length, length // 2]), 0, torch.tensor([0.5, -1.25], dtype=wide)
    w, features = distinct(3, BATCH, length, 3).to(dtype), distinct(HEADS, 5, CHANNELS).to(dtype)
    bias = distinct(1, HEADS, length, length).to(dtype)
    filters = distinct(CHANNELS, 3).to(dtype)
    decays, decay_weights = distinct(4, CHANNELS).to(dtype), distinct(4, CHANNELS).to(dtype)
    initial, dlast = distinct(BATCH, 4, CHANNELS).to(wide), distinct(BATCH, 4, CHANNELS).to(wide)
    recurrence = decays, decay_weights, initial, True, "both", lengths
    features_and_values = 5 * (CHANNELS + 1) + 63 * (5 + CHANNELS + 1)  # elements of a state beside its position
    linear_state, dstate = (torch.zeros(BATCH, HEADS, 3 + features_and_values, dtype=wide) for _ in range(2))
    linear_state[..., 3:], dstate[..., 3:] = (distinct(BATCH, HEADS, features_and_values).abs() / 1000 for _ in range(2))
    csp = "group_size{3}", "linear", "reference{0}"
    sinkhorn = 0.5, 4, "group_size{3}", "linear", 0
    chain, linear = ("cdil{1}", "per_factor", 1), ("random_relu{1e-3, 1}", "sum_plus", "noncausal", lengths, lengths)
    masked, dropped = ("causal{0}", None, lengths, lengths), (0.25, 3)
    stored = distinct(BATCH, 1, length, length) < 0.4, torch.tensor([0, length // 2, length])
    pointwise = "causal{0}", "laplace{0.5, 0.25}", None, True, lengths, lengths
    perm, k_rows = OPS.slicing_sort(x, "ascending", True, lengths)[1], min(3, length)
    y, state = OPS.softmax_attention(q, k, v, bias, *masked, *dropped, *stored)
    parts = [OPS.softmax_attention(q, keys, v, None, "full", None, lengths) for keys in (k, other)]
    # The sums of exponentials differ between the parts.
    states = [state * torch.tensor([1.0, 1.0 + i], dtype=wide) for i, (_, state) in enumerate(parts)]
    return {
        "argsort": (x, "descending", lengths),
        "checked_permute": (x, perm.to(torch.int64), lengths),
        "csp": (x, *csp, lengths),
        "csp_backward": (dy, OPS.csp(x, *csp, lengths)[1], *csp, lengths),
        "decaying_sum": (x, *recurrence),
        "decaying_sum_backward": (dy, dlast, x, *recurrence),
        "linear_attention": (q, k, v, features, *linear),
        "linear_attention_backward": (dout, q, k, v, features, *linear, True),
        "linear_attention_with_state": (q, k, v, linear_state, features, *linear[:2], lengths),
        "linear_attention_with_state_backward": (dout, dstate, q, k, v, linear_state, features, *linear[:2], lengths, True),
        "max_exchange": (x, row, lengths),
        "max_exchange_backward": (dy, OPS.max_exchange(x, row, lengths)[1], row, lengths),
        "merge_attention": ([y for y, _ in parts], states),
        "multi_permutation": (x, weights, "ascending", lengths),
        "multi_permutation_backward": (dy, x, weights, perm, lengths),
        "permute": (x, perm, lengths),
        "pointwise_attention": (q, k, v, bias, *pointwise, *stored),
        "pointwise_attention_backward": (dout, q, k, v, bias, *pointwise, True, *stored),
        "short_convolution": (x, filters, 1, lengths),
        "short_convolution_backward": (dy, x, filters, 1, lengths),
        "shuffle": (x, 7, "per_channel", lengths),
        "shuffle_backward": (dy, 7, "per_channel", lengths),
        "sinkhorn": (x, 0.5, 4, False, lengths, lengths // 2),
        "sinkhorn_backward": (dy, x, 0.5, 4, False, lengths, lengths // 2),
        "sinkhorn_csp": (x, *sinkhorn, lengths),
        "sinkhorn_csp_backward": (dy, x, *sinkhorn, lengths),
        "slicing_sort": (x, "descending", True, lengths),
        "slicing_sort_backward": (dy, perm, lengths),
        "soft_sort": (x, True, "kl", 0.5, lengths),
        "soft_sort_backward": (dy, x, *OPS.soft_sort(x, True, "kl", 0.5, lengths)[1:], True, "kl", 0.5, lengths),
        "softmax_attention": (q, k, v, bias, *masked, *dropped, *stored),
        "softmax_attention_backward": (dout, q, k, v, bias, y, state, *masked, *dropped, True, *stored),
        "sparse_mix": (x, w, *chain, True, lengths),
        "top_k": (x, k_rows, "descending", True, False, lengths),
        "top_k_backward": (dy[:, :k_rows], OPS.top_k(x, k_rows, "ascending", False, True, lengths)[1], length),
        "sparse_mix_backward": (dy, x, w, OPS.sparse_mix(x, w, *chain, True, lengths)[1], *chain, lengths),
    }


# Functions of outputs that finite differences can check: the state's gradient treats the largest score as a constant.
SMOOTH = {"softmax_attention": lambda y, state: (y, torch.where(state[..., 1] > 0, state[..., 0] + state[..., 1].log(), 0))}
WITHOUT_GRADIENT = {"argsort"}
MOVES = {"checked_permute", "max_exchange", "max_exchange_backward", "permute", "shuffle", "shuffle_backward", "slicing_sort",
         "slicing_sort_backward", "top_k", "top_k_backward"}


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


class Call:
    """Wraps an operator as a function of its tensors, including those in lists."""

    def __init__(self, name, args):
        self.op = getattr(OPS, name)
        leaves, self.tree_spec = pytree.tree_flatten(args)
        self.positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.leaves, self.tensors = leaves, [leaves[i] for i in self.positions]

    def args(self, tensors):
        leaves = list(self.leaves)
        for i, x in zip(self.positions, tensors):
            leaves[i] = x
        return pytree.tree_unflatten(leaves, self.tree_spec)

    def __call__(self, *tensors):
        return tuple(listed(self.op(*self.args(tensors or self.tensors))))

    def with_gradients(self):
        return [x.detach().clone().requires_grad_(x.is_floating_point()) for x in self.tensors]


def for_every_operator(test):
    """Runs a test with the name and the call of every operator."""
    @functools.wraps(test)
    def run(self):
        for name, call in self.calls.items():
            with self.subTest(name):
                test(self, name, call)
    return run


class EveryOperator(unittest.TestCase):
    def setUp(self):
        self.calls = {name: Call(name, args) for name, args in arguments().items()}

    def test_none_is_forgotten(self):
        self.assertEqual(sorted([*self.calls, *WITHOUT_TENSORS]), NAMES)
        for name in WITHOUT_TENSORS:
            self.assertNotIn("Tensor", str(getattr(OPS, name).default._schema))

    @for_every_operator
    def test_gradients_equal_differences_or_raise(self, name, call):
        inputs = call.with_gradients()
        if name.endswith("_backward") and name not in MOVES:
            for result in call(*inputs):
                with self.assertRaisesRegex(RuntimeError, "cannot be differentiated twice"):
                    result.sum().backward()
            return
        smooth = SMOOTH.get(name, lambda *results: results)

        def values(*tensors):
            return tuple(y for y in smooth(*call(*tensors)) if y.is_floating_point())
        if name in WITHOUT_GRADIENT:
            self.assertFalse(any(y.requires_grad for y in call(*inputs)))
            return
        self.assertTrue(all(y.requires_grad for y in values(*inputs)[:1]))
        self.assertTrue(torch.autograd.gradcheck(values, inputs))
        if name in MOVES or name == "merge_attention":
            self.assertTrue(torch.autograd.gradgradcheck(values, inputs))

    @for_every_operator
    def test_vmap_is_the_loop(self, name, call):
        pairs = list(zip(call.tensors, Call(name, arguments(seed=1)[name]).tensors))
        for mapped in (range(len(pairs)), *([i] for i in range(len(pairs)))):
            dims = tuple(0 if i in mapped else None for i in range(len(pairs)))
            args = [torch.stack(pair) if i in mapped else pair[0] for i, pair in enumerate(pairs)]
            together = torch.vmap(call, dims)(*args)
            for n in range(2):
                alone = call(*(x[n] if dim == 0 else x for x, dim in zip(args, dims)))
                for y, expected in zip(together, alone):
                    torch.testing.assert_close(y[n], expected, rtol=0, atol=1e-13, equal_nan=True)

    def test_opcheck(self):
        for length in (5, 0):
            for name, args in arguments(length).items():
                with self.subTest(name, length=length):
                    call = Call(name, args)
                    # opcheck would report the error of backward operators, which have no gradient.
                    tensors = call.tensors if name.endswith("_backward") else call.with_gradients()
                    self.assertEqual(set(torch.library.opcheck(call.op, call.args(tensors)).values()), {"SUCCESS"})

    @for_every_operator
    def test_meta(self, name, call):
        for y, expected in zip(call(*(x.to("meta") for x in call.tensors)), call()):
            self.assertEqual((y.device.type, y.shape, y.dtype), ("meta", expected.shape, expected.dtype))
            if expected.numel() > 0:
                self.assertEqual(y.stride(), expected.stride())

    def test_autocast_changes_no_operator(self):
        """Only functions cast (test_registration.Autocast)."""
        for name, args in arguments(dtype=torch.float32).items():
            with self.subTest(name):
                call = Call(name, args)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    results = call()
                for y, expected in zip(results, call()):
                    self.assertTrue(torch.equal(y, expected))

    def test_every_dtype(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            exact, rounded = arguments(), {}
            try:
                rounded = arguments(dtype=dtype)
            except RuntimeError as error:
                self.fail(error)
            for name, args in rounded.items():
                with self.subTest(name, dtype=dtype):
                    call = Call(name, args)
                    if name.startswith("sinkhorn_csp") and dtype.itemsize == 2:
                        with self.assertRaisesRegex(RuntimeError, "the dtype must be float32 or float64"):
                            call()
                        continue
                    results = call()
                    self.assertEqual(results[0].dtype, torch.uint16 if name in WITHOUT_GRADIENT else dtype)
                    for y, expected in zip(results, Call(name, exact[name])()):
                        if y.is_floating_point():
                            size = max(1.0, expected.abs().max().item()) if expected.isfinite().all() else 1.0
                            torch.testing.assert_close(y.double() / size, expected / size, rtol=TOLERANCE[dtype],
                                                       atol=TOLERANCE[dtype])
                        else:
                            self.assertTrue(torch.equal(y, expected))

    def test_without_rows_nothing_is_left_unwritten(self):
        torch.use_deterministic_algorithms(True)  # fills new memory with NaN and the largest integer
        try:
            for name, args in arguments(length=0).items():
                with self.subTest(name):
                    for y in Call(name, args)():
                        self.assertFalse(y.isnan().any() if y.is_floating_point() else y.to(torch.int64).any())
        finally:
            torch.use_deterministic_algorithms(False)


class EveryFunction(unittest.TestCase):
    def test_none_is_without_a_case(self):
        named = {case.name.split()[0] for case in CASES}
        # The functions that return a pair call the same operators.
        pairs = {"decaying_sum_with_state", "linear_attention_with_state", "slicing_sort_with_permutation",
                 "softmax_attention_with_state"}
        pairs |= WITHOUT_GRADIENT
        self.assertEqual(sorted(named | pairs), sorted(F.__all__))

    def test_policies_are_text(self):
        policies = {"order", "form", "groups", "shift", "alignment", "topology", "residual", "mask", "feature", "divisor", "direction", "function"}
        x, q = torch.randn(2, 6, 4), torch.randn(2, 3, 6, 4)
        allowed = torch.ones(6, 6, dtype=torch.bool)
        tensors = {"x": x, "q": q, "k": q, "v": q, "weights": torch.ones(2), "w": torch.ones(2, 2, 6, 3), "a": torch.ones(1, 4), "tau": 1.0}
        for name in F.__all__:
            function, parameters = getattr(F, name), inspect.signature(getattr(F, name)).parameters
            required = {n: tensors[n] for n, p in parameters.items() if p.default is p.empty and n in tensors}
            numbers = {"shift"} if name == "short_convolution" else set()
            for policy in policies & set(parameters) - numbers:
                with self.subTest(name, policy=policy), self.assertRaisesRegex(
                        TypeError, rf"^{policy} is a Tensor of shape \[6, 6\], must be text"):
                    function(**required, **{policy: allowed})


if __name__ == "__main__":
    unittest.main()
