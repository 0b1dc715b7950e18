#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The units of a program may be compiled with different flags and by different compilers: the linker does not mix their
functions. Four checks; the first three also cover functions that no test program calls:
- every function of slicesort::v0, whose types units exchange, has the build in its symbol;
- objects of different builds share no weak function of slicesort;
- they share no floating-point function of the standard library either, such as std::max<float> or std::fma(float, ..);
- linked in several orders, so that the functions of each unit come first once, statically and as shared libraries, each unit
  computes the same bits as alone. --all links every pair of more builds, and takes many times as long.
Units of one build share their functions, so they must compute the same bits at every -O. Exception: under -ffast-math the
rounding depends on -O, and a unit computes the bits of one of the units of its build."""
import argparse
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations, permutations
from pathlib import Path

from common import COMPILERS, HERE, INCLUDE, NVCC, run_all

SOURCES = HERE / "mixed_units"
GXX, CLANG = "g++", "clang++"
NO_EXCEPTIONS = "-std=c++20 -fno-exceptions -fno-rtti"
# A name, the compiler and its flags. -O0 emits every function; g++ fuses with -fexpensive-optimizations, which -O2 has.
# clang++ calls every operator without exceptions here, so check_programs.py need not.
UNITS = [("debug", GXX, "-O0"), ("fma", GXX, "-O1 -fexpensive-optimizations -mfma -mavx2"), ("native", GXX, "-O0 -march=native"),
         ("fast_math", GXX, "-O0 -ffast-math"), ("arrays", GXX, "-O0 -DSLICESORT_NO_VECTOR_EXTENSIONS"),
         ("no_exceptions", GXX, f"-O0 {NO_EXCEPTIONS}"), ("clang", CLANG, f"-O0 {NO_EXCEPTIONS}"), ("nvcc", "nvcc", "-O0")]
MORE = [("v3", GXX, "-O0 -march=x86-64-v3"), ("plain", GXX, "-O1"), ("plain_O2", GXX, "-O2"), ("fma_O2", GXX, "-O2 -mfma -mavx2"), ("native_O3", GXX, "-O3 -march=native"),
        ("v3_O2", GXX, "-O2 -march=x86-64-v3"), ("O3", GXX, "-O3"), ("fast_math_O2", GXX, "-O2 -ffast-math"), ("arrays_O2", GXX, "-O2 -DSLICESORT_NO_VECTOR_EXTENSIONS"),
        ("clang_O2", CLANG, "-O2"), ("clang_native_O2", CLANG, "-O2 -march=native"), ("clang_fast_math_O0", CLANG, "-O0 -ffast-math"),
        ("nvcc_native", "nvcc", "-O2 -Xcompiler=-march=native")]
# Units for link-time optimization, which reports types and variables that differ: -O0, because only the report counts.
WITH_LTO = ["native", "arrays"]
# Flags that do not enter the name of a build.
OPTIMIZATION = {"-O0", "-O1", "-O2", "-O3", "-fexpensive-optimizations"}
# Destructors of exceptions are in a vtable that units share, so that any unit can catch them. They compute nothing.
SHARED = re.compile(r"_ZN9slicesort2v0(16invalid_argument|15workspace_error|10cuda_error)D[012]Ev$")
# Functions of the standard library that take floating-point numbers, or compare the elements of a sequence.
NUMBER = r"(?:float|double|long double)"
PARAMETER = rf"(?:{NUMBER}|int|long|unsigned int|unsigned long)(?: const&)?"
COMPUTES = re.compile(rf"(?:^|.* )std::\w+(?:<.*>)?\((?:(?=.*\b{NUMBER}\b){PARAMETER}(?:, {PARAMETER})*|std::initializer_list<{NUMBER}>)\)$"
                      rf"|std::\w*(?:accumulate|reduce|inner_product)\w*<{NUMBER}|__ops::_\w+::operator\(\)<{NUMBER}")
MOVES = re.compile(r"std::(?:forward|move|exchange|as_const)<")


def output(*command: str | Path, **options) -> str:
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True, encoding="utf-8", env={**os.environ, "LC_ALL": "C"}, **options)
    if run.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\nexit status {run.returncode}\n{run.stdout}{run.stderr}")
    return run.stdout


def error_of(job) -> str:
    try:
        return job()
    except RuntimeError as error:
        return str(error)


class Unit:
    """An object file of all operators."""

    def __init__(self, folder: Path, name: str, compiler: str, flags: str) -> None:
        self.name, self.object, self.library = name, folder / f"{name}.o", folder / f"lib{name}.so"
        self.lto_object = folder / f"{name}.lto.o"
        self.compiler, self.flags, self.build, self.bits = compiler, flags.split(), "", ""
        self.symbols: set[str] = set()

    def compile(self) -> str:
        language = ["-x", "cu", "-arch=compute_90", "-Xcompiler=-fPIC"] if self.compiler == "nvcc" else ["-fPIC"]
        compiler = NVCC if self.compiler == "nvcc" else self.compiler
        # A fat object has machine code as well.
        compiled, lto = (self.lto_object, ["-flto", "-ffat-lto-objects"]) if self.name in WITH_LTO else (self.object, [])
        output(compiler, "-std=c++17", *self.flags, *language, *lto, f'-DUNIT="{self.name}"', f"-I{INCLUDE}", "-c", SOURCES / "unit.cpp",
               "-o", compiled)
        if lto:
            output("objcopy", "--wildcard", "--remove-section=.gnu.lto_*", compiled, self.object)
        names = [line.split()[-1] for line in output("nm", self.object).splitlines() if " W _Z" in line]
        slicesort_symbol = re.compile(r"_Z(Z?N[VK]*|T[hvc]\w*)9slicesort")
        self.symbols = {name for name in names if slicesort_symbol.match(name)}
        if not self.symbols:
            return f"{self.name}: has no weak functions"
        demangled = output("c++filt", input="\n".join(names)).splitlines()
        self.symbols |= {name for name in demangled if COMPUTES.search(name) and not MOVES.search(name)}
        return ""

    def libraries(self) -> list[str]:
        return [f"-L{Path(NVCC).resolve().parents[1] / 'lib64'}", "-lcudart_static", "-ldl", "-lrt"] if self.compiler == "nvcc" else []


def link_and_run(main: Path, units: list[Unit], shared: bool) -> list[str]:
    """Links units in this order and runs the program; returns its lines."""
    cuda = [flag for u in units if not shared for flag in u.libraries()]
    with tempfile.NamedTemporaryFile(dir=main.parent, delete=False) as file:
        program = file.name
    objects = [u.library if shared else u.object for u in units]
    try:
        output(GXX, "-rdynamic", "-Wl,--no-as-needed", main, *objects, "-o", program, f"-Wl,-rpath,{main.parent}", "-pthread", *cuda)
        return output(program).splitlines()
    finally:
        Path(program).unlink(missing_ok=True)


def shared_library(unit: Unit) -> str:
    output(GXX, "-shared", unit.object, "-o", unit.library, *unit.libraries())
    return ""


def check_alone(main: Path, unit: Unit) -> str:
    lines = link_and_run(main, [unit], False)
    if len(lines) != 1 or not (found := re.fullmatch(rf"{unit.name} (v0_\w+) ([0-9a-f]{{8}})", lines[0])):
        return f"{unit.name} alone prints {lines}"
    unit.build, unit.bits = found.groups()
    return ""


def check_mixed(main: Path, units: list[Unit], shared: bool) -> str:
    lines = link_and_run(main, units, shared)
    mismatches = [] if len(lines) == len(units) else [f"  prints {len(lines)} lines"]
    for unit in units:
        same_build = [u for u in units if u.build == unit.build] if "-ffast-math" in unit.flags else [unit]
        expected = {f"{unit.name} {unit.build} {u.bits}" for u in same_build}
        if not expected & set(lines):
            mismatches.append(f"  must print {' or '.join(sorted(expected))}, prints {[s for s in lines if s.startswith(unit.name + ' ')]}")
    return "\n".join([f"{' '.join(u.name for u in units)} ({'shared' if shared else 'static'}):", *mismatches]) if mismatches else ""


def check_disjoint(a: Unit, b: Unit) -> str:
    if a.build == b.build:
        return "" if set(a.flags) ^ set(b.flags) <= OPTIMIZATION and a.compiler == b.compiler else f"{a.name} and {b.name} are both {a.build}"
    common = sorted(name for name in a.symbols & b.symbols if not SHARED.match(name))
    return f"{a.name} and {b.name} share {len(common)} weak functions:\n" + "\n".join(common) if common else ""


def check_abi_tags() -> str:
    """Finds functions of v0 without an ABI tag, in clang's syntax tree of all public headers for the host."""
    headers = [p.relative_to(INCLUDE) for p in sorted((INCLUDE / "slicesort").rglob("*.hpp"))]
    headers = [p for p in headers if "detail" not in p.parts and p.name not in ("blas.hpp", "thrust.hpp")]
    text = output(CLANG, "-std=c++17", "-fsyntax-only", f"-I{INCLUDE}", "-Xclang", "-ast-dump", "-Xclang",
                  "-ast-dump-filter=slicesort::v0", "-x", "c++", "-",
                  input="".join(f"#include <{p.as_posix()}>\n" for p in headers))
    function = re.compile(r"(?:Function|CXXMethod|CXXConstructor|CXXConversion|CXXDestructor)Decl (.*)")
    found, missing = 0, []
    in_v0, current, depth_of_current = False, None, 0  # excludes v0_host; `current` is the enclosing function
    for line in text.splitlines():
        if line.startswith("Dumping"):
            in_v0, current = line == "Dumping slicesort::v0:", None
            continue
        start = re.match(r"[ |`-]*", line)[0]
        if current and len(start) > depth_of_current:  # symbols of local functions contain the symbol of `current`
            if len(start) == depth_of_current + 2 and re.match(r"(AbiTag|Unavailable)Attr", line[len(start):]):
                missing.remove(current)
            continue
        match, current = function.match(line, len(start)), None
        if in_v0 and match and not re.search(r"\b(implicit|delete)\b|<deduction guide", match[1]):
            found, current, depth_of_current = found + 1, match[1], len(start)
            missing.append(current)
    if found < 200:
        return f"only {found} functions of slicesort::v0 found"
    return "no ABI tag:\n" + "\n".join(missing) if missing else ""


