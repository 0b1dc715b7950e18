#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone and twice, under every warning, without reaching a CUDA header, and in a
program that already has other people's macros and `using namespace std`. (An .inl is a text that a
header includes several times, so it has no life of its own.)"""
from functools import partial

from common import COMPILERS, HERE, INCLUDE, WARNINGS, run_all, syntax_only

# Macros that <complex.h>, <termios.h> and <sys/sysmacros.h> bring, and the ones of Windows.
HOSTILE = "".join(f"#define {macro} 'a hostile macro'\n" for macro in ("I", "B0", "small", "major", "minor", "near", "far"))
STANDARD = ("algorithm array atomic cmath cstdarg cstddef cstdint cstdio cstdlib cstring functional limits memory new "
            "stdexcept string thread tuple type_traits utility vector").split()


def check(compiler: str, standard: str, header: str, hostile: bool) -> str:
    include = f"#include <slicesort/{header}>\n"
    before = "".join(f"#include <{h}>\n" for h in STANDARD) + HOSTILE + "using namespace std;\n" if hostile else ""
    flags = WARNINGS + [f"-I{HERE}/poison", f"-std=c++{standard}"]
    if compiler.startswith("clang"):
        flags.append("-Wno-unused-function")  # nothing is called in this program
    fine, messages = syntax_only(compiler, before + include * 2 + "int main() {}\n", *flags)
    how = " after hostile macros" if hostile else ""
    return "" if fine else f"{header}{how} ({compiler}, C++{standard}):\n{messages}"


headers = sorted(h.relative_to(INCLUDE / "slicesort").as_posix() for h in INCLUDE.rglob("*.hpp") if h.name != "thrust.hpp")
doors = [h for h in headers if h in ("slicesort.hpp", "simple.hpp")]  # they reach every other
run_all("headers", [partial(check, compiler, "17", header, False) for compiler in COMPILERS for header in headers]
        + [partial(check, compiler, standard, door, hostile)
           for compiler in COMPILERS for door in doors for standard, hostile in (("17", True), ("20", False))])
