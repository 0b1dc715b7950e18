# SPDX-License-Identifier: Apache-2.0
"""Builds the training program, and installs the packages that the build and the pictures need."""
import subprocess
import sys
from pathlib import Path

from report.command.build import Failed, install
from report.command.build_progress import Build

from .options import ROOT

FOLDER = ROOT / "build/learning"
PROGRAM = FOLDER / "examples/learning/slicesort_train"


def build_program() -> Path:
    install("g++", "cmake", "ninja-build", "nlohmann-json3-dev", "libcli11-dev")
    install("python3-matplotlib", needed=False)
    progress = Build()
    configure = ["cmake", "-S", str(ROOT), "-B", str(FOLDER), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSLICESORT_BUILD_TESTS=OFF",
                 "-DSLICESORT_BUILD_BENCH=OFF", "-DSLICESORT_BUILD_EXAMPLES=ON", "-DSLICESORT_CUDA=OFF", f"-DCMAKE_PREFIX_PATH={ROOT}/.deps"]
    if not (progress.run(configure) and progress.run(["cmake", "--build", str(FOLDER), "--target", "slicesort_train"])):
        print("\n".join(progress.last_lines), file=sys.stderr)
        raise Failed("the build failed")
    return PROGRAM


def output_of(*command: str | Path) -> str:
    completed = subprocess.run(list(map(str, command)), capture_output=True, encoding="utf-8", check=False)
    if completed.returncode != 0:
        raise Failed(completed.stderr.strip() or f"{command[0]} ended with status {completed.returncode}")
    return completed.stdout
