#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the small programs of programs/: calls without exceptions and RTTI, and the bindings for adapters to other
languages. check_programs.py [--all]: builds with each compiler for one standard, or for both. Valid calls of every operator are
left to check_mixed_units.py, except with --all."""
import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import count
from pathlib import Path

from common import COMPILERS, HERE, INCLUDE, WARNINGS, run_all

FOLDER = tempfile.TemporaryDirectory()
PROGRAM_NUMBERS = count()


def run_command(*command: str | Path) -> str:
    run = subprocess.run([str(c) for c in command], capture_output=True, encoding="utf-8")
    return "" if run.returncode == 0 else f"{' '.join(map(str, command))}\nexit status {run.returncode}\n{run.stdout}{run.stderr}"


def build_and_run(compiler: str, flags: str, source: str) -> str:
    executable = Path(FOLDER.name) / f"{next(PROGRAM_NUMBERS)}"
    return run_command(compiler, *flags.split(), *WARNINGS, f"-I{INCLUDE}", HERE / "programs" / source, "-o", executable) or run_command(executable)


os.environ["LC_ALL"] = "C"
every_build = sys.argv[1:] == ["--all"]
jobs = []
for i, compiler in enumerate(COMPILERS):
    invalid_calls = "" if every_build else " -DINVALID_CALLS_ALONE"
    jobs += [partial(build_and_run, compiler, f"-std=c++{standard} -O0 -fno-exceptions -fno-rtti{invalid_calls}", "no_exceptions.cpp")
             for j, standard in enumerate(("17", "20")) if i == j or every_build]
jobs.append(partial(build_and_run, COMPILERS[0], "-std=c++17 -O0", "bindings.cpp"))
run_all("programs", jobs)
