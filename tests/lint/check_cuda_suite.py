#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator has tests in the CUDA suite. tests/cuda.cmake selects the programs that contain the marker line; a program
that runs on every backend without it does not compile (tests/support/backends.hpp)."""
from common import ROOT, files, finish, operators, relative_name

MARKER = "#define SLICESORT_TEST_EVERY_BACKEND"

errors = []
marked = {path for path in files(".cpp", ".hpp", ".cu", under="tests") if MARKER in path.read_text(encoding="utf-8").splitlines()}
for path in sorted(marked):
    if path.suffix != ".cpp" or len(path.relative_to(ROOT / "tests").parts) != 2:
        errors.append(f"{relative_name(path)}: only a program of tests/<folder>/ may have the marker, not a header")
for op in operators():
    basic = ROOT / "tests" / op / "basic.cpp"
    if basic not in marked:
        errors.append(f"{relative_name(basic)}: must have the line {MARKER}")
for file in ("tests/cuda.cmake", "tests/support/backends.hpp"):
    if MARKER not in (ROOT / file).read_text(encoding="utf-8"):
        errors.append(f"{file}: does not name the marker {MARKER}")
finish("CUDA suite", errors)
