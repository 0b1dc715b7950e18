#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gdb with include/slicesort/gdb.py prints views as in the lines `// prints NAME: ` of printed_by_gdb.cpp, in which `|` is a
line break. Skipped (status 77) if there is no gdb, or if it may not run programs."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common import COMPILERS, HERE, INCLUDE, run_all

SOURCE = HERE / "printed_by_gdb.cpp"
EXPECTED = dict(re.findall(r"^// prints (\w+): (.*)$", SOURCE.read_text(encoding="utf-8"), re.MULTILINE))


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(77)


def gdb_output(program: Path) -> str:
    commands = [part for name in EXPECTED for part in ("-ex", rf"echo \n<{name}>", "-ex", f"output {name}")]
    run = subprocess.run(["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off",
                          "-ex", f"source {INCLUDE}/slicesort/gdb.py", "-ex", "break stop_here", "-ex", "run", "-ex", "up",
                          *commands, "-ex", r"echo \n<end>", program], capture_output=True, encoding="utf-8")
    return run.stdout + run.stderr


def check(compiler: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        run = subprocess.run([compiler, "-std=c++17", "-g", "-O0", f"-I{INCLUDE}", SOURCE, "-o", program],
                             capture_output=True, encoding="utf-8")
        output = run.stderr if run.returncode else gdb_output(program)
    if "ptrace" in output and "not permitted" in output:
        skip("gdb is not permitted to run programs (ptrace)")
    for name, expected in EXPECTED.items():
        is_printed = re.search(rf"<{name}>(.*?)\n<", output, re.DOTALL)
        if not is_printed or is_printed[1] != expected.replace("|", "\n"):
            return f"{name} ({compiler}) must print '{expected}':\n{output}"
    return ""


if not shutil.which("gdb"):
    skip("there is no gdb (Debian: apt-get install gdb)")
if "Python" not in subprocess.run(["gdb", "-batch", "-nx", "-ex", "python print('Python')"], capture_output=True,
                                  encoding="utf-8").stdout:
    skip("this gdb has no Python")
run_all("gdb", [lambda compiler=compiler: check(compiler) for compiler in COMPILERS])
