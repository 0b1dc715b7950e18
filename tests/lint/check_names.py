#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Macros begin with SLICESORT_, and an operator has the same stem everywhere: its backends, test, page,
bench and kernels, and at least one example; and stands in both lists of all operators."""
import re

from common import ROOT, files, finish, headers, name, operators

complaints = []
for path in headers():
    for number, line in enumerate(path.read_text().splitlines(), 1):
        macro = re.match(r"\s*#\s*define\s+(\w+)", line)
        if macro and not macro[1].startswith("SLICESORT_"):
            complaints.append(f"{name(path)}:{number}: macro {macro[1]} must begin with SLICESORT_")

examples = [path.read_text() for path in files(".cpp", ".cu", under="examples")]
for op in operators():
    for place in (f"include/slicesort/{op}.hpp", f"include/slicesort/detail/{op}/host.hpp", f"include/slicesort/detail/{op}/dispatch.hpp",
                  f"tests/{op}/basic.cpp", f"tests/compile/kernels/{op}.cu", f"bench/cases/host/{op}.cpp", f"docs/operators/{op}.md"):
        if not (ROOT / place).exists():
            complaints.append(f"operator {op} has no {place}")
    tags = re.findall(r"struct (\w+_op)\b", (ROOT / f"include/slicesort/detail/{op}/problem.hpp").read_text())
    for list_of_all, line in (("include/slicesort/detail/operators.hpp", rf"detail/{op}/dispatch\.hpp"),
                              ("tests/support/operators.hpp", rf"::({'|'.join(tags)})\b")):
        if not re.search(line, (ROOT / list_of_all).read_text()):
            complaints.append(f"{list_of_all} has no line for the operator {op}")
    if not any(re.search(rf"::{op}\b", text) for text in examples):
        complaints.append(f"operator {op} is in no example")
finish("names", complaints)
