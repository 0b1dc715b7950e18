# SPDX-License-Identifier: Apache-2.0
"""Compilers and flags of the compile checks, and a pool that keeps the processors busy."""
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INCLUDE = ROOT / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef",
            "-Wold-style-cast", "-Wdouble-promotion", "-Werror"]
COMPILERS = os.environ.get("COMPILERS", "g++ clang++").split()
NVCC = os.environ.get("CUDACXX") or shutil.which("nvcc")
# The host's warnings as far as the files that nvcc writes and the headers that it adds pass them.
NVCC_WARNINGS = ["-Werror=all-warnings",
                 "-Xcompiler=-Wall,-Wextra,-Wconversion,-Wsign-conversion,-Wshadow,-Wdouble-promotion,-Werror"]
# Options for PTX that is compiled only to be read: a fifth of the time, and no instruction is missing that an optimizer
# would have left.
QUICK = ["--Ofast-compile=max"] if NVCC and "--Ofast-compile" in subprocess.run([NVCC, "--help"], capture_output=True, encoding="utf-8").stdout else []


def syntax_only(compiler: str, source: str | Path, *flags: str) -> tuple[bool, str]:
    """Reads a source (text or a path) with the project's headers; returns success and the messages."""
    command = [compiler, "-fsyntax-only", *flags, f"-I{INCLUDE}", "-x", "c++"]
    text = None if isinstance(source, Path) else source
    run = subprocess.run(command + (["-"] if text is not None else [str(source)]), input=text, encoding="utf-8",
                         capture_output=True, env={**os.environ, "LC_ALL": "C"})
    return run.returncode == 0, run.stderr


def precompiled(compiler: str, folder: str, *flags: str) -> list[str]:
    """Compiles the umbrella into a folder, once for many programs that begin by including it; returns the flags that make the
    compiler take it. Programs must be compiled with these flags, too: else g++ reads the header itself, and clang++ refuses."""
    clang = compiler.startswith("clang")
    of_compiler = Path(folder) / compiler
    (of_compiler / "slicesort").mkdir(parents=True)
    made = of_compiler / "slicesort" / ("slicesort.hpp.pch" if clang else "slicesort.hpp.gch")
    subprocess.run([compiler, f"-I{INCLUDE}", *flags, "-x", "c++-header", "-w", INCLUDE / "slicesort/slicesort.hpp", "-o", made],
                   check=True)
    return ["-include-pch", str(made)] if clang else [f"-I{of_compiler}"]


def by_nvcc(source: str, *flags: str) -> tuple[bool, str]:
    """Compiles a text with the project's headers, for the device and the host; returns success and the messages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.cu"
        path.write_text(source, encoding="utf-8")
        run = subprocess.run([NVCC, f"-I{INCLUDE}", *NVCC_WARNINGS, *flags, "-c", str(path), "-o", f"{folder}/text.o"],
                             encoding="utf-8", capture_output=True, env={**os.environ, "LC_ALL": "C"})
    return run.returncode == 0, run.stdout + run.stderr


def run_all(what: str, jobs: list) -> None:
    """Runs functions that return a complaint or an empty string; exits with their verdict."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [c for c in pool.map(lambda job: job(), jobs) if c]
    for complaint in complaints:
        lines = complaint.splitlines()
        print("\n".join(lines[:15] + ([f"({len(lines) - 15} more lines)"] if len(lines) > 15 else []) + [""]))
    print(f"{what}: {len(jobs) - len(complaints)} passed, {len(complaints)} failed")
    sys.exit(1 if complaints or not jobs else 0)
