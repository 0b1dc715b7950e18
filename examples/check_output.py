#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_output.py SOURCE PROGRAM: runs the program and compares its output with the comment lines that
follow `// output:` at the end of its source. A program that says that it was skipped (status 77) is not judged."""
import difflib
import re
import subprocess
import sys
from pathlib import Path

source, program = sys.argv[1:]
found = re.search(r"^// output:\n((?://.*\n?)*)\s*\Z", Path(source).read_text(encoding="utf-8"), re.MULTILINE)
if not found:
    sys.exit(f"{source}: does not end with a '// output:' comment")
want = [line[2:].removeprefix(" ").rstrip() for line in found[1].splitlines()]
run = subprocess.run([program], capture_output=True, encoding="utf-8")
got = [line.rstrip() for line in run.stdout.splitlines()]
sys.stderr.write(run.stderr)
if run.returncode == 77:
    print(*got, sep="\n")
    sys.exit(77)
if got != want:
    sys.exit("\n".join(difflib.unified_diff(want, got, f"{source} says", "it prints", lineterm="")))
sys.exit(run.returncode)
