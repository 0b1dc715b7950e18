#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention as a second oracle: check_attention.py PROGRAM host|cuda. Torch in float64 says
what is right; torch in the type itself says what error is to be expected. Masks are written from
their definitions a second time. Exit status 77: there is no torch."""
import ctypes
import functools
import itertools
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from torch.nn.functional import scaled_dot_product_attention
except ImportError as error:
    print(f"skipped: there is no torch ({error})")
    sys.exit(77)

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
FULL, CAUSAL = 0, 1
FIXED, CAUSAL_FIXED, WINDOW_GLOBALS, DILATED, CHUNK_BACK, STRIDED, BIGBIRD = range(100, 107)
NO_BIAS, OF_PAIRS, RELATIVE, SHARED = range(4)
# batch, heads, queries, keys, channels, values
SHAPES = ((2, 3, 33, 65, 64, 64), (1, 2, 128, 128, 128, 128), (1, 1, 1, 200, 40, 24), (2, 1, 130, 7, 17, 5))
NAMES = ("y", "dq", "dk", "dv", "dbias")
FORMS = {"cuda": list(itertools.product((FULL, CAUSAL), (NO_BIAS, OF_PAIRS, RELATIVE, SHARED)))}
FORMS["host"] = FORMS["cuda"] + [(kind, (NO_BIAS, RELATIVE)[kind % 2]) for kind in range(FIXED, BIGBIRD + 1)]


def by_torch(inputs: list, dy, scale: float, mask, dtype) -> list:
    """y and the gradients of q, k, v and the bias, where there is one."""
    leaves = [t.detach().clone().to(dtype).requires_grad_() for t in inputs]
    extra = by_pairs(leaves[3], dy.shape[2], inputs[1].shape[2]) if len(leaves) > 3 else None
    if mask is not None:
        hidden = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, float("-inf"))
        extra = hidden if extra is None else extra + hidden
    y = scaled_dot_product_attention(*leaves[:3], attn_mask=extra, scale=scale)
    y.backward(dy.to(dtype))
    return [y.detach()] + [leaf.grad for leaf in leaves]


def by_pairs(bias, queries: int, keys: int):
    """A bias of any shape with a number for each pair."""
    if bias.shape[2] == queries:
        return bias
    distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
    return bias[:, :, 0, distance + queries - 1]


def looks_of(kind: int, h: int, n: int, m: int):
    """Which keys the queries look at, [heads or 1, queries, keys], with the numbers of attention_file.cpp."""
    i, j = torch.arange(n)[:, None], torch.arange(m)[None, :]
    if kind == BIGBIRD:
        return torch.tensor([[[big_blocks_meet(head, q // 16, k // 16, (n - 1) // 16, (m - 1) // 16) for k in range(m)]
                              for q in range(n)] for head in range(h)])
    steps = j - i
    return {FULL: torch.ones((n, m), dtype=torch.bool),
            CAUSAL: j <= i,
            FIXED: (i // 10 == j // 10) | (j % 10 >= 7),
            CAUSAL_FIXED: (j <= i) & ((i // 16 == j // 16) | (j % 16 >= 14) | (j % 16 == 0)),
            WINDOW_GLOBALS: ((steps >= -7) & (steps <= 5)) | (i < 3) | (j < 3),
            DILATED: (steps % 4 == 0) & (steps >= -48) & (steps <= 40),
            CHUNK_BACK: (j // 20 == i // 20) | (j // 20 == i // 20 - 1),
            STRIDED: steps % 4 == 0}[kind][None]


def hash32(seed: int, stream: int, counter: int) -> int:
    """SplitMix64, twice."""
    every = 2**64 - 1

    def mixed(start: int, number: int) -> int:
        z = (start + 0x9E3779B97F4A7C15 * (number + 1)) & every
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & every
        z = (z ^ z >> 27) * 0x94D049BB133111EB & every
        return z ^ z >> 31
    return mixed(mixed(seed, stream), counter) >> 32


@functools.lru_cache(maxsize=None)
def big_blocks_meet(head: int, row: int, column: int, last_row: int, last: int) -> bool:
    """One block at each end, a window of three, and two more of the others, which a shuffle draws."""
    if row in (0, last_row) or column in (0, last) or abs(row - column) <= 1:
        return True
    others = [b for b in range(1, last) if abs(row - b) > 1]
    for t in range(min(2, len(others))):
        draw = t + (hash32(7, (head << 32) + row, t) * (len(others) - t) >> 32)
        others[t], others[draw] = others[draw], others[t]
        if others[t] == column:
            return True
    return False


def bytes_of(t) -> bytes:
    return ctypes.string_at(t.data_ptr(), t.numel() * t.element_size())


def by_us(program: str, where: str, folder: Path, header: tuple, scale: float, inputs: list, dy, dtype) -> list:
    given, answer = folder / "in", folder / "out"
    given.write_bytes(struct.pack("=11qd", *header, scale) + b"".join(bytes_of(t) for t in (*inputs, dy)))
    subprocess.run([program, where, given, answer], check=True, timeout=300)
    data, at, results = bytearray(answer.read_bytes()), 0, []
    for like in (dy, *inputs):
        results.append(torch.frombuffer(data, dtype=dtype, count=like.numel(), offset=at).reshape(like.shape))
        at += like.numel() * like.element_size()
    assert at == len(data), f"{len(data)} bytes came back, not {at}"
    return results


def main() -> int:
    program, where = sys.argv[1:]
    torch.manual_seed(1)
    cases = wrong = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        for shape, dtype, materialized, (kind, bias) in itertools.product(SHAPES, DTYPES, (0, 1), FORMS[where]):
            b, h, n, m, d, e = shape
            scale = 1 / d ** 0.5
            of_bias = {OF_PAIRS: [(b, h, n, m)], RELATIVE: [(1, h, 1, n + m - 1)], SHARED: [(1, 1, n, m)]}
            sizes = [(b, h, n, d), (b, h, m, d), (b, h, m, e)] + of_bias.get(bias, [])
            inputs = [torch.randn(s, dtype=torch.float64).to(dtype) for s in sizes]
            dy = torch.randn((b, h, n, e), dtype=torch.float64).to(dtype)
            mask = looks_of(kind, h, n, m) if kind != FULL else None
            if mask is not None and not mask.any(dim=-1).all():
                continue  # torch makes NaNs of queries that look at nothing
            right = by_torch(inputs, dy, scale, mask, torch.float64)
            beside = by_torch(inputs, dy, scale, mask, dtype)
            header = (DTYPES.index(dtype), materialized, kind, 0, bias, *shape)
            ours = by_us(program, where, Path(scratch), header, scale, inputs, dy, dtype)
            for name, is_, want, other in zip(NAMES, ours, right, beside):
                error, theirs = ((t.to(torch.float64) - want).abs().max().item() for t in (is_, other))
                size = want.abs().max().item()
                # A gradient can be exact by chance in one of the two: some roundings of its size are free.
                allowed = 1e-12 * max(size, 1) if dtype is torch.float64 else 2 * theirs + 4 * torch.finfo(dtype).eps * size
                worst = max(worst, error / allowed if error else 0.0)
                cases += 1
                if not error <= allowed:
                    wrong += 1
                    print(f"{name} of {shape} {dtype} {'materialized' if materialized else 'streaming'} mask {kind} bias {bias}: "
                          f"off by {error:g}, torch by {theirs:g}, allowed {allowed:g}")
    print(f"torch {torch.__version__}, {where}: {cases} tensors compared, {wrong} wrong; at most {worst:.0%} of what is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
