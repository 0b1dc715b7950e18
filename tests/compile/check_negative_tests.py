#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sanitizers report the mistakes of faulty kernels on the block executor (negative_tests.cpp): races within a block and
between blocks, and accesses out of bounds of shared and global memory. A correct kernel passes."""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import COMPILERS, HERE, INCLUDE, WARNINGS

TESTS = HERE.parent
EXECUTOR = ("block_executor", "fiber", "fiber_team", "thread_team")
SOURCES = [HERE / "negative_tests.cpp", *(TESTS / "executor" / f"{part}.cpp" for part in EXECUTOR)]
RACE = "WARNING: ThreadSanitizer: data race"
# By kind of sanitizer: flags, and for each environment the expected report of each fault ("": none).
KINDS = {
    "thread": (["-fsanitize=thread"], [
        ({"TSAN_OPTIONS": "exitcode=66"}, {
            "none": "", "missing barrier": RACE, "missing second barrier": RACE, "a warp's reduction for a barrier": RACE,
            "copy before all have read": RACE, "between blocks": RACE})]),
    "address": (["-fsanitize=address,undefined", "-fno-sanitize-recover=all"], [
        ({}, {
            "none": "", "past the pool": "use-after-poison", "into the next slice": "use-after-poison",
            "padding of a slice": "use-after-poison", "before the pool": "use-after-poison",
            "past the output": "heap-buffer-overflow"}),
        ({"SLICESORT_BLOCK_THREADS": "1"}, {"none": "", "past the pool": "use-after-poison"})]),
}


def without_randomization() -> list[str]:
    """ThreadSanitizer cannot place its shadow memory under strong address randomization."""
    prefix = ["setarch", "-R"]
    try:
        return prefix if subprocess.run([*prefix, "true"], capture_output=True).returncode == 0 else []
    except FileNotFoundError:
        return []


def check(compiler: str, kind: str, folder: Path) -> tuple[int, list[str]]:
    flags, runs = KINDS[kind]
    cases = [(environment, fault, report) for environment, faults in runs for fault, report in faults.items()]
    program = folder / f"{compiler.replace('/', '-')}-{kind}"
    build = subprocess.run([compiler, "-std=c++17", "-O1", "-g1", *WARNINGS, *flags, f"-I{INCLUDE}", f"-I{TESTS}", *map(str, SOURCES),
                            "-o", str(program), "-pthread"], capture_output=True, encoding="utf-8")
    if build.returncode != 0:
        return len(cases), [f"{compiler} {kind}: does not build\n{build.stderr[:2000]}"] * len(cases)
    errors = []
    for environment, fault, report in cases:
        run = subprocess.run([*without_randomization(), str(program), fault], capture_output=True, encoding="utf-8",
                             env={**os.environ, **environment})
        passed = run.returncode == 0 and not run.stderr if not report else run.returncode != 0 and report in run.stderr
        if not passed:
            errors.append(f"{compiler} {kind}, {fault} {environment or ''}: expected '{report or 'no report'}', "
                              f"exit status {run.returncode}\n{run.stdout[:300]}{run.stderr[:1500]}")
    return len(cases), errors


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(compiler, kind) for compiler in COMPILERS for kind in KINDS]
        results = list(pool.map(lambda job: check(*job, Path(folder)), jobs))
    errors = [c for _, program_errors in results for c in program_errors]
    total = sum(n for n, _ in results)
    for error in errors:
        print(error)
    print(f"negative tests: {total - len(errors)} passed, {len(errors)} failed")
    sys.exit(1 if errors or not total else 0)


if __name__ == "__main__":
    main()
