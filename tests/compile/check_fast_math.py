#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""-use_fast_math does not change the rounding of kernels that have the host's bits: their PTX has no approximate instruction.
Exception: the kernels of softmax_attention, whose bits differ from the host's."""
import re
import subprocess
import sys

from common import HERE, INCLUDE, NVCC, QUICK, run_all

FLAGS = ["-std=c++17", "-arch=compute_90", "-DFLOAT_ALONE", "-use_fast_math", f"-I{INCLUDE}", "-Werror=all-warnings", *QUICK]


def approximate_instructions(source) -> str:
    run = subprocess.run([NVCC, *FLAGS, "-ptx", str(source), "-o", "-"], capture_output=True, encoding="utf-8")
    if run.returncode:
        return f"{source.name}: {run.stderr}"
    if ".entry" not in run.stdout:
        return f"{source.name}: no kernels"
    found = sorted(set(re.findall(r"^\s*(\w+(?:\.\w+)*\.(?:approx|full)\b\S*)", run.stdout, re.MULTILINE)))
    return f"{source.name}: {', '.join(found)}" if found else ""


if not NVCC:
    print("fast math: skipped, there is no nvcc")
    sys.exit(77)
sources = [path for path in sorted((HERE / "kernels").glob("*.cu")) if path.stem != "softmax_attention"]
run_all("fast math", [lambda path=path: approximate_instructions(path) for path in sources])
