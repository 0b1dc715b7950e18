#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the build cost of one operator, forward and backward, for one architecture: at most 1 MB of object code for float, and
at most 15 s of processor time (nvcc and its child processes) on a machine that compiles yardstick.cu in 4.5 s. The limit is
proportional to this machine's time for yardstick.cu, which varies by half on one machine and doubles under load."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import HERE, INCLUDE, NVCC

SECONDS, YARDSTICK, BYTES = 15.0, 4.5, 1_000_000
# Load only adds time, so the minimum counts. One round suffices if it is a tenth below the limit; otherwise there are two, or
# up to six while the limit is exceeded.
BELOW, MAX_ROUNDS = 0.9, 6


def measure_cost(source: str) -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "budget.o"
        nvcc = subprocess.Popen([NVCC, "-std=c++17", "-O3", "-arch=sm_90", "-DELEMENT=float", f"-I{INCLUDE}",
                                 "-Werror=all-warnings", "-c", str(HERE / source), "-o", str(target)])
        _, status, usage = os.wait4(nvcc.pid, 0)
        nvcc.returncode = os.waitstatus_to_exitcode(status)
        if nvcc.returncode:
            print(f"{source} must compile\nbudget: 0 passed, 1 failed")
            sys.exit(1)
        return usage.ru_utime + usage.ru_stime, os.path.getsize(target)


if not NVCC:
    print("budget: skipped, there is no nvcc")
    sys.exit(77)
rounds, required_rounds = [], 1
while len(rounds) < required_rounds:
    rounds.append((measure_cost("yardstick.cu")[0], *measure_cost("budget.cu")))
    yardstick, seconds, size = (min(column) for column in zip(*rounds))
    limit = SECONDS * yardstick / YARDSTICK
    exceeds = seconds > limit or size > BYTES
    required_rounds = MAX_ROUNDS if exceeds else 1 if seconds < BELOW * limit else 2
print(f"slicing_sort<ascending>, float, sm_90: {seconds:.1f} s ({seconds * YARDSTICK / yardstick:.1f} s where yardstick.cu "
      f"takes {YARDSTICK} s; here {yardstick:.1f} s), {size / 1000:.0f} kB"
      + (f"; at most {limit:.1f} s and {BYTES / 1000:.0f} kB" if exceeds else ""))
print("budget: 0 passed, 1 failed" if exceeds else "budget: 1 passed, 0 failed")
sys.exit(1 if exceeds else 0)
