#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Macros begin with SLICESORT_, and an operator has the same stem everywhere."""
import re

from common import INCLUDE, ROOT, finish, headers, name

complaints = []
for path in headers():
    for number, line in enumerate(path.read_text().splitlines(), 1):
        macro = re.match(r"\s*#\s*define\s+(\w+)", line)
        if macro and not macro[1].startswith("SLICESORT_"):
            complaints.append(f"{name(path)}:{number}: macro {macro[1]} must begin with SLICESORT_")

for path in headers(".hpp"):
    if path.parent.name != "problem":
        continue
    op = path.stem
    if not (INCLUDE / f"slicesort/{op}.hpp").exists():
        continue  # shared by several operators
    for place in (f"include/slicesort/detail/host/{op}.hpp", f"tests/test_{op}.cpp", f"docs/operators/{op}.md"):
        if not (ROOT / place).exists():
            complaints.append(f"operator {op} has no {place}")
finish("names", complaints)
