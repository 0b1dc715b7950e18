#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shell scripts fail at an unset variable, and use the C locale: in others, printf, awk and $EPOCHREALTIME may write 1,5 for
1.5, and messages that a script searches are translated."""
import re

from common import files, finish, relative_name

REQUIRED = {"set -u": re.compile(r"^set -e?uo pipefail$", re.MULTILINE), "LC_ALL=C": re.compile(r"^export LC_ALL=C\b", re.MULTILINE)}
SHELL = re.compile(rb"#!.*\b(bash|sh)\b")

scripts = [path for path in files() if SHELL.match(path.read_bytes()[:40])]
errors = [f"{relative_name(path)}: lacks {setting}" for path in scripts for setting, line in REQUIRED.items() if not line.search(path.read_text(encoding="utf-8"))]
if not scripts:
    errors.append("no shell script was found")
finish("scripts", errors)
