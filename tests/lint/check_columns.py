#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comments wrap at 100 columns, as clang-format wraps code but not comments. Free are an example's output, at
its end, and the message that a refused program expects."""
import re

from common import files, finish, name

COLUMNS = 100
COMMENT = re.compile(r"(?:^|\s)//")
FREE = re.compile(r"^\s*// expect:")

complaints = []
for path in files(".hpp", ".cuh", ".inl", ".cpp", ".cu"):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line == "// output:":
            break
        if len(line) > COLUMNS and COMMENT.search(line) and not FREE.match(line):
            complaints.append(f"{name(path)}:{number}: {len(line)} columns, at most {COLUMNS}")
finish("columns", complaints)