def check_one_definition(folder: Path, units: list[Unit]) -> str:
    """Links units with link-time optimization, which must report no conflicting types."""
    output(GXX, "-std=c++17", "-O0", "-flto", f"-I{INCLUDE}", "-c", SOURCES / "main.cpp", "-o", folder / "main.lto.o")
    # A relocatable object without machine code takes 2 processor seconds, a program 27.
    output(GXX, "-O0", "-flto=2", "-r", "-flinker-output=rel", "-Werror=odr", "-Werror=lto-type-mismatch", folder / "main.lto.o",
           *(unit.lto_object for unit in units), "-o", folder / "lto.o")
    return ""


options = argparse.ArgumentParser()
options.add_argument("--all", action="store_true", help="more builds, linked in pairs")
arguments = options.parse_args()
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    all_units = [Unit(folder, *u) for u in UNITS + MORE if u[1] in COMPILERS or (u[1] == "nvcc" and NVCC)]
    units = all_units if arguments.all else [u for u in all_units if u.name in [u[0] for u in UNITS]]
    main = folder / "main.o"
    output(GXX, "-std=c++17", "-O1", f"-I{INCLUDE}", "-c", SOURCES / "main.cpp", "-o", main)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [*pool.map(error_of, [u.compile for u in units])] + [*pool.map(error_of, [partial(shared_library, u) for u in units])]
        errors += pool.map(error_of, [partial(check_alone, main, u) for u in units])
    orders = [units[i:] + units[:i] for i in range(len(units))]  # each unit comes first once
    if arguments.all:
        orders += [list(pair) for pair in permutations(units, 2)]
    jobs = [lambda text=text: text for text in errors]
    jobs += [partial(check_disjoint, a, b) for a, b in combinations(units, 2)]
    jobs += [partial(check_mixed, main, order, shared) for order in orders for shared in (False, True)]
    jobs += [check_abi_tags] if CLANG in COMPILERS else []
    jobs.append(partial(check_one_definition, folder, [u for u in all_units if u.name in WITH_LTO]))
    run_all("mixed units", [partial(error_of, job) for job in jobs])
