# SPDX-License-Identifier: Apache-2.0
"""`scaled_dot_product_attention` against torch's function of this name, argument by argument; combined masks against
their definitions; and attention sinks. Skipped without torch or the extension."""
import itertools
import unittest

try:
    import torch
    from slicesort_torch import functional as F
except (ImportError, OSError) as error:  # OSError: a library that the extension needs
    raise unittest.SkipTest(f"there is no torch, or examples/torch is not installed: {error}") from error

BATCH, HEADS, QUERIES, KEYS, CHANNELS = 2, 6, 11, 14, 8
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def theirs(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """torch's kernel in plain operators, which is defined by the documentation."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


def inputs(q_shape, k_shape, v_shape, dtype=torch.float64):
    torch.manual_seed(0)
    return [torch.randn(*shape, dtype=torch.float64).to(dtype) for shape in (q_shape, k_shape, v_shape)]


def booleans(*shape):
    table = torch.rand(*shape) < 0.5
    table[..., 0] = True
    return table


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def results(function, tensors, attn_mask=None, **arguments):
    """Returns y and the gradients of q, k, v and a mask of numbers."""
    leaves = [x.detach().clone().requires_grad_() for x in tensors]
    if attn_mask is not None and attn_mask.is_floating_point():
        attn_mask = attn_mask.to(leaves[0].dtype).requires_grad_()
        leaves.append(attn_mask)
    y = function(*leaves[:3], attn_mask, **arguments)
    dy = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).reshape(y.shape).to(y.dtype)
    return [y.detach(), *torch.autograd.grad(y, leaves, dy, materialize_grads=True)]  # torch leaves out those without elements


def absolute_sums(tensors, attn_mask=None, is_causal=False):
    """Like `results`, with the absolute values of all terms: what rounding errors are relative to."""
    q, k, v = (x.double() for x in tensors)
    scores = q @ k.mT / q.size(3) ** 0.5
    if is_causal:
        attn_mask = torch.ones(scores.shape[2:], dtype=torch.bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    p = torch.softmax(scores, 3)
    dy = torch.linspace(-1, 1, p.size(0) * p.size(1) * p.size(2) * v.size(3), dtype=torch.float64).reshape(*p.shape[:3], -1).abs()
    y = p @ v.abs()
    ds = p * (dy @ v.abs().mT + (dy * y).sum(3, keepdim=True))
    dmask = ds.sum_to_size(attn_mask.shape) if attn_mask is not None and attn_mask.is_floating_point() else ds
    return [y, ds @ k.abs() / q.size(3) ** 0.5, ds.mT @ q.abs() / q.size(3) ** 0.5, p.mT @ dy, dmask]


class ArgumentByArgument(unittest.TestCase):
    def assert_same(self, tensors, attn_mask=None, sums=None, **arguments):
        """Compares with torch's math kernel in float64; in other dtypes allows twice torch's error and four roundings, of the
        results or of `sums`."""
        expected = results(theirs, [x.double() for x in tensors], attn_mask, **arguments)
        torchs = results(theirs, tensors, attn_mask, **arguments)
        actual = results(F.scaled_dot_product_attention, tensors, attn_mask, **arguments)
        dtype = tensors[0].dtype
        self.assertEqual(len(actual), len(expected))
        for name, x, y, reference, terms in zip(("y", "dq", "dk", "dv", "dmask"), actual, torchs, expected, sums or expected):
            self.assertEqual(x.shape, reference.shape)
            self.assertEqual(x.dtype, dtype)
            error, torch_error = ((z.double() - reference).abs().max().item() for z in (x, y))
            scale = max(reference.abs().max().item(), terms.abs().max().item())
            allowed = 1e-12 * max(scale, 1) if dtype == torch.float64 else 2 * torch_error + 4 * torch.finfo(dtype).eps * scale
            self.assertLessEqual(error, allowed, name)

    def test_masks(self):
        torch.manual_seed(1)
        masks = [None] + [make(*shape) for make, shape in itertools.product((booleans, numbers), (
            (QUERIES, KEYS), (1, KEYS), (BATCH, 1, 1, KEYS), (BATCH, HEADS, QUERIES, KEYS), (1, HEADS, QUERIES, KEYS),
            (HEADS, QUERIES, KEYS)))]
        masks += [torch.rand(BATCH, 1, QUERIES, 1) < 2, numbers(HEADS, 1, KEYS)]
        for dtype, mask in itertools.product(DTYPES, masks):
            with self.subTest(dtype=dtype, mask=None if mask is None else (mask.dtype, *mask.shape)):
                self.assert_same(inputs((BATCH, HEADS, QUERIES, CHANNELS), (BATCH, HEADS, KEYS, CHANNELS),
                                        (BATCH, HEADS, KEYS, 5), dtype), mask)

    def test_causal_and_scale(self):
        for dtype, (queries, keys), scale in itertools.product(DTYPES, ((9, 9), (4, 12), (12, 4)), (None, 0.7)):
            with self.subTest(dtype=dtype, queries=queries, keys=keys, scale=scale):
                self.assert_same(inputs((BATCH, HEADS, queries, CHANNELS), (BATCH, HEADS, keys, CHANNELS),
                                        (BATCH, HEADS, keys, CHANNELS), dtype), is_causal=True, scale=scale)

    def test_grouped_heads(self):
        torch.manual_seed(2)
        for dtype, heads, mask in itertools.product(DTYPES, (1, 2, 3, 6), (None, booleans(BATCH, HEADS, QUERIES, KEYS))):
            with self.subTest(dtype=dtype, heads=heads, mask=mask is not None):
                self.assert_same(inputs((BATCH, HEADS, QUERIES, CHANNELS), (BATCH, heads, KEYS, CHANNELS),
                                        (BATCH, heads, KEYS, CHANNELS), dtype), mask, enable_gqa=True)

    def test_three_and_five_axes(self):
        torch.manual_seed(3)
        for outer, masks in (((4,), ((QUERIES, KEYS), (4, QUERIES, KEYS))),
                             ((2, 3, 4), ((QUERIES, KEYS), (4, 1, KEYS), (3, 4, QUERIES, KEYS), (2, 3, 4, QUERIES, KEYS)))):
            shapes = [(*outer, rows, CHANNELS) for rows in (QUERIES, KEYS, KEYS)]
            for make, mask in itertools.product((booleans, numbers), masks):
                with self.subTest(outer=outer, mask=mask, make=make.__name__):
                    self.assert_same(inputs(*shapes), make(*mask))

    def test_strides(self):
        q, k, v = (x.transpose(1, 2) for x in inputs(*[(BATCH, rows, HEADS, CHANNELS) for rows in (QUERIES, KEYS, KEYS)]))
        self.assert_same([q, k, v], booleans(KEYS, BATCH, QUERIES).permute(1, 2, 0)[:, None])

    def test_broadcast_axes(self):
        """Batch and heads broadcast as in products of matrices; k and v may differ."""
        rows = (QUERIES, CHANNELS), (KEYS, CHANNELS), (KEYS, 5)
        torch.manual_seed(4)
        for outer, grouped in ((((2, 6), (1, 6), (1, 6)), False), (((2, 6), (2, 1), (1, 6)), False), (((1, 1), (2, 6), (2, 6)), False),
                               (((2, 6), (6,), ()), False), (((), (), ()), False), (((3, 1, 2), (4, 1), (3, 1, 1)), False),
                               (((2, 6), (1, 3), (1, 3)), True), (((6,), (2, 3), (3,)), True)):
            tensors = inputs(*(axes + shape for axes, shape in zip(outer, rows)))
            for dtype, mask in itertools.product((torch.float64, torch.bfloat16), (None, booleans(QUERIES, KEYS), numbers(1, KEYS))):
                with self.subTest(outer=outer, dtype=dtype, mask=None if mask is None else mask.dtype):
                    self.assert_same([x.to(dtype) for x in tensors], mask, enable_gqa=grouped)

    def test_lengths_of_several_tiles(self):
        torch.manual_seed(5)
        for dtype, (queries, keys, channels, values) in itertools.product(
                DTYPES, ((1, 300, 64, 64), (65, 129, 40, 33), (257, 1, 64, 1), (130, 257, 1, 80), (129, 200, 128, 128))):
            tensors = inputs((1, 2, queries, channels), (1, 2, keys, channels), (1, 2, keys, values), dtype)
            for arguments in ({}, {"is_causal": True}, {"attn_mask": booleans(2, queries, keys)}, {"attn_mask": numbers(queries, keys)}):
                with self.subTest(dtype=dtype, shape=(queries, keys, channels, values), arguments=list(arguments)):
                    self.assert_same(tensors, sums=absolute_sums(tensors, **arguments), **arguments)

    def test_scales(self):
        for dtype, scale in itertools.product(DTYPES, (0.0, -0.5, 1, 3.0)):
            with self.subTest(dtype=dtype, scale=scale):
                self.assert_same(inputs(*[(BATCH, HEADS, rows, CHANNELS) for rows in (QUERIES, KEYS, KEYS)], dtype), scale=scale)

    def test_without_elements(self):
        for batch, queries, keys, channels, values in ((0, 3, 4, 2, 2), (2, 0, 4, 2, 2), (2, 3, 0, 2, 2), (2, 3, 4, 2, 0), (2, 3, 4, 0, 2)):
            for mask in (None, torch.ones(queries, keys, dtype=torch.bool), torch.zeros(queries, keys, dtype=torch.float64)):
                with self.subTest(shape=(batch, queries, keys, channels, values), mask=None if mask is None else mask.dtype):
                    tensors = inputs((batch, 3, queries, channels), (batch, 3, keys, channels), (batch, 3, keys, values))
                    scale = {"scale": 1.0} if channels == 0 else {}
                    for x, expected in zip(results(F.scaled_dot_product_attention, tensors, mask, **scale),
                                           results(theirs, tensors, mask, **scale)):
                        self.assertEqual(x.shape, expected.shape)
                        torch.testing.assert_close(x, expected, rtol=0, atol=1e-15)

    def test_minus_infinity_excludes_as_false_does(self):
        tensors = inputs(*[(1, 2, rows, CHANNELS) for rows in (QUERIES, KEYS, KEYS)])
        table = booleans(QUERIES, KEYS)
        table[3] = False
        bias = torch.zeros(QUERIES, KEYS, dtype=torch.float64).masked_fill(~table, -torch.inf)
        self.assert_same(tensors, bias)
        for x, y in zip(results(F.scaled_dot_product_attention, tensors, bias), results(F.scaled_dot_product_attention, tensors, table)):
            self.assertLessEqual((x - y).abs().max().item(), 1e-14)

    def test_a_query_without_keys_by_the_documented_formula(self):
        """The formula in torch's documentation gives NaN for it; torch's kernel and the library give 0."""
        q, k, v = inputs(*[(1, 2, rows, CHANNELS) for rows in (QUERIES, KEYS, KEYS)])
        mask = booleans(QUERIES, KEYS)
        mask[3] = False
        formula = torch.softmax((q @ k.mT / CHANNELS ** 0.5).masked_fill(~mask, -torch.inf), -1) @ v
        self.assertTrue(formula[:, :, 3].isnan().all())
        for call in (theirs, F.scaled_dot_product_attention):
            y = call(q, k, v, mask)
            self.assertFalse(y[:, :, 3].any())
            self.assertLessEqual((y - torch.where(formula.isnan(), 0, formula)).abs().max().item(), 1e-14)

    def test_nan(self):
        """NaN of pairs that a query sees gives NaN in the query's row alone. Other than torch, excluded pairs have no effect."""
        q, k, v = inputs(*[(1, 2, rows, CHANNELS) for rows in (QUERIES, KEYS, KEYS)])
        q[:, :, 4] = torch.nan
        for call in (theirs, F.scaled_dot_product_attention):
            self.assertEqual(call(q, k, v).isnan().all(3).sum(), 2)
        q, mask = torch.nan_to_num(q), booleans(QUERIES, KEYS)
        mask[:, 5] = False
        expected = F.scaled_dot_product_attention(q, k, v, mask)
        for x in (k, v):
            x[:, :, 5] = torch.nan
        self.assertTrue(theirs(q, k, v, mask).isnan().all())
        self.assertTrue(torch.equal(F.scaled_dot_product_attention(q, k, v, mask), expected))

    def test_a_query_without_keys_gets_zeros(self):
        q, k, v = inputs(*[(1, 2, rows, CHANNELS) for rows in (QUERIES, KEYS, KEYS)])
        mask = booleans(QUERIES, KEYS)
        mask[3] = False
        y, dq, dk, dv = results(F.scaled_dot_product_attention, [q, k, v], mask)
        self.assertFalse(y[:, :, 3].any() or dq[:, :, 3].any())
        self.assertTrue(all(x.isfinite().all() for x in (y, dq, dk, dv)))

    def test_dropout_is_reproducible(self):
        q, k, v = inputs(*[(1, 2, rows, CHANNELS) for rows in (QUERIES, KEYS, KEYS)])
        drawn = []
        for seed in (5, 5, 6):
            torch.manual_seed(seed)
            drawn.append(F.scaled_dot_product_attention(q, k, v, dropout_p=0.5))
        self.assertTrue(torch.equal(drawn[0], drawn[1]))
        self.assertFalse(torch.equal(drawn[0], drawn[2]))

    def test_errors(self):
        q, k, v = inputs(*[(1, 4, rows, CHANNELS) for rows in (QUERIES, KEYS, KEYS)])
        mask = booleans(QUERIES, KEYS)
        for message, tensors, arguments in (
                ("attn_mask must be None with is_causal", (q, k, v), {"attn_mask": mask, "is_causal": True}),
                ("grouped heads need enable_gqa=True", (q, k[:, :2], v[:, :2]), {}),
                (r"\[1, 4, 11, 8\], \[2, 4, 14, 8\], \[3, 4, 14, 8\] do not broadcast$",
                 (q, k.expand(2, -1, -1, -1), v.expand(3, -1, -1, -1)), {"enable_gqa": True}),
                ("v.heads is 3, must divide 4", (q, k[:, :3], v[:, :3]), {"enable_gqa": True}),
                (r"dropout.rate is 1, must be in \[0, 1\)", (q, k, v), {"dropout_p": 1.0}),
                ("as many queries as q", (q, k, v), {"attn_mask": mask[:5]}),
                ("as many samples and heads as q", (q, k, v), {"attn_mask": mask.expand(3, 1, -1, -1)})):
            with self.subTest(message), self.assertRaisesRegex(RuntimeError, message):
                F.scaled_dot_product_attention(*tensors, **arguments)


class OtherMasks(unittest.TestCase):
    def test_combinations(self):
        q, k, v = inputs(*[(BATCH, HEADS, 40, CHANNELS)] * 3)
        i, j = torch.arange(40)[:, None], torch.arange(40)
        causal, window, few = j <= i, (i - 8 <= j) & (j <= i + 8), (i < 2) | (j < 2)
        for text, pairs in (("either{causal, window{8, 8}}", causal | window), ("both{causal,window{8,8}}", causal & window),
                            ("both{causal, either{window{8, 8}, globals{2}}}", causal & (window | few)),
                            ("either{both{causal, window{8, 8}}, globals{2}}", (causal & window) | few),
                            ("both{full, causal, window{8, 8}}", causal & window)):
            with self.subTest(text):
                actual = results(lambda q, k, v, _: F.softmax_attention(q, k, v, mask=text), [q, k, v])
                for x, y in zip(actual, results(theirs, [q, k, v], pairs)):
                    self.assertLessEqual((x - y).abs().max().item(), 1e-12)

    def test_invalid_combinations(self):
        q = torch.randn(1, 1, 4, 4)
        for text, message in (("both", "write it as both"), ("either{causal}", "write it as either"),
                              ("both{causal, circle}", 'mask "circle" is none of full'),
                              ("both{causal, window{-1, 2}}", "left and right must be in 0"),
                              ("both{causal, full", "write it as both"),
                              ("both{full, full, full, full, full}", "at most 4 masks")):
            with self.subTest(text), self.assertRaisesRegex(RuntimeError, message):
                F.softmax_attention(q, q, q, mask=text)

    def test_segments_are_separate_samples(self):
        lengths = (5, 1, 0, 17, 9)
        q, k, v = inputs(*[(1, HEADS, sum(lengths), CHANNELS)] * 3)
        offsets = torch.tensor((0, *lengths)).cumsum(0)
        for dtype in (torch.int32, torch.int64):
            packed = F.softmax_attention(q, k, v, mask="causal", segments=offsets.to(dtype))
            for sample, y in zip(zip(*(x.split(lengths, 2) for x in (q, k, v))), packed.split(lengths, 2)):
                if y.size(2) > 0:
                    self.assertLessEqual((y - F.softmax_attention(*sample, mask="causal")).abs().max().item(), 1e-12)

    def test_sinks(self):
        """A learned logit per head is a part of merge_attention, which differentiates states."""
        def with_sinks(q, k, v, logits):
            y, state = F.softmax_attention_with_state(q, k, v, mask="causal")
            m = logits[None, :, None].expand(state.shape[:3])
            return F.merge_attention([y, torch.zeros_like(y)], [state, torch.stack((m, torch.ones_like(m)), 3)])[0]

        def dense(q, k, v, logits):
            scores = q @ k.mT / CHANNELS ** 0.5
            scores = scores.masked_fill(~torch.ones(QUERIES, QUERIES, dtype=torch.bool).tril(), -torch.inf)
            sinks = logits[None, :, None, None].expand(*scores.shape[:3], 1)
            return torch.softmax(torch.cat((scores, sinks), 3), 3)[..., :-1] @ v

        tensors = [x.requires_grad_() for x in inputs(*[(BATCH, HEADS, QUERIES, CHANNELS)] * 3)]
        tensors.append(torch.randn(HEADS, dtype=torch.float64, requires_grad=True))
        pairs = []
        for function in (with_sinks, dense):
            y = function(*tensors)
            pairs.append([y, *torch.autograd.grad(y.square().sum(), tensors)])
        for x, y in zip(*pairs):
            self.assertLessEqual((x - y).abs().max().item(), 1e-11)


if __name__ == "__main__":
    unittest.main()
