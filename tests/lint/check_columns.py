#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comments wrap at 100 columns, since clang-format wraps code but not comments. Exceptions: the output at the end of an
example, and the message that a rejected program expects."""
import re

from common import files, finish, relative_name

COLUMNS = 100
COMMENT = re.compile(r"(?:^|\s)//")
EXEMPT = re.compile(r"^\s*// expect:")

errors = []
for path in files(".hpp", ".cuh", ".inl", ".cpp", ".cu"):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line == "// output:":
            break
        if len(line) > COLUMNS and COMMENT.search(line) and not EXEMPT.match(line):
            errors.append(f"{relative_name(path)}:{number}: {len(line)} columns, at most {COLUMNS}")
finish("columns", errors)
