#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The headers compile without warnings at -O3 for every processor: every operator, forward and backward, as called in
all_operators.hpp. g++ reports variables that "may be used uninitialized" after inlining and vectorization, so its warnings
depend on -march; those of clang++ do not.
check_optimized.py [--all]: g++ for one processor, or clang++ and g++ for each processor that g++ knows."""
import subprocess
import sys
from functools import partial

from common import HERE, INCLUDE, WARNINGS, run_all

PROCESSORS = ["skylake-avx512", "native", "icelake-server", "sapphirerapids", "znver3", "znver4", "x86-64-v3"]
TYPES = ["float", "bfloat16", "double", "float16"]
# Omits passes after those that find uninitialized variables: a seventh of the time.
WITHOUT_LATE_PASSES = ["-fno-schedule-insns2", "-fno-gcse", "-fira-region=one"]


def compile_warnings(compiler: str, processor: str, element: str) -> str:
    text = f"""#include "all_operators.hpp"
using namespace slicesort;
unsigned fingerprint(exec::host exec, grad_mode mode) {{ return all_operators::fingerprint<{element}>(exec, mode); }}
"""
    output = ["-S", "-o", "/dev/null", *WITHOUT_LATE_PASSES] if compiler == "g++" else ["-fsyntax-only"]
    run = subprocess.run([compiler, "-std=c++17", "-O3", f"-march={processor}", *WARNINGS, f"-I{INCLUDE}", f"-I{HERE}", *output,
                           "-x", "c++", "-"], input=text, capture_output=True, encoding="utf-8")
    return run.stderr and f"{element} ({compiler} -march={processor}):\n{run.stderr}"


def is_known(processor: str) -> bool:
    """False if g++ is older than the processor."""
    return not subprocess.run(["g++", f"-march={processor}", "-x", "c++", "-fsyntax-only", "/dev/null"], capture_output=True).returncode


calls = [("g++", PROCESSORS[0], element) for element in TYPES[:2]]
if sys.argv[1:] == ["--all"]:
    calls = [("g++", processor, element) for processor in filter(is_known, PROCESSORS) for element in TYPES]
    calls += [("clang++", PROCESSORS[0], element) for element in TYPES]
run_all("optimized", [partial(compile_warnings, *call) for call in calls])
