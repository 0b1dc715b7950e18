#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The headers give no warning at -O3 for any processor: every operator, forward and backward, as all_operators.hpp calls them.
g++ finds variables that "may be used uninitialized" after it has inlined and vectorized, so what it says depends on -march.
Compiled, never run. check_optimized.py [--all]: for one processor, or for each and with clang++, too (its warnings depend
on the source alone)."""
import subprocess
import sys
from functools import partial

from common import HERE, INCLUDE, WARNINGS, run_all

PROCESSORS = ["skylake-avx512", "native", "icelake-server", "sapphirerapids", "znver3", "znver4", "x86-64-v3"]
TYPES = ["float", "bfloat16", "double", "float16"]


def compiled(compiler: str, processor: str, element: str) -> str:
    text = f"""#include "all_operators.hpp"
using namespace slicesort;
template unsigned all_operators::fingerprint<{element}>(exec::host, grad_mode);
"""
    made = subprocess.run([compiler, "-std=c++17", "-O3", f"-march={processor}", *WARNINGS, f"-I{INCLUDE}", f"-I{HERE}", "-x", "c++", "-S", "-",
                           "-o", "/dev/null"], input=text, capture_output=True, encoding="utf-8")
    return made.stderr and f"{element} ({compiler} -march={processor}):\n{made.stderr}"


def understood(compiler: str, processor: str) -> bool:
    """An older compiler does not know every processor."""
    return not subprocess.run([compiler, f"-march={processor}", "-x", "c++", "-fsyntax-only", "/dev/null"], capture_output=True).returncode


if sys.argv[1:] == ["--all"]:
    calls = [(compiler, processor, element) for compiler in ("g++", "clang++") for processor in PROCESSORS if understood(compiler, processor)
             for element in TYPES]
else:
    calls = [("g++", PROCESSORS[0], element) for element in TYPES[:2]]
run_all("optimized", [partial(compiled, *call) for call in calls])
