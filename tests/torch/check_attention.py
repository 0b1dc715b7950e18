#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled_dot_product_attention as a second oracle: check_attention.py PROGRAM host|cuda. Torch in float64 says
what is right; torch in the type itself says what error is to be expected. Exit status 77: there is no torch."""
import ctypes
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
# batch, heads, queries, keys, channels, values
SHAPES = ((2, 3, 33, 65, 64, 64), (1, 2, 128, 128, 128, 128), (1, 1, 1, 200, 40, 24), (2, 1, 130, 7, 17, 5))
NAMES = ("y", "dq", "dk", "dv", "dbias")


def by_torch(inputs: list, dy, scale: float, mask, dtype) -> list:
    """y and the gradients of q, k, v and the bias, where there is one."""
    leaves = [t.detach().clone().to(dtype).requires_grad_() for t in inputs]
    extra = leaves[3] if len(leaves) > 3 else None
    if mask is not None:
        hidden = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, float("-inf"))
        extra = hidden if extra is None else extra + hidden
    y = scaled_dot_product_attention(*leaves[:3], attn_mask=extra, scale=scale)
    y.backward(dy.to(dtype))
    return [y.detach()] + [leaf.grad for leaf in leaves]


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
        for shape, dtype, materialized, kind, with_bias in itertools.product(SHAPES, DTYPES, (0, 1), (FULL, CAUSAL), (0, 1)):
            b, h, n, m, d, e = shape
            scale = 1 / d ** 0.5
            sizes = [(b, h, n, d), (b, h, m, d), (b, h, m, e)] + [(b, h, n, m)] * with_bias
            inputs = [torch.randn(s, dtype=torch.float64).to(dtype) for s in sizes]
            dy = torch.randn((b, h, n, e), dtype=torch.float64).to(dtype)
            mask = torch.ones((n, m), dtype=torch.bool).tril() if kind == CAUSAL else None
            right = by_torch(inputs, dy, scale, mask, torch.float64)
            beside = by_torch(inputs, dy, scale, mask, dtype)
            header = (DTYPES.index(dtype), materialized, kind, 0, with_bias, *shape)
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
                    print(f"{name} of {shape} {dtype} {'materialized' if materialized else 'streaming'} mask {kind} bias {with_bias}: "
                          f"off by {error:g}, torch by {theirs:g}, allowed {allowed:g}")
    print(f"torch {torch.__version__}, {where}: {cases} tensors compared, {wrong} wrong; at most {worst:.0%} of what is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
