#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A captured text is a std::string: doctest prints a captured `char const*` as an address."""
import re

from common import files, finish, relative_name

DECLARED = re.compile(r"\bchar const\* (\w+)(?:(\()| =|;)")
CAPTURED = re.compile(r"\bCAPTURE\((.*)\);")
LAST_NAME = re.compile(r"(\w+)(\()?(?(2).*\))$")  # of a called function, or of a variable

sources = {path: path.read_text(encoding="utf-8") for folder in ("include", "tests") for path in files(".cpp", ".hpp", ".cu", under=folder)}
text_names = {declaration for source in sources.values() for declaration in DECLARED.findall(source)}
errors, captures = [], 0
for path, source in sources.items():
    for number, line in enumerate(source.splitlines(), 1):
        for captured in CAPTURED.findall(line):
            captures += 1
            last = LAST_NAME.search(captured)
            if last and last.groups(default="") in text_names and not captured.startswith("std::string("):
                errors.append(f"{relative_name(path)}:{number}: captures a char const*, which doctest prints as an address: "
                              f"write std::string({captured})")
if not captures:
    errors.append("no CAPTURE was found")
finish("captures", errors)
