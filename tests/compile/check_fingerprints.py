#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator computes the same bits on other processors, and with flags that let compilers fuse multiplications and
additions. Builds fingerprint.cpp for this processor without vectors and fusion, with -march=native, and for aarch64, under
QEMU. GCC fuses with -fexpensive-optimizations, a part of -O2; with -O1 and this flag, it fuses as much in two thirds of the
time."""
import difflib
import platform
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from common import HERE, INCLUDE, WARNINGS, run_all

SETS = ["portable", "avx2", "avx512"]
NOT_AVAILABLE = 77
FUSING = "-O1 -fexpensive-optimizations"
AARCH64, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"


def outputs_by_set(folder: str, compiler: str, flags: str, run: list[str], sets: list[str]) -> dict[str, list[str]]:
    """Builds the program. Returns its output for each available instruction set."""
    program = Path(folder) / f"{compiler}{flags}".replace(" ", "").replace("/", "_")
    command = [compiler, "-std=c++17", *flags.split(), *WARNINGS, f"-I{INCLUDE}", str(HERE / "fingerprint.cpp"), "-o", str(program)]
    compilation = subprocess.run(command, capture_output=True, encoding="utf-8")
    if compilation.returncode:
        sys.exit(f"{' '.join(command)}\n{compilation.stderr[:4000]}")
    outputs = {}
    for name in sets:
        run_result = subprocess.run([*run, str(program), name], capture_output=True, encoding="utf-8")
        if run_result.returncode == NOT_AVAILABLE:
            continue
        if run_result.returncode or not run_result.stdout:
            sys.exit(f"{program.name} {name}: exit status {run_result.returncode}\n{run_result.stderr}")
        outputs[name] = run_result.stdout.splitlines()
    return outputs


def difference(build: str, expected: list[str], actual: list[str]) -> str:
    lines = difflib.unified_diff(expected, actual, "expected", build, n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith("@@"))


with tempfile.TemporaryDirectory() as folder:
    plain = outputs_by_set(folder, "g++", "-O0 -ffp-contract=off -DSLICESORT_NO_VECTOR_EXTENSIONS", [], ["portable"])["portable"]
    builds = {"-march=native": outputs_by_set(folder, "g++", f"{FUSING} -march=native", [], SETS)}
    if platform.machine() != "aarch64":
        builds["aarch64"] = outputs_by_set(folder, AARCH64, f"{FUSING} -static", [EMULATOR], ["portable"])
print(f"{len(plain)} fingerprints; built for {', '.join(f'{b} ({len(outputs)} sets)' for b, outputs in builds.items())}")
run_all("fingerprints", [partial(difference, f"{build}, {name}", plain, lines)
                         for build, outputs in builds.items() for name, lines in outputs.items()])
