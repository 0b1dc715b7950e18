#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No compile_errors/*.cpp may compile. Three kinds of directives in each file tell how:
`// expect: SENTENCE`: the first error must contain the sentence, within the first twelve lines of output;
`// cases: NAME..`: the file has one variant for each name, selected by -DCASE_NAME;
`// flag: COMPILER FLAG`: the file is rejected only with that flag of that compiler, on x86-64.
With -DVALID and without a case, the first compiler must accept the file, which shows that it has no other mistake."""
import platform
import re
import tempfile
from functools import partial
from pathlib import Path

from common import COMPILERS, HERE, precompiled, run_all, syntax_only

MAX_ERROR_LINE = 12


def check(compiler: str, umbrella: list[str], path: Path, case: str) -> str:
    expected = re.search(r"^// expect: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    label = f"{path.name}{' ' + case if case else ''} ({compiler})"
    if not expected:
        return f"{label}: has no '// expect: ' line"
    flag = re.search(r"^// flag: (\S+) (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if flag and (flag[1] != compiler or platform.machine() != "x86_64"):
        return ""
    flags = [*umbrella, "-std=c++17"] + ([f"-DCASE_{case}"] if case else [])
    compiles, messages = syntax_only(compiler, path, *(["-std=c++17", flag[2]] if flag else flags))
    lines = messages.splitlines()
    errors = [line for line in lines if re.search(r"\berror:", line)]
    if compiles:
        return f"{label}: compiles"
    if expected[1].strip() not in messages:
        return f"{label}: must say '{expected[1]}', says:\n{messages}"
    if expected[1].strip() not in errors[0]:
        return f"{label}: says '{expected[1]}', but first:\n{errors[0]}"
    if lines.index(errors[0]) >= MAX_ERROR_LINE:
        return f"{label}: says '{expected[1]}' after more than {MAX_ERROR_LINE} lines:\n{messages}"
    return ""


def check_valid(umbrella: list[str], path: Path) -> str:
    compiles, messages = syntax_only(COMPILERS[0], path, *umbrella, "-std=c++17", "-DVALID", "-Wall", "-Wextra", "-Werror")
    return "" if compiles else f"{path.name} ({COMPILERS[0]}): does not compile with -DVALID:\n{messages}"


def case_names(path: Path) -> list[str]:
    return " ".join(re.findall(r"^// cases: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)).split() or [""]


with tempfile.TemporaryDirectory() as folder:
    sources = sorted((HERE / "compile_errors").glob("*.cpp"))
    umbrellas = {compiler: precompiled(compiler, folder, "-std=c++17") for compiler in COMPILERS}
    run_all("compile_errors", [partial(check, compiler, umbrella, path, case)
                               for compiler, umbrella in umbrellas.items() for path in sources for case in case_names(path)]
            + [partial(check_valid, umbrellas[COMPILERS[0]], path) for path in sources])
