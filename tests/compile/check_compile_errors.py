#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No compile_errors/*.cpp may compile. Its first error must contain the sentence after `// expect: `, within the first twelve lines of
output. With -DVALID the first compiler must accept the file, which shows that it has no other mistake. A file with a line
`// flag: COMPILER FLAG` is rejected only with that flag of that compiler, on x86-64. A file with lines `// cases: NAME..` has a
variant for each name, selected by -DCASE_NAME."""
import platform
import re
import tempfile
from functools import partial
from pathlib import Path

from common import COMPILERS, HERE, precompiled, run_all, syntax_only

LINES = 12


def check(compiler: str, umbrella: list[str], path: Path, variant: str) -> str:
    expected = re.search(r"^// expect: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    where = f"{path.name}{' ' + variant if variant else ''} ({compiler})"
    if not expected:
        return f"{where}: has no '// expect: ' line"
    flag = re.search(r"^// flag: (\S+) (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if flag and (flag[1] != compiler or platform.machine() != "x86_64"):
        return ""
    flags = [*umbrella, "-std=c++17"] + ([f"-DCASE_{variant}"] if variant else [])
    fine, messages = syntax_only(compiler, path, *(["-std=c++17", flag[2]] if flag else flags))
    lines = messages.splitlines()
    errors = [line for line in lines if re.search(r"\berror:", line)]
    if fine:
        return f"{where}: compiles"
    if expected[1].strip() not in messages:
        return f"{where}: must say '{expected[1]}', says:\n{messages}"
    if expected[1].strip() not in errors[0]:
        return f"{where}: says '{expected[1]}', but first:\n{errors[0]}"
    if lines.index(errors[0]) >= LINES:
        return f"{where}: says '{expected[1]}' after more than {LINES} lines:\n{messages}"
    if compiler != COMPILERS[0]:
        return ""
    fine, messages = syntax_only(compiler, path, *flags, "-DVALID", "-Wall", "-Wextra", "-Werror")
    return "" if fine else f"{where}: does not compile with -DVALID:\n{messages}"


def variants(path: Path) -> list[str]:
    return " ".join(re.findall(r"^// cases: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)).split() or [""]


with tempfile.TemporaryDirectory() as folder:
    run_all("compile_errors", [partial(check, compiler, umbrella, path, variant)
                        for compiler in COMPILERS for umbrella in [precompiled(compiler, folder, "-std=c++17")]
                        for path in sorted((HERE / "compile_errors").glob("*.cpp")) for variant in variants(path)])
