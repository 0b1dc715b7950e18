#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the small programs of programs/: without exceptions and RTTI, two translation
units linked together that were built alike or differently, and what the adapters to other languages share."""
import os
import subprocess
import tempfile
from functools import partial
from itertools import count
from pathlib import Path
from threading import Lock

from common import COMPILERS, HERE, INCLUDE, WARNINGS, run_all

FOLDER = tempfile.TemporaryDirectory()
NUMBER = count()
# Objects of different standards, optimization and exception settings may meet in one program.
PAIRS = [("-std=c++17 -O0", "-std=c++17 -O0"), ("-std=c++17 -O0", "-std=c++17 -O3"), ("-std=c++17 -O1", "-std=c++20 -O0"),
         ("-std=c++17 -O1", "-std=c++17 -O1 -fno-exceptions -fno-rtti"),
         ("-std=c++17 -O1 -fno-exceptions", "-std=c++20 -O0")]


def step(*command: str | Path) -> str:
    run = subprocess.run([str(c) for c in command], capture_output=True, encoding="utf-8")
    return "" if run.returncode == 0 else f"{' '.join(map(str, command))}\nexit status {run.returncode}\n{run.stdout}{run.stderr}"


class Part:
    """An object file that several programs may share: compiled by the first that asks."""

    def __init__(self, compiler: str, flags: str, source: str) -> None:
        self.object = Path(FOLDER.name) / f"{next(NUMBER)}.o"
        self.command = (compiler, *flags.split(), *WARNINGS, f"-I{INCLUDE}", "-c", HERE / "programs" / source, "-o", self.object)
        self.lock, self.complaint = Lock(), None

    def compiled(self) -> str:
        with self.lock:
            if self.complaint is None:
                self.complaint = step(*self.command)
            return self.complaint


def program(parts: list[tuple[str, str, str]]) -> str:
    """parts: (compiler, flags, source). The first compiler links."""
    for part in parts:
        if complaint := PARTS[part].compiled():
            return complaint
    linked = Path(FOLDER.name) / f"{next(NUMBER)}"
    return step(parts[0][0], *(PARTS[part].object for part in parts), "-o", linked) or step(linked)


os.environ["LC_ALL"] = "C"
PARTS: dict[tuple[str, str, str], Part] = {}
jobs = []


def add(*parts: tuple[str, str, str]) -> None:
    for part in parts:
        PARTS.setdefault(part, Part(*part))
    jobs.append(partial(program, list(parts)))


for one in COMPILERS:
    for standard in ("17", "20"):
        add((one, f"-std=c++{standard} -O1 -fno-exceptions -fno-rtti", "no_exceptions.cpp"))
    for a, b in PAIRS if one == COMPILERS[0] else PAIRS[-1:]:
        add((one, a, "two_tu_a.cpp"), (one, b, "two_tu_b.cpp"))
if len(COMPILERS) > 1:
    first, second = COMPILERS[:2]
    add((first, "-std=c++17 -O1", "two_tu_a.cpp"), (second, "-std=c++17 -O3", "two_tu_b.cpp"))
add((COMPILERS[0], "-std=c++17 -O0", "bindings.cpp"))
run_all("programs", jobs)
