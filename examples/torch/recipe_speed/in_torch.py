# SPDX-License-Identifier: Apache-2.0
"""The recipes in PyTorch, each in the form that was the fastest of those tried on a CPU. compare.py checks that they compute
what the recipes compute, and times them. Tensors are [1, 1, length, channels]; lengths are multiples of all sizes."""
import torch
from torch.nn.functional import normalize, pad, scaled_dot_product_attention as attention


def scaled(q):
    return q * q.size(-1) ** -0.5


def linformer(q, k, v, e, f):
    return attention(q, e @ k, f @ v)


def pseudo_inverse(a, steps=6):
    """Newton's iteration, with each of its sums as part of a product."""
    z = a.mT / a.sum(-2).amax(-1)[:, None, None]
    for _ in range(steps):
        x = torch.bmm(a, z)
        u = torch.baddbmm(z, z, x, beta=7, alpha=-1)
        u = torch.baddbmm(z, u, x, beta=15, alpha=-1)
        z = torch.baddbmm(z, u, x, beta=13 / 4, alpha=-1 / 4)
    return z


def convolution(v, filters):
    """By shifts, of which torch.compile makes one loop; conv2d takes twice as long in a step."""
    taps, length = filters.size(3), v.size(2)
    padded = pad(v, (0, 0, (taps - 1) // 2, taps // 2))
    return sum(filters[..., t:t + 1] * padded[:, :, t:t + length] for t in range(taps))


def nystromformer(q, k, v, filters, landmarks=64):
    q_mean, k_mean = (x.unflatten(2, (landmarks, -1)).mean(3) for x in (q, k))
    inverse = pseudo_inverse(torch.softmax(scaled(q_mean) @ k_mean.mT, -1)[0])
    return attention(q, k_mean, inverse @ attention(q_mean, k, v)) + convolution(v, filters)


def synthesizer(v, logits):
    return torch.softmax(logits, -1) @ v


def window_blocks(x, width):
    """[1, 1, length, channels] -> [1, 1, blocks, 3 * width, channels]: a block, the one before, and the one after."""
    return pad(x, (0, 0, width, width)).unfold(2, 3 * width, width).mT


def window_bias(blocks, width):
    """0 for the keys i - width .. i + width - 1 of query i, minus infinity for others: [blocks, width, 3 * width]."""
    query, key = torch.arange(width)[:, None], torch.arange(3 * width) - width
    row = torch.arange(blocks)[:, None, None] * width + key
    allowed = (key >= query - width) & (key < query + width) & (row >= 0) & (row < blocks * width)
    return torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)


def long_short(q, k, v, x, w, width=64):
    projection = torch.softmax(x @ w, 2).mT
    keys, values = projection @ k, projection @ v
    rank, blocks, queries = keys.size(2), q.size(2) // width, scaled(q)
    near = queries.unflatten(2, (blocks, width)) @ window_blocks(k, width).mT + window_bias(blocks, width)
    weights = torch.softmax(torch.cat([queries @ keys.mT, near.flatten(2, 3)], -1), -1)
    near_y = weights[..., rank:].unflatten(2, (blocks, width)) @ window_blocks(v, width)
    return weights[..., :rank] @ values + near_y.flatten(2, 3)


def sinkhorn_transformer(q, k, v, logits, block=64):
    r = logits / 0.75
    for _ in range(8):
        r = r - r.logsumexp(-1, keepdim=True)
        r = r - r.logsumexp(-2, keepdim=True)
    r = r.exp()

    def both_blocks(x):
        blocks = x.unflatten(2, (-1, block)).flatten(3)
        return torch.cat([blocks, r @ blocks], 3).view(-1, 2 * block, x.size(3))
    return attention(q.reshape(-1, block, q.size(3)), both_blocks(k), both_blocks(v)).view(q.shape)


class Permute(torch.autograd.Function):
    """Rows in another order. The gradient gathers by the inverse order, which is faster than scattering."""
    @staticmethod
    def forward(ctx, x, order, inverse):
        ctx.save_for_backward(inverse)
        return x.index_select(0, order)

    @staticmethod
    def backward(ctx, dy):
        return dy.index_select(0, ctx.saved_tensors[0]), None, None


class MergedAttention(torch.autograd.Function):
    """One softmax over the rounds of sorted queries [rounds * chunks, 1, chunk, channels]. Row i of the sorted queries is
    row rows[i] of the rounds. Backward of a round takes the merged output and the merged logarithms of the sums. Calls
    operators that torch does not document; with documented ones, a step takes 1.4 times as long."""
    @staticmethod
    def forward(ctx, queries, keys, values, bias, rows, inverse, rounds):
        y, log_sum = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(queries, keys, values, attn_mask=bias)
        y = y.reshape(rows.numel(), -1).index_select(0, inverse).view(rounds, -1, y.size(-1))
        log_sum = log_sum.reshape(-1).index_select(0, inverse).view(rounds, -1, 1)
        merged = log_sum.logsumexp(0)
        y = ((log_sum - merged).exp() * y).sum(0)
        ctx.save_for_backward(queries, keys, values, bias, rows % y.size(0), y, merged)
        return y

    @staticmethod
    def backward(ctx, dy):
        queries, keys, values, bias, rows, y, merged = ctx.saved_tensors
        sorted_dy, sorted_y = (x.index_select(0, rows).view(queries.shape) for x in (dy, y))
        log_sum = merged.view(-1).index_select(0, rows).view(queries.shape[:3])
        return (*torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
            sorted_dy, queries, keys, values, sorted_y, log_sum, 0.0, False, attn_mask=bias), None, None, None, None)


