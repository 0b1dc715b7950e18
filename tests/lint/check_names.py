#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Macros begin with SLICESORT_. An operator is a folder of include/slicesort/detail/ with a params.hpp. Its files have the same
stem, every place in PLACES names it, and its page shows code of a program. The tests compile its tag <op>_op unless
units.cmake lists other tags."""
import re

from common import ROOT, files, finish, headers, operators, relative_name

FILES = ("include/slicesort/{op}.hpp", "include/slicesort/detail/{op}/host.hpp", "include/slicesort/detail/{op}/device.hpp",
         "tests/{op}/basic.cpp", "docs/operators/{op}.md")
# Files that must name every operator: path, regular expression of the name, and exceptions. check_kernels.py reports kernels
# that no call in tests/compile/kernels/ reaches.
PLACES = (
    ("include/slicesort/slicesort.hpp", r"<slicesort/{op}\.hpp>", ()),
    ("include/slicesort/detail/operators.hpp", r"detail/{op}/device\.hpp", ()),
    ("include/slicesort/equivalent_matrix.hpp", r"\b{op}\b", ("merge_attention", "top_k")),  # partial inputs; k rows of output
    ("tests/compile/all_operators.hpp", r"\bss::{op}\b", ()),
    ("tests/compile/compile_errors/forgotten_policy.cpp", r"\b{op}\b", ()),
    ("tests/core/workspace.cpp", r'TEST_CASE\w*\("{op}"', ()),
    ("tests/compile/fingerprint.cpp", r"\bprint_{op}<T>", ()),
    ("tests/every_operator/calls.hpp", r'"{op}(\.forward)?"', ()),
    ("tests/every_operator/extents.cpp", r"\bss::{op}\b", ()),
    ("tests/every_operator/nan.cpp", r"\b{op}\b", ()),
    ("tests/cuda/calls/named_calls.hpp", r'"{op}\.forward', ("softmax_attention", "pointwise_attention")),  # bits differ between backends
    ("bench/report/sweep.py", r'"{op}"', ()),
    (".ci/run", r'suite "address(?:[^"]*"){{4}}[^"]*\b{op}\b', ("slicing_sort",)),  # */layouts
    (".ci/run", r'suite "thread(?:[^"]*"){{4}}[^"]*\b{op}\b', ()),
    ("README.md", r"\(docs/operators/{op}\.md\)", ()),
    ("docs/README.md", r"\(operators/{op}\.md\)", ()),
    ("docs/operators/README.md", r"\({op}\.md\)", ()),
    ("docs/design.md", r"`{op}`", ()),
    ("docs/workspace_and_saved_state.md", r"`{op}`", ()),
)
SNIPPET_SOURCE = re.compile(r"<!-- from ([^\s:]+)")  # as check_docs.py
UNITS = "tests/operators/units.cmake"

errors = []
for path in headers():
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        macro = re.match(r"\s*#\s*define\s+(\w+)", line)
        if macro and not macro[1].startswith("SLICESORT_"):
            errors.append(f"{relative_name(path)}:{number}: macro {macro[1]} must begin with SLICESORT_")


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


places = [(path, read(path), pattern, exceptions) for path, pattern, exceptions in PLACES]
subjects = "".join(path.read_text(encoding="utf-8") for path in files(".cpp", under="bench/cases/host"))
for op in operators():
    for file in FILES:
        if not (ROOT / file.format(op=op)).exists():
            errors.append(f"operator {op} has no {file.format(op=op)}")
    errors += [f"{path} does not name the operator {op}: {pattern.format(op=op)}"
               for path, text, pattern, exceptions in places if op not in exceptions and not re.search(pattern.format(op=op), text)]
    listed_tags = re.search(rf"^set\(_slicesort_tags_{op}\b[^)]*\)", read(UNITS), re.M)
    for template, tag in re.findall(r"(template <[^>]*>\s*)?struct (\w+_op)\b", read(f"include/slicesort/detail/{op}/params.hpp")):
        if not (re.search(rf"\"{tag}\b", listed_tags[0]) if listed_tags else tag == f"{op}_op" and not template):
            errors.append(f"{UNITS} does not say what the tests compile of {tag}: _slicesort_tags_{op}")
    page = ROOT / f"docs/operators/{op}.md"
    page_code = "".join(map(read, SNIPPET_SOURCE.findall(page.read_text(encoding="utf-8")))) if page.exists() else ""
    if not re.search(rf"::{op}\b", page_code):
        errors.append(f"{relative_name(page)} shows no code of an example, or of the operator's test, that has ::{op}")
    if not re.search(rf'"{op}"', subjects):
        errors.append(f"operator {op} is not a subject of bench/cases/host/")
finish("names", errors)
