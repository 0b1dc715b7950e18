# SPDX-License-Identifier: Apache-2.0
"""Runs a C++ program on tensors and compares its results with PyTorch's. Importing this without torch exits with 77."""
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


def bytes_of(t) -> bytes:
    return ctypes.string_at(t.data_ptr(), t.numel() * t.element_size())


def by_us(program: str, backend: str, folder: Path, request: bytes, inputs: list, dy, dtype) -> list:
    """Returns the program's y and gradients of the inputs."""
    request_file, result_file = folder / "in", folder / "out"
    request_file.write_bytes(request + b"".join(bytes_of(t) for t in (*inputs, dy)))
    subprocess.run([program, backend, request_file, result_file], check=True)
    data, offset, results = bytearray(result_file.read_bytes()), 0, []
    for like in (dy, *inputs):
        results.append(torch.frombuffer(data, dtype=dtype, count=like.numel(), offset=offset).reshape(like.shape))
        offset += like.numel() * like.element_size()
    assert offset == len(data), f"{len(data)} bytes came back, not {offset}"
    return results


class Comparison:
    """Compares errors relative to torch's float64 results with those of torch in the tested dtype."""

    def __init__(self) -> None:
        self.cases = self.wrong = 0
        self.worst = 0.0

    def add(self, label: str, ours, expected, by_torch, dtype) -> None:
        error, theirs = ((t.to(torch.float64) - expected).abs().max().item() for t in (ours, by_torch))
        size = expected.abs().max().item()
        # Allows four roundings more, since torch's gradient can be exact by chance.
        allowed = 1e-12 * max(size, 1) if dtype is torch.float64 else 2 * theirs + 4 * torch.finfo(dtype).eps * size
        self.worst = max(self.worst, error / allowed if error else 0.0)
        self.cases += 1
        if not error <= allowed:
            self.wrong += 1
            print(f"{label}: off by {error:g}, torch by {theirs:g}, allowed {allowed:g}")

    def end(self, backend: str) -> int:
        """Prints a summary and returns the exit status."""
        print(f"torch {torch.__version__}, {backend}: {self.cases} tensors compared, {self.wrong} wrong; at most {self.worst:.0%} of the allowed error")
        return 1 if self.wrong or not self.cases else 0
