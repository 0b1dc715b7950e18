#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Aggregates with more than five members are filled by name: in a list of so many values two may change places and
still compile. C++17 has no designated initializers, so a variable is declared and its fields are assigned."""
import re

from common import finish, headers, name

MOST = 5
OPENING = re.compile(r"(?:return\s*|[\w>]\s*|=\s*|\(\s*|,\s*)\{")
ARRAY = re.compile(r"(?:\]|enum[\w\s:]*?)\s*(?:=\s*)?\{$")
BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def values(code: str, start: int) -> int:
    """How many values a braced list that begins at `start` has; 0 if it is a block of statements."""
    depth = commas = 0
    inner = re.compile(r"<[^<>;{}]*>")
    text, before = code[start:start + 4000], ""
    while text != before:  # commas of template arguments separate no values
        before, text = text, inner.sub("", text)
    for letter in text:
        depth += BRACKETS.get(letter, 0)
        if depth < 0:
            return commas + 1
        if depth == 0 and letter == ";":
            return 0
        commas += depth == 0 and letter == ","
    return 0


complaints = []
for path in headers():
    code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    for match in OPENING.finditer(code):
        if not ARRAY.search(code[max(0, match.end() - 40):match.end()]) and values(code, match.end()) > MOST:
            line = code.count("\n", 0, match.end()) + 1
            complaints.append(f"{name(path)}:{line}: more than {MOST} values by position; assign the fields by name")
finish("aggregates", complaints)
