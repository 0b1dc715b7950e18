#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Macros begin with SLICESORT_, and an operator has the same stem everywhere: its backends, test, page,
bench and kernels, and at least one example; and stands in the list of all operators. The tests compile <op>_op
of each, unless their build names its tags."""
import re

from common import ROOT, files, finish, headers, name, operators

LIST_OF_ALL = "include/slicesort/detail/operators.hpp"
UNITS = "tests/operators/units.cmake"

complaints = []
units = (ROOT / UNITS).read_text(encoding="utf-8")
for path in headers():
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        macro = re.match(r"\s*#\s*define\s+(\w+)", line)
        if macro and not macro[1].startswith("SLICESORT_"):
            complaints.append(f"{name(path)}:{number}: macro {macro[1]} must begin with SLICESORT_")

examples = [path.read_text(encoding="utf-8") for path in files(".cpp", ".cu", under="examples")]
for op in operators():
    for place in (f"include/slicesort/{op}.hpp", f"include/slicesort/detail/{op}/host.hpp", f"include/slicesort/detail/{op}/device.hpp",
                  f"tests/{op}/basic.cpp", f"tests/compile/kernels/{op}.cu", f"bench/cases/host/{op}.cpp", f"docs/operators/{op}.md"):
        if not (ROOT / place).exists():
            complaints.append(f"operator {op} has no {place}")
    if not re.search(rf"detail/{op}/device\.hpp", (ROOT / LIST_OF_ALL).read_text(encoding="utf-8")):
        complaints.append(f"{LIST_OF_ALL} has no line for the operator {op}")
    named = re.search(rf"^set\(_slicesort_tags_{op}\b[^)]*\)", units, re.M)
    for template, tag in re.findall(r"(template <[^>]*>\s*)?struct (\w+_op)\b", (ROOT / f"include/slicesort/detail/{op}/params.hpp").read_text(encoding="utf-8")):
        if not (re.search(rf"\"{tag}\b", named[0]) if named else tag == f"{op}_op" and not template):
            complaints.append(f"{UNITS} does not say what the tests compile of {tag}: _slicesort_tags_{op}")
    if not any(re.search(rf"::{op}\b", text) for text in examples):
        complaints.append(f"operator {op} is in no example")
finish("names", complaints)
