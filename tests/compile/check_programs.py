#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the small programs of this folder: without exceptions and RTTI, and two translation
units linked together that were built alike or differently."""
import os
import subprocess
import tempfile
from functools import partial
from itertools import count
from pathlib import Path

from common import COMPILERS, HERE, INCLUDE, WARNINGS, run_all

FOLDER = tempfile.TemporaryDirectory()
NUMBER = count()
# Objects of different standards, optimisation and exception settings may meet in one program.
PAIRS = [("-std=c++17 -O0", "-std=c++17 -O0"), ("-std=c++17 -O0", "-std=c++17 -O3"), ("-std=c++17 -O2", "-std=c++20 -O1"),
         ("-std=c++17 -O2", "-std=c++17 -O2 -fno-exceptions -fno-rtti"),
         ("-std=c++17 -O1 -fno-exceptions", "-std=c++20 -O0")]


def step(*command: str | Path) -> str:
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return "" if run.returncode == 0 else f"{' '.join(map(str, command))}\nexit status {run.returncode}\n{run.stdout}{run.stderr}"


def program(parts: list[tuple[str, str, str]]) -> str:
    """parts: (compiler, flags, source). The first compiler links."""
    objects = []
    for compiler, flags, source in parts:
        objects.append(Path(FOLDER.name) / f"{next(NUMBER)}.o")
        failed = step(compiler, *flags.split(), *WARNINGS, f"-I{INCLUDE}", "-c", HERE / source, "-o", objects[-1])
        if failed:
            return failed
    linked = Path(FOLDER.name) / f"{next(NUMBER)}"
    return step(parts[0][0], *objects, "-o", linked) or step(linked)


os.environ["LC_ALL"] = "C"
jobs = []
for one in COMPILERS:
    for standard in ("17", "20"):
        jobs.append(partial(program, [(one, f"-std=c++{standard} -O1 -fno-exceptions -fno-rtti", "no_exceptions.cpp")]))
    for a, b in PAIRS:
        jobs.append(partial(program, [(one, a, "two_tu_a.cpp"), (one, b, "two_tu_b.cpp")]))
if len(COMPILERS) > 1:
    first, second = COMPILERS[:2]
    jobs.append(partial(program, [(first, "-std=c++17 -O2", "two_tu_a.cpp"), (second, "-std=c++17 -O2", "two_tu_b.cpp")]))
run_all("programs", jobs)
