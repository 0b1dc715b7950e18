# SPDX-License-Identifier: Apache-2.0
"""Compilers and flags of the compile checks, and a pool that runs them in parallel."""
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
# The host compiler's warnings that the files and headers of nvcc pass.
NVCC_WARNINGS = ["-Werror=all-warnings",
                 "-Xcompiler=-Wall,-Wextra,-Wconversion,-Wsign-conversion,-Wshadow,-Wdouble-promotion,-Werror"]
# Options for PTX that is only inspected. Compiles in a fifth of the time, and removes no instruction.
QUICK = ["--Ofast-compile=max"] if NVCC and "--Ofast-compile" in subprocess.run([NVCC, "--help"], capture_output=True, encoding="utf-8").stdout else []


def syntax_only(compiler: str, source: str | Path, *flags: str) -> tuple[bool, str]:
    """Reads a source (text or a path) with the project's headers; returns success and the messages."""
    command = [compiler, "-fsyntax-only", *flags, f"-I{INCLUDE}", "-x", "c++"]
    text = None if isinstance(source, Path) else source
    run = subprocess.run(command + (["-"] if text is not None else [str(source)]), input=text, encoding="utf-8",
                         capture_output=True, env={**os.environ, "LC_ALL": "C"})
    return run.returncode == 0, run.stderr


def precompiled(compiler: str, folder: str, *flags: str) -> list[str]:
    """Precompiles the umbrella header into a folder. Returns the flags that select it. Programs must include it first and be
    compiled with the same `flags`: otherwise g++ reads the header itself, and clang++ fails."""
    clang = compiler.startswith("clang")
    output = Path(folder) / compiler
    (output / "slicesort").mkdir(parents=True)
    header = output / "slicesort" / ("slicesort.hpp.pch" if clang else "slicesort.hpp.gch")
    subprocess.run([compiler, f"-I{INCLUDE}", *flags, "-x", "c++-header", "-w", INCLUDE / "slicesort/slicesort.hpp", "-o", header],
                   check=True)
    return ["-include-pch", str(header)] if clang else [f"-I{output}"]


def compile_with_nvcc(source: str, *flags: str) -> tuple[bool, str]:
    """Compiles a source text with the project's headers for device and host; returns success and the messages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.cu"
        path.write_text(source, encoding="utf-8")
        run = subprocess.run([NVCC, f"-I{INCLUDE}", *NVCC_WARNINGS, *flags, "-c", str(path), "-o", f"{folder}/text.o"],
                             encoding="utf-8", capture_output=True, env={**os.environ, "LC_ALL": "C"})
    return run.returncode == 0, run.stdout + run.stderr


def run_all(check: str, jobs: list) -> None:
    """Runs functions that return an error message, or an empty string. Exits with status 1 if one fails."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [c for c in pool.map(lambda job: job(), jobs) if c]
    for error in errors:
        lines = error.splitlines()
        print("\n".join(lines[:15] + ([f"({len(lines) - 15} more lines)"] if len(lines) > 15 else []) + [""]))
    print(f"{check}: {len(jobs) - len(errors)} passed, {len(errors)} failed")
    sys.exit(1 if errors or not jobs else 0)
