#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one operator, forward and backward, costs to build for one architecture: at most 1 MB of object code for
float, and at most 15 s of the processor's time, summed over nvcc and all that it starts, on a machine that compiles
yardstick.cu in 4.5 s. The limit grows with the time that this machine takes for yardstick.cu: half as much again is
what the same machine takes on a bad day, and twice as much beside other work."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import HERE, INCLUDE, NVCC

SECONDS, YARDSTICK, BYTES = 15.0, 4.5, 1_000_000
# Whatever else the machine does only adds, so the least times count. A round that is a tenth below the limit is enough, else
# there are two, or up to six while they are over the limit.
BELOW, MOST_ROUNDS = 0.9, 6


def cost(source: str) -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "budget.o"
        nvcc = subprocess.Popen([NVCC, "-std=c++17", "-O3", "-arch=sm_90", "-DELEMENT=float", f"-I{INCLUDE}",
                                 "-Werror=all-warnings", "-c", str(HERE / source), "-o", str(target)])
        _, status, used = os.wait4(nvcc.pid, 0)
        nvcc.returncode = os.waitstatus_to_exitcode(status)
        if nvcc.returncode:
            print(f"{source} must compile\nbudget: 0 passed, 1 failed")
            sys.exit(1)
        return used.ru_utime + used.ru_stime, os.path.getsize(target)


if not NVCC:
    print("budget: skipped, there is no nvcc")
    sys.exit(0)
rounds, most = [], 1
while len(rounds) < most:
    rounds.append((cost("yardstick.cu")[0], *cost("budget.cu")))
    yardstick, seconds, size = (min(column) for column in zip(*rounds))
    limit = SECONDS * yardstick / YARDSTICK
    over = seconds > limit or size > BYTES
    most = MOST_ROUNDS if over else 1 if seconds < BELOW * limit else 2
print(f"slicing_sort<ascending>, float, sm_90: {seconds:.1f} s ({seconds * YARDSTICK / yardstick:.1f} s where yardstick.cu "
      f"takes {YARDSTICK} s; here {yardstick:.1f} s), {size / 1000:.0f} kB"
      + (f"; at most {limit:.1f} s and {BYTES / 1000:.0f} kB" if over else ""))
print("budget: 0 passed, 1 failed" if over else "budget: 1 passed, 0 failed")
sys.exit(1 if over else 0)
