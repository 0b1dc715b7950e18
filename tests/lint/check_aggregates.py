#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Aggregates with more than five members are initialized by name, since two swapped values in a longer list would still
compile. C++17 has no designated initializers, so a variable is declared and its fields are assigned."""
import re

from common import finish, headers, relative_name

MAX_VALUES = 5
OPENING = re.compile(r"(?:return\s*|[\w>]\s*|=\s*|\(\s*|,\s*)\{")
ARRAY = re.compile(r"(?:\]|enum[\w\s:]*?)\s*(?:=\s*)?\{$")
BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def count_values(code: str, start: int) -> int:
    """The number of values in the braced list that begins at `start`; 0 for a block of statements."""
    depth = commas = 0
    template_arguments = re.compile(r"<[^<>;{}]*>")
    text, previous = code[start:start + 4000], ""
    while text != previous:  # commas of template arguments do not count
        previous, text = text, template_arguments.sub("", text)
    for character in text:
        depth += BRACKETS.get(character, 0)
        if depth < 0:
            return commas + 1
        if depth == 0 and character == ";":
            return 0
        commas += depth == 0 and character == ","
    return 0


errors = []
for path in headers():
    code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    for match in OPENING.finditer(code):
        if not ARRAY.search(code[max(0, match.end() - 40):match.end()]) and count_values(code, match.end()) > MAX_VALUES:
            line = code.count("\n", 0, match.end()) + 1
            errors.append(f"{relative_name(path)}:{line}: more than {MAX_VALUES} values by position; assign the fields by name")
finish("aggregates", errors)
