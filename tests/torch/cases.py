# SPDX-License-Identifier: Apache-2.0
"""For every operator of examples/torch: a call, its tensors, and a reference implementation in torch."""
import math
import unittest

try:
    import torch
    from slicesort_torch import functional as F
except (ImportError, OSError) as error:  # OSError: a library that the extension needs
    raise unittest.SkipTest(f"there is no torch, or examples/torch is not installed: {error}") from error

BATCH, LENGTH, CHANNELS = 2, 13, 6
ALLOWED = (torch.arange(BATCH * LENGTH * 9) * 7 % 11 < 6).reshape(BATCH, 1, LENGTH, 9)
OFFSETS = torch.tensor([0, 4, 5, LENGTH], dtype=torch.int32)


def distinct(*shape, dtype=torch.float64):
    """Returns values at least 0.01 apart, so that differences of 1e-6 change no order."""
    count = torch.Size(shape).numel()
    return ((torch.randperm(count) - count / 2) / 100).reshape(shape).to(dtype)


def gather_rows(x, perm):
    return torch.gather(x, 1, perm.to(torch.int64))


def multi_permutation(x, weights):
    perm, term, y = torch.sort(x, dim=1, stable=True).indices, x, 0
    for weight in weights:
        term = gather_rows(term, perm)
        y = y + weight.to(x.dtype) * term
    return y


