#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the work of the first block of every launch of the GPU benchmark cases on the PTX machine, and compares it with
counters/golden.txt. The counts depend on the compiler, so they are compared only with the nvcc version in golden.txt.

usage: check_counters.py COUNT KERNELS.ptx [--machine-code] [--update]

COUNT is the program of counters/count.cpp, KERNELS.ptx the PTX of counters/kernels.cu. --machine-code also counts the
machine instructions that ptxas generates, and compares them with counters/machine_code.txt; it requires ptxas and nvdisasm.
--update rewrites both files."""
import argparse
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from counters import machine_code

HERE = Path(__file__).resolve().parent / "counters"
LAUNCH = ("launches", "blocks", "counted", "threads", "cluster", "shared")  # counted: blocks of each launch that were run
COUNTS = ("instructions", "lanes", "divergent", "barriers", "requests", "wavefronts", "ideal", "accesses", "sectors", "bytes", "remote")
MACHINE = ("registers", "issued", "far", "near", "alu", "fma", "imad", "fp64", "xu", "lsu", "matrix", "shuffles")


@dataclass
class Launch:
    """Launches of a kernel on the same grid, with the sum of their counts."""
    kernel: str
    mangled: str = ""
    grid: tuple[int, ...] = ()  # the columns LAUNCH without `launches`
    launches: int = 0
    counts: Counter = field(default_factory=Counter)  # keyed by the names in COUNTS
    executed: Counter = field(default_factory=Counter)  # keyed by the line of the kernel's text, from 1
    machine: tuple[int, ...] = ()  # the columns MACHINE
    copies: int = 0  # asynchronous copies (cp.async)

    def row(self, machine: bool) -> list[int]:
        return list(self.machine) if machine else [self.launches, *self.grid, *(self.counts[name] for name in COUNTS)]


@dataclass
class Case:
    name: str
    elements: int  # number of elements of x in the counted call
    launches: list[Launch] = field(default_factory=list)

    def launch(self, kernel: str, mangled: str, grid: tuple[int, ...]) -> Launch:
        for launch in self.launches:
            if (launch.kernel, launch.grid) == (kernel, grid):
                return launch
        self.launches.append(Launch(kernel, mangled, grid))
        return self.launches[-1]


def run_count(program: str, ptx: Path) -> list[Case]:
    process = subprocess.run([program, str(ptx)], capture_output=True, encoding="utf-8")
    if process.returncode:
        raise SystemExit(f"{program}: {process.stderr.strip() or process.returncode}")
    cases: list[Case] = []
    launch = Launch("")
    for line in process.stdout.splitlines():
        kind, *words = line.split("\t")
        if kind == "case":
            cases.append(Case(words[0], int(words[1])))
        elif kind == "launch":
            launch = cases[-1].launch(words[0], words[1], tuple(map(int, words[2:])))
            launch.launches += 1
        elif kind == "counters":
            launch.counts.update({name: int(count) for name, count in (word.split() for word in words)})
        elif kind == "executed":
            launch.executed.update({int(line_index): int(count) for line_index, count in (word.split() for word in words)})
    return cases


def entry_lines(ptx: list[str]) -> dict[str, int]:
    """Index of each kernel's .entry line, which is line 1 of its text."""
    entries = ((re.match(r"(?:\.\w+ )*\.entry (\w+)", text), index) for index, text in enumerate(ptx))
    return {entry[1]: index for entry, index in entries if entry}


def add_machine_code(cases: list[Case], ptx: Path) -> None:
    functions = machine_code.compile_kernels(ptx)
    lines = ptx.read_text(encoding="utf-8").splitlines()
    first_line = entry_lines(lines)
    for launch in (launch for case in cases for launch in case.launches):
        executed = {}
        for kernel_line, count in launch.executed.items():
            line = first_line[launch.mangled] + kernel_line  # from 1, as in the notes of ptxas
            if ";" not in lines[line - 1]:
                raise SystemExit(f"{ptx}:{line}: no instruction, but counted as executed by {launch.kernel}")
            executed[line] = count
            launch.copies += count if "cp.async.c" in lines[line - 1] else 0
        function = functions[launch.mangled]
        counts = machine_code.instruction_counts(function, executed)
        counts["shuffles"] = counts["SHFL"]
        launch.machine = (function.registers, *(round(counts[name]) for name in MACHINE[1:]))


def machine_code_errors(cases: list[Case]) -> list[str]:
    """Checks the counts of machine code. A memory access is one instruction in PTX and in machine code, so the two counts may
    differ by at most 4 % of all instructions. Small launches are exempt, since ptxas unrolls loops."""
    errors = []
    for case in cases:
        work = {id(launch): launch.machine[1] * launch.grid[0] / launch.grid[1] for launch in case.launches}
        for launch in case.launches:
            machine = dict(zip(MACHINE, launch.machine))
            # An asynchronous copy counts as a request and as an access.
            accesses = launch.counts["requests"] + launch.counts["accesses"] - launch.copies
            deviation = abs(machine["lsu"] - machine["shuffles"] - accesses) / machine["issued"]
            if deviation > 0.04 and work[id(launch)] > 0.02 * sum(work.values()):
                errors.append(f"{case.name}, {launch.kernel}: {machine['lsu']} memory accesses in machine code, {accesses} in PTX")
    return errors


