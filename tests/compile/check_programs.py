#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the small programs of programs/: calls without exceptions and RTTI, and the bindings for adapters to other
languages. Tests the C interface of the bindings from C and Python. check_programs.py [--all]: builds with each compiler for one
standard, or for both. Valid calls of every operator are left to check_mixed_units.py, except with --all."""
import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import count
from pathlib import Path

from common import COMPILERS, HERE, INCLUDE, ROOT, WARNINGS, run_all

FOLDER = tempfile.TemporaryDirectory()
PROGRAM_NUMBERS = count()


def run_command(*command: str | Path, **environment: str | Path) -> str:
    variables = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    run = subprocess.run([str(c) for c in command], capture_output=True, encoding="utf-8", env=variables)
    print("".join(line + "\n" for line in run.stdout.splitlines() if line.startswith("skipped:")), end="")
    return "" if run.returncode == 0 else f"{' '.join(map(str, command))}\nexit status {run.returncode}\n{run.stdout}{run.stderr}"


def build_and_run(compiler: str, flags: str, source: str) -> str:
    executable = Path(FOLDER.name) / f"{next(PROGRAM_NUMBERS)}"
    return run_command(compiler, *flags.split(), *WARNINGS, f"-I{INCLUDE}", HERE / "programs" / source, "-o", executable) or run_command(executable)


def check_exports(library: Path) -> str:
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    foreign = [line for line in symbols if not line.split()[-1].startswith("slicesort_")]
    return "" if symbols and not foreign else f"libslicesort exports more than slicesort_*, or nothing: {foreign[:10]}"


def check_c_interface() -> str:
    """Builds libslicesort without types of 16 bits, in half the time. Tests it from C11 by the C compilers, and from Python."""
    source, tests, folder = ROOT / "examples/bindings/c", HERE / "c_interface", Path(FOLDER.name)
    library, reference = folder / "libslicesort.so", folder / "reference.o"
    cxx, c_flags = [COMPILERS[-1], "-std=c++17", "-O0", *WARNINGS, f"-I{INCLUDE}"], "-std=c11 -pedantic -Wall -Wextra -Wconversion -Werror".split()
    error = (run_command(*cxx, "-DBINDINGS_WITHOUT_16_BIT", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread", source / "slicesort.cpp",
                         f"-Wl,--version-script={source}/slicesort.map", "-o", library)
             or check_exports(library)
             or run_command(*cxx, "-c", tests / "reference.cpp", "-o", reference)
             or run_command(sys.executable, ROOT / "tests/run_unittests", tests, SLICESORT_LIBRARY=library))
    for compiler in COMPILERS:
        c_compiler = compiler.replace("clang++", "clang").replace("g++", "gcc")
        for program, output_is_checked in (tests / "calls.c", False), (source / "quickstart.c", True), (source / "ggml_custom_op.c", True):
            executable = folder / f"{program.stem}-{c_compiler}"
            test = [sys.executable, ROOT / "examples/check_output.py", program, executable] if output_is_checked else [executable]
            error = error or run_command(c_compiler, *c_flags, f"-I{source}", program, reference, f"-L{folder}", f"-Wl,-rpath,{folder}",
                                         "-lslicesort", "-lstdc++", "-lm", "-pthread", "-o", executable) or run_command(*test)
    return error


os.environ["LC_ALL"] = "C"
every_build = sys.argv[1:] == ["--all"]
jobs = []
for i, compiler in enumerate(COMPILERS):
    invalid_calls = "" if every_build else " -DINVALID_CALLS_ALONE"
    jobs += [partial(build_and_run, compiler, f"-std=c++{standard} -O0 -fno-exceptions -fno-rtti{invalid_calls}", "no_exceptions.cpp")
             for j, standard in enumerate(("17", "20")) if i == j or every_build]
jobs.append(partial(build_and_run, COMPILERS[0], "-std=c++17 -O0", "bindings.cpp"))
jobs.append(check_c_interface)
run_all("programs", jobs)
