#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_output.py SOURCE PROGRAM: compares the program's output with the comment lines after `// output:` at the end of
its source. Exits with status 77 if the program does, which means that it was skipped."""
import difflib
import re
import subprocess
import sys
from pathlib import Path

source, program = sys.argv[1:]
comment = re.search(r"^// output:\n((?://.*\n?)*)\s*\Z", Path(source).read_text(encoding="utf-8"), re.MULTILINE)
if not comment:
    sys.exit(f"{source}: does not end with a '// output:' comment")
expected = [line[2:].removeprefix(" ").rstrip() for line in comment[1].splitlines()]
process = subprocess.run([program], capture_output=True, encoding="utf-8")
printed = [line.rstrip() for line in process.stdout.splitlines()]
sys.stderr.write(process.stderr)
if process.returncode == 77:
    print(*printed, sep="\n")
    sys.exit(77)
if printed != expected:
    sys.exit("\n".join(difflib.unified_diff(expected, printed, source, "output of the program", lineterm="")))
sys.exit(process.returncode)
