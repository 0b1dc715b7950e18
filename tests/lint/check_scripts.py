#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shell scripts stop at a variable that is not set, and use one locale: in others printf, awk and $EPOCHREALTIME write
1,5 for 1.5 and do not read each other's numbers, and messages that are searched are in another language."""
import re

from common import files, finish, name

WANTED = {"set -u": re.compile(r"^set -e?uo pipefail$", re.MULTILINE), "LC_ALL=C": re.compile(r"^export LC_ALL=C\b", re.MULTILINE)}
SHELL = re.compile(rb"#!.*\b(bash|sh)\b")

scripts = [path for path in files() if SHELL.match(path.read_bytes()[:40])]
complaints = [f"{name(path)}: lacks {what}" for path in scripts for what, line in WANTED.items() if not line.search(path.read_text(encoding="utf-8"))]
if not scripts:
    complaints.append("no shell script was found")
finish("scripts", complaints)
