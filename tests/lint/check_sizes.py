#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file should have at most 300 lines, and must have at most 500. A folder has at most 20 files. The learning layer of the
examples has at most 200 lines a file, and at most 4750 lines of C++ without comments, directives and empty lines."""
import re
from collections import Counter
from pathlib import Path

from common import files, finish, relative_name

SOURCES = (".hpp", ".cuh", ".inl", ".cpp", ".cu", ".py", ".cmake", ".txt")
MAX_FILES = 20
LEARNING_FILE, LEARNING_CODE = 200, 4750
# Exceptions, in which one list serves the reader: the public headers, one example per topic, one program per rejected mistake.
LARGE_FOLDERS = ("include/slicesort", "examples", "tests/compile/compile_errors")



def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


errors = []
for path in files(*SOURCES):
    lines = len(lines_of(path))
    if lines > 500:
        errors.append(f"{relative_name(path)}: {lines} lines, at most 500")
    elif lines > 300:
        print(f"warning: {relative_name(path)}: {lines} lines, better at most 300")
for folder, count in Counter(relative_name(path.parent) for path in files()).items():
    if count > MAX_FILES and folder not in LARGE_FOLDERS:
        errors.append(f"{folder}: {count} files, at most {MAX_FILES}: split the folder")
learning = [lines_of(path) for path in files(".hpp", ".cpp", under="examples/learning")]
errors += [f"{relative_name(path)}: {len(lines_of(path))} lines, at most {LEARNING_FILE}"
           for path in files(".hpp", ".cpp", ".py", under="examples/learning") if len(lines_of(path)) > LEARNING_FILE]
code = sum(not re.match(r"\s*(//|#|$)", line) for lines in learning for line in lines)
if code > LEARNING_CODE:
    errors.append(f"examples/learning: {code} lines of C++, at most {LEARNING_CODE}")
finish("sizes", errors)
