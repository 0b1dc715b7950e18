# SPDX-License-Identifier: Apache-2.0
"""torch's own sample inputs of `scaled_dot_product_attention`, which its tests of the operator use, through torch's function
and `slicesort_torch`'s. Skipped without torch, the extension, or expecttest, which torch.testing needs."""
import collections
import unittest

try:
    import torch
    from slicesort_torch import functional as F
    from test_dot_product_attention import DTYPES, results, theirs
    from torch.testing._internal.common_methods_invocations import op_db
except (ImportError, OSError) as error:  # OSError: a library that the extension needs
    raise unittest.SkipTest(f"there is no torch or expecttest, or examples/torch is not installed: {error}") from error


def samples(dtype):
    """Yields a name, the tensors and the other arguments of every sample, contiguous and with strides."""
    operator = next(op for op in op_db if op.name == "nn.functional.scaled_dot_product_attention")
    torch.manual_seed(0)
    for number, sample in enumerate(operator.reference_inputs("cpu", dtype, requires_grad=False)):
        for layout, s in (("contiguous", sample), ("strided", sample.noncontiguous())):
            yield f"{number}, {layout}", [s.input, *s.args], s.kwargs


def bounds(tensors, dtype, attn_mask=None, is_causal=False, **_):
    """Returns bounds of the errors of y and of the gradients of `results`, to first order.

    With the unit roundoff u of sums, a score of D products, with its scale and mask, has the error (D + 3) u S, S the sum of
    its absolute terms, so a weight has the relative error 2 (D + 3) u S + (M + 4) u for M keys. y and the gradients multiply
    weights by values, and by gradients of weights, in sums over keys, queries and channels: each term gets at most one
    rounding per summand. Errors are relative to the sums of absolute terms. Weights below the smallest normal number are 0.
    Results, and y as an operand of backward, are rounded to the dtype."""
    q, k, v = (x.double() for x in tensors)
    scale = q.size(-1) ** -0.5
    scores, sizes = q @ k.mT * scale, q.abs() @ k.abs().mT * scale
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    if attn_mask is not None:
        scores, sizes = scores + attn_mask.double(), sizes + attn_mask.double().abs()
    p = torch.softmax(scores, -1)
    y = p @ v.abs()
    dy = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).reshape(y.shape).to(dtype).double().abs()
    dp = dy @ v.abs().mT + (dy * y).sum(-1, keepdim=True)
    sums_dtype = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32)

    def absolute_sums(weights):
        ds = weights * dp
        sums = [weights @ v.abs(), ds @ k.abs() * scale, ds.mT @ q.abs() * scale, weights.mT @ dy]
        return [*sums, ds] if attn_mask is not None else sums

    queries, keys = scores.shape[-2:]
    terms = 2 * (q.size(-1) + 3) * sizes.max().item() + 3 * keys + 2 * queries + 2 * v.size(-1) + 16
    found = []
    for x, lost, like in zip(absolute_sums(p), absolute_sums(torch.full_like(p, 2 * sums_dtype.tiny).where(p > 0, 0)),
                             (y, q, k, v, attn_mask)):
        # The gradient of a broadcast tensor is a sum over its copies, which autograd adds in the dtype.
        roundings = 1 + x.numel() / like.numel()
        relative = 1.01 * terms * sums_dtype.eps / 2 + roundings * torch.finfo(dtype).eps / 2
        subnormal = roundings * torch.finfo(dtype).tiny * torch.finfo(dtype).eps
        found.append((relative * x + lost).sum_to_size(like.shape) + subnormal)
    return found


class ReferenceCases(unittest.TestCase):
    def test_samples_of_torch(self):
        counts, skipped = collections.Counter(), collections.Counter()
        for dtype in DTYPES:
            for name, tensors, arguments in samples(dtype):
                if arguments.get("dropout_p"):
                    skipped["dropout: torch draws other weights"] += 1
                    continue
                wide = {k: x.double() if torch.is_tensor(x) and x.is_floating_point() else x for k, x in arguments.items()}
                expected = results(theirs, [x.double() for x in tensors], **wide)
                actual = results(F.scaled_dot_product_attention, tensors, **arguments)
                self.assertEqual(len(actual), len(expected))
                for output, x, reference, bound in zip(("y", "dq", "dk", "dv", "dmask"), actual, expected,
                                                       bounds(tensors, dtype, **arguments)):
                    with self.subTest(dtype=dtype, sample=name, output=output):
                        self.assertEqual((x.dtype, x.shape), (dtype, reference.shape))
                        self.assertTrue(((x.double() - reference).abs() <= bound).all())
                counts[str(dtype)] += 1
        print(f"torch {torch.__version__}: samples run: {dict(counts)}; skipped: {dict(skipped)}")
        self.assertTrue(all(counts[str(dtype)] > 0 for dtype in DTYPES))


if __name__ == "__main__":
    unittest.main()
