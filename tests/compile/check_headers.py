#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone and twice, under every warning, without reaching a CUDA header, and in a
program that already has other people's macros and `using namespace std`. A public header that needs C++17 says so before
it, and nothing else. The CUDA headers, and the doors that reach them, compile by nvcc, too, where there is one. (An .inl
is a text that a header includes several times, so it has no life of its own.)"""
from functools import partial

from common import COMPILERS, HERE, INCLUDE, NVCC, WARNINGS, by_nvcc, run_all, syntax_only

# Macros that <complex.h>, <termios.h> and <sys/sysmacros.h> bring, and the ones of Windows.
HOSTILE = "".join(f"#define {macro} 'a hostile macro'\n" for macro in ("I", "B0", "small", "major", "minor", "near", "far"))
STANDARD = ("algorithm array atomic cmath cstdarg cstddef cstdint cstdio cstdlib cstring functional limits memory new "
            "stdexcept string thread tuple type_traits utility vector").split()


# Not ours to defend: they come before the macros.
OF_CUDA = "#include <cuda_runtime.h>\n#include <nvtx3/nvToolsExt.h>\n"


def program(header: str, hostile: bool) -> str:
    before = "".join(f"#include <{h}>\n" for h in STANDARD) + HOSTILE + "using namespace std;\n" if hostile else ""
    return before + f"#include <slicesort/{header}>\n" * 2 + "int main() {}\n"


def check(compiler: str, standard: str, header: str, hostile: bool) -> str:
    flags = WARNINGS + [f"-I{HERE}/poison", f"-std=c++{standard}"]
    if compiler.startswith("clang"):
        flags.append("-Wno-unused-function")  # nothing is called in this program
    return complaint(syntax_only(compiler, program(header, hostile), *flags), compiler, standard, header, hostile)


def check_cuda(host: str, standard: str, header: str, hostile: bool) -> str:
    # PTX alone: there is no code to assemble.
    flags = ["-ccbin", host, f"-std=c++{standard}", "-gencode=arch=compute_80,code=compute_80"]
    text = (OF_CUDA if hostile else "") + program(header, hostile)
    return complaint(by_nvcc(text, *flags), f"nvcc with {host}", standard, header, hostile)


def check_too_old(compiler: str, header: str) -> str:
    compiles, messages = syntax_only(compiler, f"#include <slicesort/{header}>\n", "-std=c++14")
    errors = [line for line in messages.splitlines() if "error:" in line]
    fine = compiles or len(errors) == 2 and "slicesort: needs C++17 or later: compile with -std=c++17." in errors[0] and "fatal error" in errors[1]
    return "" if fine else f"{header} ({compiler}, C++14) must say that it needs C++17, says:\n{messages}"


def complaint(result: tuple[bool, str], compiler: str, standard: str, header: str, hostile: bool) -> str:
    fine, messages = result
    how = " after hostile macros" if hostile else ""
    return "" if fine else f"{header}{how} ({compiler}, C++{standard}):\n{messages}"


def names(pattern: str) -> list[str]:
    return sorted(h.relative_to(INCLUDE / "slicesort").as_posix() for h in INCLUDE.rglob(pattern))


headers = [h for h in names("*.hpp") if h != "thrust.hpp"]
doors = ["slicesort.hpp"]  # it reaches every other
# Whether a header includes what it needs, one compiler shows; another's warnings, the ones that users include.
public = [header for header in headers if not header.startswith("detail/")]
jobs = [partial(check, compiler, "17", header, False)
        for i, compiler in enumerate(COMPILERS) for header in (public if i else headers)]
jobs += [partial(check, compiler, standard, door, hostile)
         for compiler in COMPILERS for door in doors for standard, hostile in (("17", True), ("20", False))]
jobs += [partial(check_too_old, compiler, header) for compiler in COMPILERS for header in public]
if NVCC:
    jobs += [partial(check_cuda, COMPILERS[0], "17", header, False) for header in names("*.cuh") + names("thrust.hpp") + doors]
    jobs += [partial(check_cuda, COMPILERS[0], "17", door, True) for door in doors]
    jobs += [partial(check_cuda, host, "20", "slicesort.hpp", False) for host in COMPILERS]
else:
    print("there is no nvcc: the CUDA headers were not compiled")
run_all("headers", jobs)
