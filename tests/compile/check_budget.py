#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one operator, forward and backward, costs to build for one architecture: at most 15 s and 1 MB of
object code for float. Time is the processor's, summed over nvcc and all that it starts. Other work beside it can
nearly double that where two threads share a core, so measure it alone."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import HERE, INCLUDE, NVCC

SECONDS, BYTES = 15.0, 1_000_000


def cost() -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "budget.o"
        nvcc = subprocess.Popen([NVCC, "-std=c++17", "-O3", "-arch=sm_90", "-DELEMENT=float", f"-I{INCLUDE}",
                                 "-Werror=all-warnings", "-c", str(HERE / "budget.cu"), "-o", str(target)])
        _, status, used = os.wait4(nvcc.pid, 0)
        nvcc.returncode = os.waitstatus_to_exitcode(status)
        return used.ru_utime + used.ru_stime, os.path.getsize(target) if nvcc.returncode == 0 else 0


if not NVCC:
    print("budget: skipped, there is no nvcc")
    sys.exit(0)
# Whatever else the machine does only adds: the least of three counts.
seconds, size = cost()
for _ in range(2):
    if size == 0 or seconds <= SECONDS:
        break
    seconds = min(seconds, cost()[0])
over = size == 0 or seconds > SECONDS or size > BYTES
print(f"slicing_sort<ascending>, float, sm_90: {seconds:.1f} s, {size / 1000:.0f} kB"
      + (f"; must compile, in at most {SECONDS:.0f} s and {BYTES / 1000:.0f} kB" if over else ""))
print("budget: 0 passed, 1 failed" if over else "budget: 1 passed, 0 failed")
sys.exit(1 if over else 0)
