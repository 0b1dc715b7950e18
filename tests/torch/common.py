# SPDX-License-Identifier: Apache-2.0
"""Runs a C++ program on tensors and compares its results with PyTorch's. Exits with 77 on import without torch."""
import ctypes
import subprocess
import sys
from pathlib import Path

try:
    import torch
except ImportError as error:
    print(f"skipped: there is no torch ({error})")
    sys.exit(77)

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def bytes_of(tensor) -> bytes:
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def run_program(program: str, backend: str, folder: Path, params: bytes, inputs: list, dy, dtype) -> list:
    """Returns the program's y and gradients of the inputs."""
    input_file, result_file = folder / "in", folder / "out"
    input_file.write_bytes(params + b"".join(bytes_of(tensor) for tensor in (*inputs, dy)))
    subprocess.run([program, backend, input_file, result_file], check=True)
    data, offset, results = bytearray(result_file.read_bytes()), 0, []
    for like in (dy, *inputs):
        results.append(torch.frombuffer(data, dtype=dtype, count=like.numel(), offset=offset).reshape(like.shape))
        offset += like.numel() * like.element_size()
    assert offset == len(data), f"{len(data)} bytes came back, not {offset}"
    return results


class Comparison:
    """Compares the program's error with the error of torch in the same dtype. Both are relative to torch's float64 results."""

    def __init__(self) -> None:
        self.cases = self.failures = 0
        self.worst = 0.0

    def add(self, label: str, actual, expected, torch_values, dtype, numerator_part, dtype_of_parts) -> None:
        """Compares one tensor.

        y is a quotient, so a gradient is the sum of two parts, through the numerator and through the divisor. They cancel, for
        instance where a query sees a single key: then `expected` is 0, or what float64 leaves of it, and the error is that of
        the parts. `numerator_part` is the first of them, with constant divisors; for y it is y. `dtype_of_parts` is the
        dtype in which the program rounds the parts."""
        error, torch_error = ((tensor.to(torch.float64) - expected).abs().max().item() for tensor in (actual, torch_values))
        scale, parts_scale = (tensor.abs().max().item() for tensor in (expected, numerator_part))
        rounding = max(torch.finfo(dtype).eps * scale, torch.finfo(dtype_of_parts).eps * parts_scale)
        # Allows four more roundings, since torch's gradient can be exact by chance.
        allowed = 1e-12 * max(scale, parts_scale, 1) if dtype is torch.float64 else 2 * torch_error + 4 * rounding
        self.worst = max(self.worst, error / allowed if error else 0.0)
        self.cases += 1
        if not error <= allowed:
            self.failures += 1
            print(f"{label}: off by {error:g}, torch by {torch_error:g}, allowed {allowed:g}")

    def end(self, backend: str) -> int:
        """Prints a summary and returns the exit status."""
        print(f"torch {torch.__version__}, {backend}: {self.cases} tensors compared, {self.failures} wrong; at most {self.worst:.0%} of the allowed error")
        return 1 if self.failures or not self.cases else 0
