#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares linear attention with the bench's implementation in PyTorch: check_linear_attention.py PROGRAM host|cuda. This
checks the operator, and that the bench times the same computation in torch. Exits with 77 without torch."""
import itertools
import struct
import sys
import tempfile
from pathlib import Path

from common import DTYPES, Comparison, run_program, torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from report.in_torch.linear_attention import IMPLEMENTATIONS, linear_attention, rows_of_w  # noqa: E402

FEATURES = ("elu_plus_one", "cosine_reweighted", "random_exp", "random_fourier")  # in the program's order
SHAPES = ((2, 3, 130, 24), (1, 2, 64, 64), (1, 1, 3, 5), (3, 1, 200, 17))  # batch, heads, length, channels
NAMES = ("y", "dq", "dk", "dv", "dw")


def run_torch(sums_of, feature: str, inputs: list, dy, dtype) -> list:
    """Returns y and the gradients of q, k, v and, if there is one, w."""
    leaves = [t.detach().clone().to(dtype).requires_grad_() for t in inputs]
    y = linear_attention(sums_of, feature, *leaves[:3], leaves[3] if len(leaves) > 3 else None)
    y.backward(dy.to(dtype))
    return [y.detach()] + [leaf.grad for leaf in leaves]


def with_constant_divisors(sums_of):
    """Returns an implementation without gradients through the divisors."""
    def sums(*inputs):
        numerators, divisors = sums_of(*inputs)
        return numerators, divisors.detach()
    return sums


def move_largest_key_first(q, k, v, w) -> list:
    """Moves the key with the largest product with a row of w to the front. The causal operator uses the running maximum and
    torch the maximum of all keys; with this order they are equal."""
    largest = (k.double() @ w.double().mT).amax(-1, keepdim=True).argmax(2, keepdim=True)  # [B, H, 1, 1]
    rows = torch.arange(k.shape[2]).reshape(1, 1, -1, 1)
    rows = torch.where(rows == 0, largest, torch.where(rows == largest, 0, rows)).expand(k.shape)
    return [q, k.gather(2, rows), v, w]


def main() -> int:
    program, backend = sys.argv[1:]
    torch.manual_seed(1)
    comparison = Comparison()
    cases = [(direction, name) for direction in IMPLEMENTATIONS for name in IMPLEMENTATIONS[direction]]
    with tempfile.TemporaryDirectory() as scratch:
        for shape, dtype, feature, (direction, implementation) in itertools.product(SHAPES, DTYPES, FEATURES, cases):
            w_rows = rows_of_w(feature, shape[3])
            sizes = [shape] * 3 + [(w_rows, shape[3])] * (w_rows > 0)
            inputs = [torch.randn(s, dtype=torch.float64).to(dtype) for s in sizes]
            if feature == "random_fourier":  # a small w keeps weights positive and divisors away from 0
                inputs[3] = inputs[3] / 4
            if feature == "random_exp" and direction == "causal":
                inputs = move_largest_key_first(*inputs)
            dy = torch.randn(shape, dtype=torch.float64).to(dtype)
            accumulator = torch.float64 if dtype is torch.float64 else torch.float32
            sums_of = IMPLEMENTATIONS[direction][implementation]
            expected, torch_values = (run_torch(sums_of, feature, inputs, dy, t) for t in (torch.float64, accumulator))
            numerator_parts = run_torch(with_constant_divisors(sums_of), feature, inputs, dy, torch.float64)
            params = struct.pack("=8q", DTYPES.index(dtype), FEATURES.index(feature), direction == "causal", *shape, w_rows)
            actual = run_program(program, backend, Path(scratch), params, inputs, dy, dtype)
            for name, *values, part in zip(NAMES, actual, expected, torch_values, numerator_parts):
                comparison.add(f"{name} of {shape} {dtype} {feature}, {implementation}", *values, dtype, part, accumulator)
    return comparison.end(backend)


if __name__ == "__main__":
    sys.exit(main())
