#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file fits on three screens: 300 lines is a smell, 500 a fault."""
from common import files, finish, name

SOURCES = (".hpp", ".cuh", ".inl", ".cpp", ".cu", ".py", ".cmake", ".txt")

complaints = []
for path in files(*SOURCES):
    lines = len(path.read_text().splitlines())
    if lines > 500:
        complaints.append(f"{name(path)}: {lines} lines, at most 500")
    elif lines > 300:
        print(f"warning: {name(path)}: {lines} lines, better at most 300")
finish("sizes", complaints)