def table(cases: list[Case], nvcc: str, machine: bool) -> str:
    columns = MACHINE if machine else LAUNCH + COUNTS
    rows = [launch.row(machine) for case in cases for launch in case.launches]
    widths = [max(len(name), *(len(str(row[i])) for row in rows)) for i, name in enumerate(columns)]
    width = max(len(launch.kernel) for case in cases for launch in case.launches) + 2
    subject = "warp instructions of the machine code" if machine else "warp instructions of the PTX, and memory traffic"
    lines = ["# SPDX-License-Identifier: Apache-2.0", f"# Work of the first blocks of each launch: {subject};",
             "# written by tests/ptx/check_counters.py --update, explained in docs/gpu_model.md.", f"# nvcc {nvcc}",
             f"{'case and kernels':{width}}  " + "  ".join(f"{name:>{size}}" for name, size in zip(columns, widths))]
    for case in cases:
        lines.append(f"{case.name}  {case.elements} elements")
        lines += [f"  {launch.kernel:{width - 2}}  " + "  ".join(f"{count:{size}}" for count, size in zip(launch.row(machine), widths))
                  for launch in case.launches]
    return "\n".join(lines) + "\n"


def read_table(text: str, machine: bool) -> tuple[str, dict[tuple[str, int], tuple[int, str, list[int]]]]:
    """Returns the nvcc version, and by case and launch index the elements, the kernel and the columns."""
    nvcc = re.search(r"^# nvcc (\S+)$", text, re.MULTILINE)
    columns = len(MACHINE if machine else LAUNCH + COUNTS)
    rows, case, elements, index = {}, "", 0, 0
    for line in text.splitlines():
        if head := re.match(r"(\S+/\S+)  (\d+) elements$", line):
            case, elements, index = head[1], int(head[2]), 0
        elif row := re.match(r"  (\S.*?)" + r" +(\d+)" * columns + "$", line):
            rows[case, index] = elements, row[1], [int(word) for word in row.groups()[1:]]
            index += 1
    return nvcc[1] if nvcc else "", rows


def differing_counts(golden: str, current: str, machine: bool) -> list[str]:
    columns = MACHINE if machine else LAUNCH + COUNTS
    before, after = read_table(golden, machine)[1], read_table(current, machine)[1]
    errors = []
    for key in sorted(before.keys() | after.keys()):
        name = f"{key[0]}, launch {key[1]}"
        if key not in after or key not in before:
            errors.append(f"{name}: {'only golden' if key in before else 'only run, not golden'}")
        elif before[key][:2] != after[key][:2]:
            errors.append(f"{name}: {after[key][1]} of {after[key][0]} elements, golden {before[key][1]} of {before[key][0]}")
        else:
            errors += [f"{name}, {after[key][1]}: {column} {new}, golden {old}"
                      for column, old, new in zip(columns, before[key][2], after[key][2]) if old != new]
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("ptx", type=Path)
    parser.add_argument("--machine-code", action="store_true")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    nvcc = re.search(r"^// Cuda compilation tools, release \S+, V(\S+)$", arguments.ptx.read_text(encoding="utf-8"), re.MULTILINE)[1]
    cases = run_count(arguments.program, arguments.ptx)
    with_machine_code = arguments.machine_code or arguments.update
    if with_machine_code:
        add_machine_code(cases, arguments.ptx)
    errors, launches = machine_code_errors(cases) if with_machine_code else [], sum(launch.launches for case in cases for launch in case.launches)
    for machine in (False, True) if with_machine_code else (False,):
        path = HERE / ("machine_code.txt" if machine else "golden.txt")
        current = table(cases, nvcc, machine)
        if arguments.update:
            path.write_text(current, encoding="utf-8")
            print(f"wrote {path}")
        golden = path.read_text(encoding="utf-8")
        if read_table(golden, machine)[0] != nvcc:
            print(f"{path.name} was written with nvcc {read_table(golden, machine)[0]}, this is {nvcc}: nothing was compared")
        elif different := differing_counts(golden, current, machine):
            errors += [*different, "run check_counters.py --update if this is intended"]
    print("\n".join(errors[:40]))
    instructions = sum(launch.counts["instructions"] for case in cases for launch in case.launches)
    print(f"counters: {len(cases)} cases, {launches} launches, {instructions} warp instructions; {len(errors)} errors")
    return 1 if errors or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
