#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operator computes the same bits on other processors, by other compilers, and with flags that let compilers fuse
multiplications and additions. Builds fingerprint.cpp for this processor without vectors and fusion, with -march=native, and for
aarch64, under QEMU. check_fingerprints.py --all: also with each of OTHER_COMPILERS that is installed, and with headers in which
no macro of GCC or Clang is defined. GCC fuses with -fexpensive-optimizations, a part of -O2; with -O1 and this flag, it fuses as
much in two thirds of the time."""
import difflib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from common import HERE, INCLUDE, WARNINGS, run_all, syntax_only

SETS = ("portable", "avx2", "avx512")
NOT_AVAILABLE = 77
FUSING = "-O1 -fexpensive-optimizations"


class Build(NamedTuple):
    """A build of fingerprint.cpp. `runner` runs its program: an emulator, nothing for this machine, None if there is no way."""
    name: str
    compiler: str
    flags: str
    sets: tuple[str, ...] = SETS
    runner: str | None = ""
    include: Path = INCLUDE


PLAIN = Build("plain", "g++", "-std=c++17 -O0 -ffp-contract=off -DSLICESORT_NO_VECTOR_EXTENSIONS", ("portable",))
NATIVE = Build("-march=native", "g++", f"-std=c++17 {FUSING} -march=native")
AARCH64 = Build("aarch64", "aarch64-linux-gnu-g++", f"-std=c++17 {FUSING} -static", ("portable",), "qemu-aarch64")
# Optimized builds take several times as long, so one of each family is optimized. Unoptimized, the names of all functions do not
# fit into an object file of Windows.
OTHER_COMPILERS = [
    *(Build(f"g++ {version}", f"g++-{version}", f"-std=c++{standard} -O0") for version, standard in ((11, 20), (12, 23), (13, 23), (14, 23))),
    *(Build(f"clang++ {version}", f"clang++-{version}", f"-std=c++{standard} {level}") for version, standard, level in
      ((14, 20, "-O0"), (15, 20, "-O0"), (16, 17, "-O0"), (17, 20, "-O0"), (18, 23, "-O0"), (19, 20, "-O1"), (22, 23, "-O0"))),
    *(Build(f"clang++ {version}, libc++", f"clang++-{version}", f"-std=c++{standard} -O0 -stdlib=libc++") for version, standard in ((14, 17), (19, 23), (22, 23))),
    Build("Windows, POSIX threads", "x86_64-w64-mingw32-g++-posix", "-std=c++20 -O1 -static -Wa,-mbig-obj", SETS, "wine"),
    Build("Windows, Win32 threads", "x86_64-w64-mingw32-g++-win32", "-std=c++17 -O1 -static -Wa,-mbig-obj", SETS, "wine"),
    *(Build(f"macOS, {machine}", "python-zig", f"-std=c++20 -O0 -target {machine}-macos", (), None) for machine in ("aarch64", "x86_64"))]


def command_of(compiler: str) -> list[str] | None:
    """Returns the command of an installed compiler. Zig's is `zig c++`, which PyPI's ziglang installs as python-zig."""
    path = shutil.which(compiler)
    return path and ([path, "c++"] if compiler == "python-zig" else [path])


def is_installed(folder: str, build: Build) -> bool:
    """True if the compiler is found with a standard library that it can read, which some flags select."""
    source = Path(folder) / "trial.cpp"
    source.write_text("#include <string>\n", encoding="utf-8")
    command = command_of(build.compiler)
    return bool(command) and subprocess.run([*command, *build.flags.split(), "-c", source, "-o", source.with_suffix(".o")], capture_output=True,
                                            check=False).returncode == 0


class Failed(Exception):
    """A build that does not compile or run, with its messages."""


def build_and_run(folder: str, build: Build) -> dict[str, list[str]]:
    """Builds the program. Returns its output for each available instruction set."""
    program = Path(folder) / re.sub(r"\W+", "_", build.name)
    command = [*command_of(build.compiler), *build.flags.split(), *WARNINGS, f"-I{build.include}", str(HERE / "fingerprint.cpp"), "-o", str(program)]
    compilation = subprocess.run(command, capture_output=True, encoding="utf-8")
    if compilation.returncode:
        raise Failed(f"{' '.join(command)}\n{compilation.stderr[:4000]}")
    outputs = {}
    for name in build.sets:
        run = subprocess.run([*(build.runner or "").split(), str(program), name], capture_output=True, encoding="utf-8")
        if run.returncode == NOT_AVAILABLE:
            continue
        if run.returncode or not run.stdout:
            raise Failed(f"{build.name} {name}: exit status {run.returncode}\n{run.stderr}")
        outputs[name] = run.stdout.splitlines()
    return outputs


def check_build(folder: str, build: Build, expected: list[str]) -> str:
    """Builds and runs the program. Returns what fails, or the lines that differ from `expected`."""
    try:
        outputs = build_and_run(folder, build)
    except Failed as failure:
        return str(failure)
    print(f"{build.name}: {', '.join(outputs) if build.runner is not None else 'compiled and linked, not run'}", flush=True)
    differences = (line for name, actual in outputs.items()
                   for line in difflib.unified_diff(expected, actual, "expected", f"{build.name}, {name}", n=0, lineterm=""))
    return "\n".join(line for line in differences if not line.startswith("@@"))


def copy_for_other_compilers(folder: Path) -> Path:
    """Copies the headers with names in place of GCC's and Clang's macros that nothing defines, so that they are read as by another
    compiler."""
    shutil.copytree(INCLUDE, folder)
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(r"\b(__GNUC__|__clang__|__x86_64__|__aarch64__)\b", r"NOT_DEFINED\1", text), encoding="utf-8")
    return folder


def find_gnu_extensions(include: Path) -> str:
    """Lists lines of the headers that contain an attribute, a builtin function or assembly of GCC after preprocessing."""
    output = subprocess.run(["g++", "-std=c++17", "-E", f"-I{include}", "-x", "c++", "-"], input="#include <slicesort/slicesort.hpp>\n", capture_output=True,
                            encoding="utf-8", check=True).stdout
    found, file = [], ""
    for line in output.splitlines():
        if marker := re.match(r'# \d+ "(.*?)"', line):
            file = marker[1]
        elif file.startswith(str(include)) and re.search(r"__attribute__|__builtin_(?!va_)|\b__?asm", line):
            found.append(f"{file.removeprefix(str(include))}: {line.strip()}")
    return "\n".join(found)


def check_windows_header(compiler: str) -> str:
    """Reads <windows.h>, which defines many macros, before and after the library."""
    sources = "#define NOMINMAX\n#include <windows.h>\n#include <slicesort/slicesort.hpp>", "#include <slicesort/slicesort.hpp>\n#include <windows.h>"
    return "".join(message for ok, message in (syntax_only(compiler, source, "-std=c++17", *WARNINGS) for source in sources) if not ok)


with tempfile.TemporaryDirectory() as folder:
    builds = [NATIVE] + [AARCH64] * (platform.machine() != "aarch64")
    jobs = []
    if sys.argv[1:] == ["--all"]:
        copy = copy_for_other_compilers(Path(folder) / "include")
        jobs.append(partial(find_gnu_extensions, copy))
        builds += [Build("a compiler without GNU extensions", "g++", "-std=c++17 -O0", ("portable",), include=copy)]
        builds += filter(partial(is_installed, folder), OTHER_COMPILERS)
        jobs += [partial(check_windows_header, build.compiler) for build in builds if "mingw" in build.compiler]
        print("not installed: " + ", ".join(build.name for build in OTHER_COMPILERS if build not in builds))
    plain = build_and_run(folder, PLAIN)["portable"]
    print(f"{len(plain)} fingerprints", flush=True)
    run_all("fingerprints", jobs + [partial(check_build, folder, build, plain) for build in builds])