def short_convolution(x, weights, shift):
    taps, weights = weights.size(1), weights.repeat_interleave(x.size(2) // weights.size(0), 0)
    padded = torch.nn.functional.pad(x.transpose(1, 2), (shift, taps - 1 - shift))
    return torch.nn.functional.conv1d(padded, weights[:, None], groups=x.size(2)).transpose(1, 2)


def decaying_sum(x, a, w, is_complex=False, is_reversed=False):
    """One direction; a: [numbers, channels] or [batch, numbers, length, channels]."""
    a = a[None, :, None].expand(x.size(0), -1, x.size(1), -1) if a.dim() == 2 else a
    a, w = ([torch.complex(t[:, 0::2], t[:, 1::2]) for t in (a, w[None])] if is_complex else (a, w[None]))
    state, rows = 0, []
    for n in reversed(range(x.size(1))) if is_reversed else range(x.size(1)):
        state = a[:, :, n] * state + x[:, None, n]
        y = (w * state).sum(1)
        rows.append(2 * y.real if is_complex else y)
    return torch.stack(rows[::-1] if is_reversed else rows, dim=1)


def soft_reference(x, ranks, strength):
    """Soft sort or soft ranks with l2, by the min-max formula of isotonic regression."""
    length = x.size(1)
    s, rows = torch.sort(x if ranks else -x, dim=1, descending=True)
    w = torch.arange(length, 0, -1, dtype=x.dtype).reshape(1, -1, 1)
    z = s / strength if ranks else w / strength + 0 * s
    sums = torch.nn.functional.pad((z - (w if ranks else s)).cumsum(1), (0, 0, 1, 0))
    counts = torch.arange(1, length + 1).reshape(1, -1) - torch.arange(length).reshape(-1, 1)
    means = (sums[:, None, 1:] - sums[:, :-1, None]) / counts.clamp(min=1).reshape(1, length, length, 1)
    y = z - torch.stack([means[:, :i + 1, i:].amax(2).amin(1) for i in range(length)], 1)
    return torch.zeros_like(y).scatter(1, rows, y) if ranks else -y


def max_exchange(x, row):
    maximum = torch.max(x, dim=1, keepdim=True).indices
    y = x.scatter(1, maximum, x[:, row:row + 1])
    return torch.cat((y[:, :row], torch.gather(x, 1, maximum), y[:, row + 1:]), dim=1)


def shift_rows(x, reference=None):
    step = -(-x.size(1) // x.size(2))
    return torch.stack([x[..., c] if c == reference else x[..., c].roll((c + 1) * step % x.size(1), 1)
                        for c in range(x.size(2))], dim=2)


def csp_ascending(x, group):
    return torch.cat([torch.sort(part, dim=1).values for part in shift_rows(x).split(group, dim=1)], dim=1)


def csp_reference(x, group):
    def aligned(part):
        rank = part[..., :1].argsort(1).argsort(1)
        return torch.gather(torch.sort(part, dim=1).values, 1, rank.expand_as(part))
    return torch.cat([aligned(part) for part in shift_rows(x, 0).split(group, dim=1)], dim=1)


def sinkhorn_csp(x, group, tau, iterations):
    def mixed(part):
        t = part[:, :, None, :1] * part[:, None] / tau
        for _ in range(iterations):
            t = t - torch.logsumexp(t, dim=2, keepdim=True)
            t = t - torch.logsumexp(t, dim=1, keepdim=True)
        y = torch.einsum("bnmc,bmc->bnc", t.exp(), part)
        return torch.cat((part[..., :1], y[..., 1:]), dim=2)
    return torch.cat([mixed(part) for part in shift_rows(x, 0).split(group, dim=1)], dim=1)


def sinkhorn(logits, tau, half_steps, rows_last):
    t = logits / tau
    for remaining in reversed(range(half_steps)):
        if (remaining % 2 == 0) == rows_last:
            t = t - torch.logsumexp(t, dim=2, keepdim=True)
        else:
            t = t - torch.logsumexp(t, dim=1, keepdim=True) + math.log(t.size(1) / t.size(2))
    return t.exp()


def sparse_mix(x, w, offsets):
    for m in range(w.size(0)):
        x = x + sum(w[m, ..., k:k + 1] * x.roll(-offset, 1) for k, offset in enumerate(offsets(m)))
    return x


def attention(q, k, v, allowed=None, bias=0.0):
    scores = q @ k.transpose(2, 3) / q.size(3) ** 0.5 + bias
    if allowed is not None:
        i, j = torch.arange(q.size(2))[:, None], torch.arange(k.size(2))
        scores = scores.masked_fill(~allowed(i, j), float("-inf"))
    return torch.softmax(scores, dim=3) @ v


def laplace(s, mean=0.707107, deviation=0.282095):
    return (1 + torch.erf((s - mean) / (deviation * 2 ** 0.5))) / 2


def squared_relu(s):
    return torch.relu(s).square()


def pointwise(q, k, v, function, allowed=None, bias=0.0, scale=None):
    weights = function(q @ k.transpose(2, 3) * (q.size(3) ** -0.5 if scale is None else scale) + bias)
    return (weights if allowed is None else weights * allowed) @ v


def sdpa(q, k, v, **arguments):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, **arguments)


def grouped(k, group):
    return k.repeat_interleave(group, 1)


def segment_pairs(i, j):
    return torch.bucketize(i, OFFSETS, right=True) == torch.bucketize(j, OFFSETS, right=True)


def merge_three_parts(q, k, v):
    """Merges attention over three sets of keys."""
    parts = [F.softmax_attention_with_state(q, k[:, :, a:b], v[:, :, a:b]) for a, b in ((0, 2), (2, 3), (3, 9))]
    return F.merge_attention(*zip(*parts))[0]


def linear_attention(q, k, v, phi, causal=False):
    q, k = phi(q), phi(k)
    weights = torch.einsum("bhic,bhjc->bhij", q, k)
    if causal:
        weights = weights.tril()
    return weights @ v / (weights.sum(3, keepdim=True) + 1e-6)


def elu_plus_one(x):
    return torch.nn.functional.elu(x) + 1


def relative(bias, queries, keys):
    i, j = torch.arange(queries)[:, None], torch.arange(keys)
    return bias[:, :, 0, j - i + queries - 1]


def random_w(factors, links):
    return lambda: torch.randn(factors, BATCH, LENGTH, links, dtype=torch.float64) / 2


def heads(length=LENGTH, channels=4, count=3):
    return lambda: torch.randn(BATCH, count, length, channels, dtype=torch.float64)


def small(*shape):
    """Returns numbers in [-0.6, 0.6], decays for example."""
    return lambda: torch.rand(*shape, dtype=torch.float64) * 1.2 - 0.6


def sequence():
    return distinct(BATCH, LENGTH, CHANNELS)


class Case:
    """A call, its reference, and functions that make its tensors in float64. `accumulators`: indices of the tensors of
    the accumulator's type. `floats`: supports no 16-bit types."""

    def __init__(self, name, call, reference, *makers, accumulators=(), floats=False):
        self.name, self.call, self.reference, self.makers = name, call, reference, makers
        self.accumulators, self.floats = accumulators, floats

    def tensors(self, dtype=torch.float64, grad=False):
        torch.manual_seed(0)
        made = [make() for make in self.makers]
        return [x.to(torch.float32 if i in self.accumulators and dtype != torch.float64 else dtype).requires_grad_(grad)
                for i, x in enumerate(made)]


CASES = [
    Case("slicing_sort", F.slicing_sort, lambda x: torch.sort(x, dim=1).values, sequence),
    Case("slicing_sort descending", lambda x: F.slicing_sort(x, "descending"),
         lambda x: torch.sort(x, dim=1, descending=True).values, sequence),
    Case("slicing_sort half_half", lambda x: F.slicing_sort(x, "half_half{2}"),
         lambda x: torch.stack([torch.sort(x[..., c], dim=1, descending=c % 3 >= 1).values for c in range(6)], 2), sequence),
    Case("multi_permutation", F.multi_permutation, multi_permutation, sequence,
         lambda: torch.randn(3, dtype=torch.float64), accumulators=(1,)),
    Case("permute", lambda x: F.permute(x, F.slicing_sort_with_permutation(-x)[1]),
         lambda x: gather_rows(x, torch.sort(-x, dim=1).indices), sequence),
    Case("short_convolution", F.short_convolution, lambda x, w: short_convolution(x, w, 3), sequence,
         lambda: torch.randn(CHANNELS, 4, dtype=torch.float64)),
    Case("short_convolution of heads", lambda x, w: F.short_convolution(x, w, shift=1),
         lambda x, w: short_convolution(x, w, 1), sequence, lambda: torch.randn(2, 3, dtype=torch.float64)),
    Case("decaying_sum", F.decaying_sum, decaying_sum, sequence, small(2, CHANNELS), small(2, CHANNELS)),
    Case("decaying_sum gated", F.decaying_sum, lambda x, a: decaying_sum(x, a, torch.ones(1, CHANNELS)), sequence,
         small(BATCH, 1, LENGTH, CHANNELS)),
    Case("decaying_sum complex, both", lambda x, a, w: F.decaying_sum(x, a, w, direction="both", is_complex=True),
         lambda x, a, w: decaying_sum(x, a[:4], w[:4], True) + decaying_sum(x, a[4:], w[4:], True, True), sequence,
         small(8, CHANNELS), small(8, CHANNELS)),
    Case("top_k", lambda x: F.top_k(x, 3)[0], lambda x: torch.topk(x, 3, dim=1).values, sequence),
    Case("soft_sort", lambda x: F.soft_sort(x, "l2", 2.0, dim=1), lambda x: soft_reference(x, False, 2.0), sequence),
    Case("soft_rank", lambda x: F.soft_rank(x, "l2", 0.5, dim=1), lambda x: soft_reference(x, True, 0.5), sequence),
    Case("max_exchange", lambda x: F.max_exchange(x, 2), lambda x: max_exchange(x, 2), sequence),
    Case("shuffle", lambda x: F.shuffle(x, 7),
         lambda x: x[:, F.shuffle(torch.arange(x.size(1), dtype=torch.float32).reshape(1, -1, 1), 7).flatten().long()],
         sequence),
    Case("csp pairs", F.csp, lambda x: csp_reference(x, 2), sequence),
    Case("csp ascending", lambda x: F.csp(x, "group_size{5}", alignment="ascending"), lambda x: csp_ascending(x, 5), sequence),
    Case("csp one group", lambda x: F.csp(x, "group_count{1}"), lambda x: csp_reference(x, LENGTH), sequence),
    Case("sinkhorn_csp", lambda x: F.sinkhorn_csp(x, 0.5, 4, "group_size{5}"), lambda x: sinkhorn_csp(x, 5, 0.5, 4),
         sequence, floats=True),
    Case("sinkhorn", lambda x: F.sinkhorn(x, 0.7, 4), lambda x: sinkhorn(x, 0.7, 4, False), sequence),
    Case("sinkhorn rows last", lambda x: F.sinkhorn(x, half_steps=3, rows_last=True),
         lambda x: sinkhorn(x, 1.0, 3, True), sequence),
    Case("sparse_mix chord", F.sparse_mix, lambda x, w: sparse_mix(x, w, lambda m: (0, 1, 2, 4, 8)), sequence, random_w(4, 5)),
    Case("sparse_mix cdil", lambda x, w: F.sparse_mix(x, w, "cdil{1}", checkpoint_every=2),
         lambda x, w: sparse_mix(x, w, lambda m: (0, 2 ** m, -2 ** m)), sequence, random_w(4, 3)),
    Case("softmax_attention", F.softmax_attention, attention, heads(), heads(9), heads(9)),
    Case("softmax_attention causal", lambda q, k, v: F.softmax_attention(q, k, v, mask="causal"),
         lambda q, k, v: attention(q, k, v, lambda i, j: j <= i), heads(), heads(), heads(channels=5)),
    Case("softmax_attention window", lambda q, k, v: F.softmax_attention(q, k, v, mask="window{2, 1}"),
         lambda q, k, v: attention(q, k, v, lambda i, j: (i - 2 <= j) & (j <= i + 1)), heads(), heads(), heads()),
    Case("softmax_attention bias", lambda q, k, v, bias: F.softmax_attention(q, k, v, bias),
         lambda q, k, v, bias: attention(q, k, v, bias=bias), heads(), heads(), heads(),
         lambda: torch.randn(1, 3, LENGTH, LENGTH, dtype=torch.float64)),
    Case("softmax_attention relative bias", lambda q, k, v, bias: F.softmax_attention(q, k, v, bias, mask="strided{3, 2}"),
         lambda q, k, v, bias: attention(q, k, v, lambda i, j: ((i - j).abs() < 2) | ((i - j) % 3 == 0),
                                         relative(bias, LENGTH, LENGTH)), heads(), heads(), heads(),
         lambda: torch.randn(BATCH, 1, 1, 2 * LENGTH - 1, dtype=torch.float64)),
    Case("softmax_attention grouped", F.softmax_attention, lambda q, k, v: attention(q, grouped(k, 3), grouped(v, 3)),
         heads(count=6), heads(9, count=2), heads(9, count=2)),
    Case("softmax_attention combined", lambda q, k, v: F.softmax_attention(q, k, v, mask="both{causal, either{window{2, 1}, globals}}"),
         lambda q, k, v: attention(q, k, v, lambda i, j: (j <= i) & ((i - 2 <= j) | (j < 1) | (i < 1))), heads(), heads(), heads()),
    Case("softmax_attention booleans", lambda q, k, v: F.softmax_attention(q, k, v, allowed=ALLOWED.to(q.device)),
         lambda q, k, v: sdpa(q, k, v, attn_mask=ALLOWED.to(q.device)), heads(), heads(9), heads(9)),
    Case("softmax_attention segments", lambda q, k, v: F.softmax_attention(q, k, v, mask="causal", segments=OFFSETS.to(q.device)),
         lambda q, k, v: attention(q, k, v, lambda i, j: (j <= i) & segment_pairs(i, j)), heads(), heads(), heads()),
    Case("scaled_dot_product_attention", F.scaled_dot_product_attention, sdpa, heads(), heads(9), heads(9, 5)),
    Case("scaled_dot_product_attention bias", lambda q, k, v, bias: F.scaled_dot_product_attention(q, k, v, bias, scale=0.3),
         lambda q, k, v, bias: sdpa(q, k, v, attn_mask=bias, scale=0.3), heads(), heads(9), heads(9),
         lambda: torch.randn(3, 1, 9, dtype=torch.float64)),
    Case("pointwise_attention", F.pointwise_attention, lambda q, k, v: pointwise(q, k, v, laplace), heads(), heads(9), heads(9, 5)),
    Case("pointwise_attention squared_relu", lambda q, k, v, bias: F.pointwise_attention(q, k, v, bias, "causal", "squared_relu", 0.4),
         lambda q, k, v, bias: pointwise(q, k, v, squared_relu, torch.ones(LENGTH, LENGTH, dtype=q.dtype).tril(),
                                         relative(bias, LENGTH, LENGTH), 0.4),
         heads(), heads(), heads(), lambda: torch.randn(BATCH, 1, 1, 2 * LENGTH - 1, dtype=torch.float64)),
    Case("pointwise_attention per_key, booleans", lambda q, k, v: F.pointwise_attention(
             q, k, v, function="laplace{0.1, 0.2}", scale="per_key", allowed=ALLOWED.to(q.device)),
         lambda q, k, v: pointwise(q, grouped(k, 3), grouped(v, 3), lambda s: laplace(s, 0.1, 0.2), ALLOWED.to(q.device), scale=1 / 9),
         heads(count=6), heads(9, count=2), heads(9, count=2)),
    Case("pointwise_attention segments", lambda q, k, v: F.pointwise_attention(q, k, v, segments=OFFSETS.to(q.device)),
         lambda q, k, v: pointwise(q, k, v, laplace, segment_pairs(torch.arange(LENGTH)[:, None], torch.arange(LENGTH))),
         heads(), heads(), heads()),
    Case("merge_attention", merge_three_parts, attention, heads(), heads(9), heads(9, 5)),
    Case("linear_attention", F.linear_attention, lambda q, k, v: linear_attention(q, k, v, elu_plus_one),
         heads(), heads(9), heads(9)),
    Case("linear_attention grouped", F.linear_attention,
         lambda q, k, v: linear_attention(q, grouped(k, 3), grouped(v, 3), elu_plus_one), heads(count=6), heads(9, count=2), heads(9, count=2)),
    Case("linear_attention_with_state grouped", lambda q, k, v: F.linear_attention_with_state(q, k, v)[0],
         lambda q, k, v: linear_attention(q, grouped(k, 3), grouped(v, 3), elu_plus_one, causal=True),
         heads(count=6), heads(count=2), heads(count=2)),
    Case("linear_attention random_relu", lambda q, k, v, w: F.linear_attention(q, k, v, w, "random_relu{1e-3, 1}"),
         lambda q, k, v, w: linear_attention(q, k, v, lambda x: torch.relu(x @ w.transpose(1, 2)) + 1e-3),
         heads(), heads(9), heads(9), lambda: torch.randn(3, 7, 4, dtype=torch.float64)),
]
