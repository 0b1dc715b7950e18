# SPDX-License-Identifier: Apache-2.0
"""What the checks against PyTorch share: tensors through a program of ours, and how far results may be off. Without torch, importing
this ends the program, with exit status 77."""
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


def by_us(program: str, where: str, folder: Path, request: bytes, inputs: list, dy, dtype) -> list:
    """y and the gradients of the inputs."""
    given, answer = folder / "in", folder / "out"
    given.write_bytes(request + b"".join(bytes_of(t) for t in (*inputs, dy)))
    subprocess.run([program, where, given, answer], check=True)
    data, at, results = bytearray(answer.read_bytes()), 0, []
    for like in (dy, *inputs):
        results.append(torch.frombuffer(data, dtype=dtype, count=like.numel(), offset=at).reshape(like.shape))
        at += like.numel() * like.element_size()
    assert at == len(data), f"{len(data)} bytes came back, not {at}"
    return results


class Comparison:
    """Torch in float64 says what is right; torch in the type itself says what error is to be expected."""

    def __init__(self) -> None:
        self.cases = self.wrong = 0
        self.worst = 0.0

    def add(self, what: str, is_, want, by_torch, dtype) -> None:
        error, theirs = ((t.to(torch.float64) - want).abs().max().item() for t in (is_, by_torch))
        size = want.abs().max().item()
        # A gradient can be exact by chance in one of the two: some roundings of its size are free.
        allowed = 1e-12 * max(size, 1) if dtype is torch.float64 else 2 * theirs + 4 * torch.finfo(dtype).eps * size
        self.worst = max(self.worst, error / allowed if error else 0.0)
        self.cases += 1
        if not error <= allowed:
            self.wrong += 1
            print(f"{what}: off by {error:g}, torch by {theirs:g}, allowed {allowed:g}")

    def end(self, where: str) -> int:
        """The exit status."""
        print(f"torch {torch.__version__}, {where}: {self.cases} tensors compared, {self.wrong} wrong; at most {self.worst:.0%} of what is allowed")
        return 1 if self.wrong or not self.cases else 0
