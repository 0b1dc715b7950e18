#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The versioned namespace carries the major version of version.hpp, everywhere. (That CMake reads the
same version is checked by tests/consumer, where the package is found.)"""
import re

from common import INCLUDE, finish, headers, name

text = (INCLUDE / "slicesort/version.hpp").read_text()
version = {part: int(number) for part, number in re.findall(r"SLICESORT_VERSION_(MAJOR|MINOR|PATCH) +(\d+)", text)}
complaints = [f"version.hpp: no SLICESORT_VERSION_{part}" for part in ("MAJOR", "MINOR", "PATCH") if part not in version]
major = version.get("MAJOR")
seen = 0
for path in headers():
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in re.findall(r"\bnamespace\s+v(\d+)\b|\bv(\d+)_(?:sm|host)\b", line):
            seen += 1
            if int(found[0] or found[1]) != major:
                complaints.append(f"{name(path)}:{number}: namespace of version {found[0] or found[1]}, must be {major}")
if not seen:
    complaints.append("no versioned namespace found")
finish("version", complaints)
