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


def prints(folder: str, compiler: str, flags: str, run: list[str], sets: list[str]) -> dict[str, list[str]]:
    """The output of the program for each available instruction set."""
    program = Path(folder) / f"{compiler}{flags}".replace(" ", "").replace("/", "_")
    command = [compiler, "-std=c++17", *flags.split(), *WARNINGS, f"-I{INCLUDE}", str(HERE / "fingerprint.cpp"), "-o", str(program)]
    made = subprocess.run(command, capture_output=True, encoding="utf-8")
    if made.returncode:
        sys.exit(f"{' '.join(command)}\n{made.stderr[:4000]}")
    found = {}
    for name in sets:
        ran = subprocess.run([*run, str(program), name], capture_output=True, encoding="utf-8")
        if ran.returncode == NOT_AVAILABLE:
            continue
        if ran.returncode or not ran.stdout:
            sys.exit(f"{program.name} {name}: exit status {ran.returncode}\n{ran.stderr}")
        found[name] = ran.stdout.splitlines()
    return found


def difference(build: str, expected: list[str], actual: list[str]) -> str:
    lines = difflib.unified_diff(expected, actual, "expected", build, n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith("@@"))


with tempfile.TemporaryDirectory() as folder:
    plain = prints(folder, "g++", "-O0 -ffp-contract=off -DSLICESORT_NO_VECTOR_EXTENSIONS", [], ["portable"])["portable"]
    builds = {"-march=native": prints(folder, "g++", f"{FUSING} -march=native", [], SETS)}
    if platform.machine() != "aarch64":
        builds["aarch64"] = prints(folder, AARCH64, f"{FUSING} -static", [EMULATOR], ["portable"])
print(f"{len(plain)} fingerprints; built for {', '.join(f'{b} ({len(found)} sets)' for b, found in builds.items())}")
run_all("fingerprints", [partial(difference, f"{build}, {name}", plain, lines)
                         for build, found in builds.items() for name, lines in found.items()])
