#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares attention with PyTorch's scaled_dot_product_attention: check_attention.py PROGRAM host|cuda. Computes the
masks from their definitions. Exits with 77 without torch."""
import functools
import itertools
import struct
import sys
import tempfile
from pathlib import Path

from common import DTYPES, Comparison, run_program, torch
from torch.nn.functional import scaled_dot_product_attention

# Mask and bias codes, as in attention_file.cpp.
FULL, CAUSAL = 0, 1
FIXED, CAUSAL_FIXED, WINDOW_GLOBALS, DILATED, CHUNK_BACK, STRIDED, BIGBIRD = range(100, 107)
NO_BIAS, DENSE, RELATIVE, SHARED = range(4)
# batch, heads, queries, keys, channels, values
SHAPES = ((2, 3, 33, 65, 64, 64), (1, 2, 128, 128, 128, 128), (1, 1, 1, 200, 40, 24), (2, 1, 130, 7, 17, 5))
NAMES = ("y", "dq", "dk", "dv", "dbias")
MASKS_AND_BIASES = {"cuda": list(itertools.product((FULL, CAUSAL), (NO_BIAS, DENSE, RELATIVE, SHARED)))}
MASKS_AND_BIASES["host"] = MASKS_AND_BIASES["cuda"] + [(kind, (NO_BIAS, RELATIVE)[kind % 2])
                                                       for kind in range(FIXED, BIGBIRD + 1)]


def attention_with_constant_divisors(q, k, v, attn_mask, scale: float):
    """Computes attention without gradients through the divisors of the softmax."""
    scores = q @ k.mT * scale + (0 if attn_mask is None else attn_mask)
    return (scores - scores.detach().logsumexp(-1, keepdim=True)).exp() @ v


def run_torch(inputs: list, dy, scale: float, mask, dtype, attention=scaled_dot_product_attention) -> list:
    """Returns y and the gradients of q, k, v and, if there is one, the bias."""
    leaves = [t.detach().clone().to(dtype).requires_grad_() for t in inputs]
    attn_mask = expand_bias(leaves[3], dy.shape[2], inputs[1].shape[2]) if len(leaves) > 3 else None
    if mask is not None:
        hidden_bias = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, float("-inf"))
        attn_mask = hidden_bias if attn_mask is None else attn_mask + hidden_bias
    y = attention(*leaves[:3], attn_mask=attn_mask, scale=scale)
    y.backward(dy.to(dtype))
    return [y.detach()] + [leaf.grad for leaf in leaves]


def expand_bias(bias, queries: int, keys: int):
    """Expands a bias of any shape to one value per pair."""
    if bias.shape[2] == queries:
        return bias
    distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
    return bias[:, :, 0, distance + queries - 1]


def visible_keys(kind: int, h: int, n: int, m: int):
    """Returns the mask of visible keys, [heads or 1, queries, keys]. `kind` is a mask code."""
    i, j = torch.arange(n)[:, None], torch.arange(m)[None, :]
    if kind == BIGBIRD:
        return torch.tensor([[[is_bigbird_block_visible(head, q // 16, k // 16, (n - 1) // 16, (m - 1) // 16) for k in range(m)]
                              for q in range(n)] for head in range(h)])
    distance = j - i
    return {FULL: torch.ones((n, m), dtype=torch.bool),
            CAUSAL: j <= i,
            FIXED: (i // 10 == j // 10) | (j % 10 >= 7),
            CAUSAL_FIXED: (j <= i) & ((i // 16 == j // 16) | (j % 16 >= 14) | (j % 16 == 0)),
            WINDOW_GLOBALS: ((distance >= -7) & (distance <= 5)) | (i < 3) | (j < 3),
            DILATED: (distance % 4 == 0) & (distance >= -48) & (distance <= 40),
            CHUNK_BACK: (j // 20 == i // 20) | (j // 20 == i // 20 - 1),
            STRIDED: distance % 4 == 0}[kind][None]


def hash32(seed: int, stream: int, counter: int) -> int:
    """Hashes (seed, stream, counter) with SplitMix64 applied twice."""
    mask64 = 2**64 - 1

    def splitmix64(seed: int, index: int) -> int:
        z = (seed + 0x9E3779B97F4A7C15 * (index + 1)) & mask64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask64
        return z ^ z >> 31
    return splitmix64(splitmix64(seed, stream), counter) >> 32


@functools.lru_cache(maxsize=None)
def is_bigbird_block_visible(head: int, row: int, column: int, last_row: int, last: int) -> bool:
    """True for one block at each end, a window of three blocks, and two other blocks drawn by a shuffle."""
    if row in (0, last_row) or column in (0, last) or abs(row - column) <= 1:
        return True
    others = [b for b in range(1, last) if abs(row - b) > 1]
    for t in range(min(2, len(others))):
        draw = t + (hash32(7, (head << 32) + row, t) * (len(others) - t) >> 32)
        others[t], others[draw] = others[draw], others[t]
        if others[t] == column:
            return True
    return False


def main() -> int:
    program, backend = sys.argv[1:]
    torch.manual_seed(1)
    comparison = Comparison()
    with tempfile.TemporaryDirectory() as scratch:
        for shape, dtype, materialized, (kind, bias) in itertools.product(SHAPES, DTYPES, (0, 1), MASKS_AND_BIASES[backend]):
            b, h, n, m, d, e = shape
            scale = 1 / d ** 0.5
            bias_shapes = {DENSE: [(b, h, n, m)], RELATIVE: [(1, h, 1, n + m - 1)], SHARED: [(1, 1, n, m)]}
            sizes = [(b, h, n, d), (b, h, m, d), (b, h, m, e)] + bias_shapes.get(bias, [])
            inputs = [torch.randn(s, dtype=torch.float64).to(dtype) for s in sizes]
            dy = torch.randn((b, h, n, e), dtype=torch.float64).to(dtype)
            mask = visible_keys(kind, h, n, m) if kind != FULL else None
            if mask is not None and not mask.any(dim=-1).all():
                continue  # torch returns NaN for queries without keys
            expected = run_torch(inputs, dy, scale, mask, torch.float64)
            numerator_parts = run_torch(inputs, dy, scale, mask, torch.float64, attention_with_constant_divisors)
            torch_values = run_torch(inputs, dy, scale, mask, dtype)
            header = (DTYPES.index(dtype), materialized, kind, 0, bias, *shape)
            params = struct.pack("=11qd", *header, scale)
            actual = run_program(program, backend, Path(scratch), params, inputs, dy, dtype)
            # Backward reads y, so both parts are rounded to the dtype of the tensors.
            for name, *values, part in zip(NAMES, actual, expected, torch_values, numerator_parts):
                comparison.add(f"{name} of {shape} {dtype} {'materialized' if materialized else 'streaming'} mask {kind} bias {bias}",
                               *values, dtype, part, dtype)
    return comparison.end(backend)


if __name__ == "__main__":
    sys.exit(main())
