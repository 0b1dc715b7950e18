#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every kernel of the library for sm_80 and sm_90, and the float kernels to PTX for the newest architecture of nvcc.
Compares their resources with kernels/golden/, a file for each folder of detail/ that has kernels.

Fails for a spill, a stack frame, a kernel without launch bounds, more registers than a block of that size can have, and a
kernel below detail/ that no kernels/*.cu instantiates. Registers depend on the compiler, so they are compared only if the
nvcc version is that of the golden files.

--built takes the PTX from a build of tests/run --ptx, which has each kernel for sm_90 or else for sm_80, and only runs ptxas.
Kernels without a golden row are then those of tests. Kernels of float16 alone are not assembled: they differ from those of
bfloat16 only in conversions. Only their launch bounds and stack frames in PTX are checked; without --built, everything is."""
import argparse
import functools
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from common import HERE, INCLUDE, NVCC, NVCC_WARNINGS, QUICK

ARCHITECTURES = ("80", "90")
GOLDEN = HERE / "kernels" / "golden"  # <folder of detail/>.txt
COLUMNS = ("threads", "registers", "stack", "spill", "shared")  # the last three in bytes
# Units of tests/cuda with the library's kernels, compiled with a user's flags.
UNITS = ("remote.cu.o", "test_recipes.cu.o", "test_known_orders.cu.o", "test_known_masks.cu.o")
REGISTERS = 65536  # of a multiprocessor, on all architectures so far; a thread gets a multiple of eight


@dataclass(frozen=True)
class Usage:
    threads: int  # launch bound, or 0
    registers: int
    stack: int
    spill: int
    shared: int  # static; the library's kernels use dynamic shared memory

    def errors(self) -> list[str]:
        found = []
        if self.spill or self.stack:
            found.append(f"{self.spill} bytes of spills, {self.stack} bytes of stack frame; must have none")
        if not self.threads:
            found.append("has no launch bound")
        elif (self.registers + 7) // 8 * 8 * ((self.threads + 31) // 32 * 32) > REGISTERS:
            found.append(f"{self.registers} registers in each of {self.threads} threads; a block cannot have them")
        return found


Kernels = dict[tuple[str, str], Usage]


@functools.cache
def short(symbol: str) -> str:
    """run_kernel<slicesort::...::detail::sort_tile<float, ...> >(...) becomes sort_tile<float, ...>."""
    text = subprocess.run(["c++filt", symbol], capture_output=True, encoding="utf-8", check=True).stdout.strip()
    text = re.sub(r"\bslicesort::(\w+::)*", "", text)
    return re.sub(r"^void run_kernel<(.*?) ?>\(.*$", r"\1", text).replace("> >", ">>")


def compile_kernels(only: str, *flags: str) -> tuple[str, str, str]:
    """Compiles one operator, or all. Returns the messages, the PTX, and an error if compilation fails."""
    with tempfile.TemporaryDirectory() as folder:
        # All operators in one source, so that a shared kernel is compiled once.
        text = Path(folder) / "kernels.cu"
        text.write_text("".join(f'#include "{path}"\n' for path in sorted((HERE / "kernels").glob(f"{only or '*'}.cu"))), encoding="utf-8")
        run = subprocess.run([NVCC, "-std=c++17", f"-I{INCLUDE}", *NVCC_WARNINGS, *flags, "--keep", "--keep-dir", folder,
                              str(text), "-o", f"{folder}/result"], capture_output=True, encoding="utf-8", env={**os.environ, "LC_ALL": "C"})
        messages = run.stdout + run.stderr
        if run.returncode or re.search(r"\bwarning\b", messages):
            return "", "", f"{' '.join(flags)}:\n" + "\n".join(messages.splitlines()[:20])
        ptx = Path(folder) / ("result" if "-ptx" in flags else "kernels.ptx")
        return messages, ptx.read_text(encoding="utf-8"), ""


def is_float16_alone(kernel: str) -> bool:
    return set(re.findall(r"\b(float16|bfloat16|float|double)\b", kernel)) == {"float16"}


def errors_in_ptx(text: str, symbol: str, golden: Usage) -> list[str]:
    """Errors of a kernel that is not assembled: other launch bounds than the golden ones, or a stack frame."""
    entry = text[text.index(f".entry {symbol}("):]
    entry = entry[:entry.index("\n}")]
    bound = re.search(r"\.maxntid (\d+)", entry)
    found = [] if bound and int(bound[1]) == golden.threads else [f"launch bound {bound and bound[1]}, golden {golden.threads}"]
    return found + ["has a stack frame"] * (".local" in entry)


def assemble_built(folder: Path, units: list[Path]) -> tuple[Kernels, list[str]]:
    """Resources of the golden kernels in a build's units, each from the first unit that has it, and errors."""
    subprocess.run(["ninja", "-C", str(folder), *(str(unit.relative_to(folder)) for unit in units)], check=True, stdout=subprocess.DEVNULL)
    golden = read_golden()[1]
    missing = {kernel for kernel, _ in golden}

    # The units have uncompressed PTX, for the PTX machine.
    texts = [text.decode() for unit in units for text in re.findall(rb"^\.version \d[^\0]*", unit.read_bytes(), re.MULTILINE)]
    jobs, kernels, errors = [], {}, []
    for arch in ("sm_90", "sm_80"):
        for text in (text for text in texts if re.search(rf"^\.target {arch}$", text, re.MULTILINE)):
            symbols = {short(symbol): symbol for symbol in re.findall(r"\.entry (\w+)", text)}
            selected = sorted(missing & symbols.keys())
            for kernel in filter(is_float16_alone, selected):
                kernels[kernel, arch] = golden[kernel, arch]
                errors += [f"{kernel} {arch}: {error}" for error in errors_in_ptx(text, symbols[kernel], golden[kernel, arch])]
            if assembled := [symbols[kernel] for kernel in selected if not is_float16_alone(kernel)]:
                jobs.append((text, arch, assembled))
            missing -= symbols.keys()

    def assemble(text: str, arch: str, symbols: list[str]) -> tuple[Kernels, str]:
        with tempfile.TemporaryDirectory() as output:
            path = Path(output) / "kernels.ptx"
            path.write_text(text, encoding="utf-8")
            entries = [word for symbol in symbols for word in ("--entry", symbol)]
            run = subprocess.run([Path(NVCC).with_name("ptxas"), "-v", f"-arch={arch}", *entries, path, "-o", f"{output}/kernels.cubin"],
                                 capture_output=True, encoding="utf-8")
        messages = run.stdout + run.stderr
        return {(short(symbol), arch): usage for symbol, usage in parse_usage(messages, text).items()}, messages if run.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: assemble(*job), jobs))
    kernels |= {key: usage for found, _ in results for key, usage in found.items()}
    return kernels, errors + [error for _, error in results if error]


def parse_usage(messages: str, ptx: str) -> dict[str, Usage]:
    bounds = dict(re.findall(r"\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)", ptx))
    found = {}
    for section in messages.split("Compiling entry function '")[1:]:
        symbol = section[:section.index("'")]
        counts = {resource: int(n) for n, resource in re.findall(r"(\d+) (bytes stack frame|bytes spill stores|bytes spill loads|registers|bytes smem)", section)}
        found[symbol] = Usage(int(bounds.get(symbol, 0)), counts["registers"], counts["bytes stack frame"],
                              counts["bytes spill stores"] + counts["bytes spill loads"], counts.get("bytes smem", 0))
    return found


def kernel_folders() -> dict[str, str]:
    """Maps each kernel, a struct with launch bounds, to its folder of detail/."""
    found = {}
    for path in sorted([*(INCLUDE / "slicesort/detail").rglob("*.hpp"), INCLUDE / "slicesort/detail/cuda/launch.cuh"]):
        parts = re.split(r"static constexpr int max_threads\b", path.read_text(encoding="utf-8"))
        folder = path.relative_to(INCLUDE / "slicesort/detail").parts[0]
        found |= {structs[-1]: folder for part in parts[:-1] if (structs := re.findall(r"^struct (\w+)", part, re.MULTILINE))}
    return found


def struct_name(kernel: str) -> str:
    return kernel.split("<")[0]


def format_table(version: str, kernels: Kernels, width: int) -> str:
    lines = ["# SPDX-License-Identifier: Apache-2.0", "# Resources of each kernel; written by tests/compile/check_kernels.py --update.",
             f"# nvcc {version}", f"{'kernel':{width}}  arch   " + "  ".join(f"{column:>9}" for column in COLUMNS)]
    for (kernel, arch), usage in sorted(kernels.items()):
        lines.append(f"{kernel:{width}}  {arch}  " + "  ".join(f"{getattr(usage, column):9}" for column in COLUMNS))
    return "\n".join(lines) + "\n"


def read_table(text: str) -> tuple[str, Kernels]:
    version = re.search(r"^# nvcc (\S+)$", text, re.MULTILINE)
    rows = re.findall(r"^(\S.*?) +(sm_\d+)" + r" +(\d+)" * len(COLUMNS) + "$", text, re.MULTILINE)
    return version[1] if version else "", {(row[0], row[1]): Usage(*map(int, row[2:])) for row in rows}


def is_shared(folder: str) -> bool:
    """True for a folder of kernels that several operators share, such as detail/attention."""
    return not (HERE / "kernels" / f"{folder}.cu").exists()


def read_golden() -> tuple[set[str], Kernels]:
    """Returns the nvcc versions (normally one) and the rows of all golden files."""
    versions, kernels = set(), {}
    for path in sorted(GOLDEN.glob("*.txt")):
        version, rows = read_table(path.read_text(encoding="utf-8"))
        versions.add(version)
        kernels |= rows
    return versions, kernels


def write_golden(version: str, kernels: Kernels, folders: dict[str, str], only: str) -> None:
    golden = read_golden()[1] if only else {}
    # All files have the same width, so that a row does not change with its neighbors.
    width = max(len(kernel) for kernel, _ in [*kernels, *golden])
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.glob(f"{only or '*'}.txt"):
        path.unlink()
    written = sorted({folders[struct_name(kernel)] for kernel, _ in kernels})
    # Other operators' rows of shared kernels stay.
    kernels = {key: usage for key, usage in golden.items() if (folder := folders.get(struct_name(key[0]))) != only and folder in written} | kernels
    for folder in written:
        path = GOLDEN / f"{folder}.txt"
        path.write_text(format_table(version, {key: usage for key, usage in kernels.items() if folders[struct_name(key[0])] == folder}, width), encoding="utf-8")
        print(f"wrote {path}")


def differences(golden: Kernels, kernels: Kernels) -> list[str]:
    found = []
    for key in sorted(golden.keys() | kernels.keys()):
        name = " ".join(key)
        if key not in kernels:
            found.append(f"{name}: only in the golden values")
        elif key not in golden:
            found.append(f"{name}: not in the golden values")
        else:
            found += [f"{name}: {column} {getattr(kernels[key], column)}, golden {getattr(golden[key], column)}"
                      for column in COLUMNS if getattr(kernels[key], column) != getattr(golden[key], column)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="rewrite the golden values")
    parser.add_argument("--only", metavar="OPERATOR", default="", help="only this operator's kernels: seconds instead of minutes")
    parser.add_argument("--built", metavar="FOLDER", type=Path, help="take the PTX from this build of tests/run --ptx")
    options = parser.parse_args()
    if options.built and (options.only or options.update):
        parser.error("--built goes with no other option")
    if options.only and not (HERE / "kernels" / f"{options.only}.cu").exists():
        parser.error(f"there is no kernels/{options.only}.cu")
    if not NVCC:
        print("kernels: skipped, there is no nvcc")
        return 77
    version = re.search(r"V(\d+\.\d+\.\d+)", subprocess.run([NVCC, "--version"], capture_output=True, encoding="utf-8", check=True).stdout)[1]
    newest = max(map(int, re.findall(r"compute_(\d+)", subprocess.run([NVCC, "--list-gpu-arch"], capture_output=True, encoding="utf-8", check=True).stdout)))
    # This PTX is never run; it shows that the front end accepts the code.
    newest_flags = ("-ptx", f"-arch=compute_{newest}", "-DFLOAT_ALONE", *QUICK)
    units = sorted(unit for name in UNITS for unit in options.built.rglob(name)) if options.built else []
    if options.built and not units:
        print(f"{options.built} has no PTX of kernels: compiling them")
    jobs = [] if units else [("-cubin", f"-arch=sm_{arch}", "-Xptxas=-v") for arch in ARCHITECTURES]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda flags: compile_kernels(options.only, *flags), [*jobs, newest_flags]))
    errors = [error for _, _, error in results if error]
    folders = kernel_folders()
    kernels = {(short(symbol), f"sm_{arch}"): usage for arch, (messages, ptx, _) in zip(ARCHITECTURES, results[:-1])
               for symbol, usage in parse_usage(messages, ptx).items()}
    if units:
        kernels, assembly_errors = assemble_built(options.built, units)
        errors += assembly_errors
    errors += [f"{kernel} {arch}: is not a kernel of detail/" for kernel, arch in sorted(kernels) if struct_name(kernel) not in folders]
    if options.only:
        kernels = {key: usage for key, usage in kernels.items()
                   if (folder := folders.get(struct_name(key[0]), options.only)) == options.only or is_shared(folder)}
    entries = len(re.findall(r"\.entry\b", results[-1][1]))
    errors += [f"{kernel} {arch}: {error}" for (kernel, arch), usage in sorted(kernels.items()) for error in usage.errors()]
    library_kernels = {kernel for kernel, folder in folders.items() if not options.only or folder == options.only}
    errors += [f"{kernel}: no tests/compile/kernels/*.cu instantiates it" for kernel in sorted(library_kernels - {struct_name(kernel) for kernel, _ in kernels})]

    if options.update and kernels and not errors:
        write_golden(version, kernels, folders, options.only)
    golden_versions, golden = read_golden()
    if options.only:
        golden = {key: usage for key, usage in golden.items() if key in kernels or folders.get(struct_name(key[0])) == options.only}
    if units:  # each kernel for one architecture
        found = {kernel for kernel, _ in kernels}
        golden = {key: usage for key, usage in golden.items() if key in kernels or key[0] not in found}
    if golden_versions <= {version}:
        changes = differences(golden, kernels) if not errors else []
        errors += changes + (["run check_kernels.py --update if this is intended"] if changes else [])
    else:
        print(f"the golden values are of nvcc {', '.join(sorted(golden_versions))}, this is {version}: only spills, stack frames and launch bounds were checked")
    print("\n".join(errors[:60]))
    registers = max((usage.registers for usage in kernels.values()), default=0)
    print(f"kernels: {len(kernels)} for {', '.join('sm_' + a for a in ARCHITECTURES)}, {entries} as PTX for compute_{newest}; "
          f"at most {registers} registers; {len(errors)} errors")
    return 1 if errors or not kernels or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
