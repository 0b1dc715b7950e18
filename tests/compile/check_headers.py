#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone and included twice, with all warnings, without a CUDA header. The umbrella header also compiles
in a program with conflicting macros and `using namespace std`. Before C++17, a public header gives one error, which names the
required standard. The second compiler reads all public headers in one program, and before C++17 the umbrella header. If there
is an nvcc, it compiles the CUDA headers and the umbrella header, too. An .inl is not checked, since a header includes it several
times."""
import re
from functools import partial

from common import COMPILERS, HERE, INCLUDE, NVCC, WARNINGS, compile_with_nvcc, run_all, syntax_only

# Macros of <complex.h>, <termios.h>, <sys/sysmacros.h> and Windows.
CONFLICTING = "".join(f"#define {macro} 'a macro'\n" for macro in ("I", "B0", "small", "major", "minor", "near", "far"))
STANDARD = ("algorithm array atomic cmath cstdarg cstddef cstdint cstdio cstdlib cstring functional limits memory new "
            "stdexcept string thread tuple type_traits utility vector").split()


# CUDA's headers do not tolerate the macros, so they precede them.
CUDA_HEADERS = "#include <cuda_runtime.h>\n#include <nvtx3/nvToolsExt.h>\n"


def program(headers: list[str], macros: bool) -> str:
    preamble = "".join(f"#include <{h}>\n" for h in STANDARD) + CONFLICTING + "using namespace std;\n" if macros else ""
    return preamble + "".join(f"#include <slicesort/{header}>\n" for header in headers) * 2 + "int main() {}\n"


def check(compiler: str, standard: str, headers: list[str], macros: bool) -> str:
    flags = WARNINGS + [f"-I{HERE}/forbidden_headers", f"-std=c++{standard}"]
    if compiler.startswith("clang"):
        flags.append("-Wno-unused-function")  # nothing is called in this program
    return error_of(syntax_only(compiler, program(headers, macros), *flags), compiler, standard, " ".join(headers), macros)


def check_cuda(host: str, standard: str, header: str, macros: bool) -> str:
    # Compiles to PTX only: there is nothing to assemble.
    flags = ["-ccbin", host, f"-std=c++{standard}", "-gencode=arch=compute_80,code=compute_80"]
    text = (CUDA_HEADERS if macros else "") + program([header], macros)
    return error_of(compile_with_nvcc(text, *flags), f"nvcc with {host}", standard, header, macros)


def check_too_old(compiler: str, header: str) -> str:
    compiles, messages = syntax_only(compiler, f"#include <slicesort/{header}>\n", "-std=c++14")
    errors = [line for line in messages.splitlines() if "error:" in line]
    passed = compiles or len(errors) == 2 and "slicesort: needs C++17 or later: compile with -std=c++17." in errors[0] and "fatal error" in errors[1]
    return "" if passed else f"{header} ({compiler}, C++14) must say that it needs C++17, says:\n{messages}"


def error_of(result: tuple[bool, str], compiler: str, standard: str, header: str, macros: bool) -> str:
    passed, messages = result
    variant = " after conflicting macros" if macros else ""
    return "" if passed else f"{header}{variant} ({compiler}, C++{standard}):\n{messages}"


def header_names(pattern: str) -> list[str]:
    return sorted(h.relative_to(INCLUDE / "slicesort").as_posix() for h in INCLUDE.rglob(pattern))


def first_included(header: str) -> str:
    """The header of the library that another one includes before anything else, or an empty string."""
    text = re.sub(r"//.*", "", (INCLUDE / "slicesort" / header).read_text(encoding="utf-8"))
    found = re.match(r"\s*#pragma once\s+#include <slicesort/([^>]+)>", text)
    return found[1] if found else ""


headers = [h for h in header_names("*.hpp") if h != "thrust.hpp"]
# A program that includes a header also compiles alone what that one includes first: a fifth of the inner headers. A lint finds
# a missing `#pragma once`.
compiled_by_others = {first_included(h) for h in headers} - {""}
umbrellas = ["slicesort.hpp"]  # includes every operator
# The first compiler shows that a header includes what it needs. Warnings of other compilers matter only in public headers, of
# which one program has all. A header includes build.hpp, which checks the standard, before anything else: by the first compiler,
# too.
public = [header for header in headers if not header.startswith("detail/")]
inner = [header for header in headers if header.startswith("detail/") and header not in compiled_by_others]
jobs = [partial(check, COMPILERS[0], "17", [header], False) for header in inner + public]
jobs += [partial(check, compiler, "17", public, False) for compiler in COMPILERS[1:]]
jobs += [partial(check, compiler, standard, [umbrella], macros)
         for compiler in COMPILERS for umbrella in umbrellas for standard, macros in (("17", True), ("20", False))]
jobs += [partial(check_too_old, compiler, header) for i, compiler in enumerate(COMPILERS) for header in (umbrellas if i else public)]
if NVCC:
    jobs += [partial(check_cuda, COMPILERS[0], "17", header, False) for header in header_names("*.cuh") + header_names("thrust.hpp")]
    jobs += [partial(check_cuda, host, "20", umbrella, host == COMPILERS[0]) for host in COMPILERS for umbrella in umbrellas]
else:
    print("there is no nvcc: the CUDA headers were not compiled")
run_all("headers", jobs)