def reformer(x, v, rotations, chunk=64):
    rounds, length, channels = rotations.size(1), x.size(2), x.size(3)
    scores = x.detach()[0] @ rotations[0].mT
    buckets = torch.cat([scores, -scores], -1).argmax(-1).to(torch.int16)
    rows = (torch.argsort(buckets, dim=-1, stable=True) + length * torch.arange(rounds)[:, None]).flatten()
    inverse = torch.empty_like(rows).scatter_(0, rows, torch.arange(rows.numel()))

    def in_order(rows_of_x):
        repeated = rows_of_x[0].expand(rounds, -1, -1).reshape(-1, channels)
        return Permute.apply(repeated, rows, inverse).view(rounds, -1, chunk, channels)

    def with_chunk_before(chunks):
        return torch.cat([chunks.roll(1, 1), chunks], 2).view(-1, 1, 2 * chunk, channels)
    queries = in_order(x)
    keys = with_chunk_before(normalize(queries, dim=-1))
    bias = pad(-5e4 * torch.eye(chunk), (chunk, 0))
    return MergedAttention.apply(queries.view(-1, 1, chunk, channels), keys, with_chunk_before(in_order(v)), bias, rows, inverse,
                                 rounds).view(x.shape)


def sinkformer(q, k, v):
    """Three half-steps without logarithms, as divisors of rows and columns. Exponents are relative to the maximum of a row."""
    scores = scaled(q) @ k.mT
    a = scores.sub_(scores.detach().amax(-1, keepdim=True)).exp_()
    rows = a.sum(-1, keepdim=True).reciprocal()
    columns = (a.mT @ rows).reciprocal()
    return (a @ (columns * v)) / (a @ columns)


def compiled(call):
    return torch.compile(call, dynamic=False)


# Products take most of the time of the two that are not compiled.
IMPLEMENTATIONS = {
    "softmax_attention": attention,
    "linformer": linformer,
    "nystromformer": compiled(nystromformer),
    "synthesizer": compiled(synthesizer),
    "long_short": compiled(long_short),
    "sinkhorn_transformer": compiled(sinkhorn_transformer),
    "reformer": compiled(reformer),
    "sinkformer": compiled(sinkformer),
}
