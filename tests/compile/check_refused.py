#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every refused/*.cpp must not compile, and the first error must be the sentence after `// expect: `. With
-DCORRECTED the same file must compile: it is refused for that mistake and for no other."""
import re
from functools import partial
from pathlib import Path

from common import COMPILERS, HERE, run_all, syntax_only


def check(compiler: str, path: Path) -> str:
    expected = re.search(r"^// expect: (.*)$", path.read_text(), re.MULTILINE)
    where = f"{path.name} ({compiler})"
    if not expected:
        return f"{where}: has no '// expect: ' line"
    fine, messages = syntax_only(compiler, path, "-std=c++17")
    errors = [line for line in messages.splitlines() if re.search(r"\berror:", line)]
    if fine:
        return f"{where}: compiles"
    if expected[1].strip() not in messages:
        return f"{where}: must say '{expected[1]}', says:\n{messages}"
    if expected[1].strip() not in errors[0]:
        return f"{where}: says '{expected[1]}', but first:\n{errors[0]}"
    fine, messages = syntax_only(compiler, path, "-std=c++17", "-DCORRECTED", "-Wall", "-Wextra", "-Werror")
    return "" if fine else f"{where}: does not compile when corrected:\n{messages}"


run_all("refused", [partial(check, compiler, path)
                    for compiler in COMPILERS for path in sorted((HERE / "refused").glob("*.cpp"))])
