#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the first block of every launch does, of the benches' cases on a GPU: counted on the PTX machine, and compared with
counters/golden.txt. Counts differ from compiler to compiler: they must be the golden ones where the PTX is of the nvcc
that golden.txt names.

usage: check_counters.py COUNT KERNELS.ptx [--machine-code] [--update]

COUNT is the program of counters/count.cpp, KERNELS.ptx what nvcc makes of counters/kernels.cu. With --machine-code the
instructions that ptxas makes of the PTX are counted too, and compared with counters/machine_code.txt: that needs ptxas and
nvdisasm. --update writes both files anew."""
import argparse
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from counters import machine_code

HERE = Path(__file__).resolve().parent / "counters"
LAUNCH = ("launches", "blocks", "counted", "threads", "cluster", "shared")  # counted: the blocks that were run, of each launch
COUNTS = ("instructions", "lanes", "divergent", "barriers", "requests", "wavefronts", "ideal", "accesses", "sectors", "bytes", "remote")
MACHINE = ("registers", "issued", "far", "near", "alu", "fma", "imad", "fp64", "xu", "lsu", "matrix", "shuffles")


@dataclass
class Launch:
    """Launches of a kernel on the same grid; their counts are added up."""
    body: str
    kernel: str = ""  # mangled
    grid: tuple[int, ...] = ()  # LAUNCH without launches
    launches: int = 0
    counts: Counter = field(default_factory=Counter)  # of COUNTS
    executed: Counter = field(default_factory=Counter)  # of lines of the kernel's text, from 1
    machine: tuple[int, ...] = ()  # MACHINE
    copies: int = 0  # cp.async

    def row(self, machine: bool) -> list[int]:
        return list(self.machine) if machine else [self.launches, *self.grid, *(self.counts[name] for name in COUNTS)]


@dataclass
class Case:
    name: str
    elements: int  # of x, in the call that was counted
    launches: list[Launch] = field(default_factory=list)

    def launch(self, body: str, kernel: str, grid: tuple[int, ...]) -> Launch:
        for one in self.launches:
            if (one.body, one.grid) == (body, grid):
                return one
        self.launches.append(Launch(body, kernel, grid))
        return self.launches[-1]


def counted(program: str, ptx: Path) -> list[Case]:
    run = subprocess.run([program, str(ptx)], capture_output=True, encoding="utf-8")
    if run.returncode:
        raise SystemExit(f"{program}: {run.stderr.strip() or run.returncode}")
    cases: list[Case] = []
    launch = Launch("")
    for line in run.stdout.splitlines():
        what, *words = line.split("\t")
        if what == "case":
            cases.append(Case(words[0], int(words[1])))
        elif what == "launch":
            launch = cases[-1].launch(words[0], words[1], tuple(map(int, words[2:])))
            launch.launches += 1
        elif what == "counters":
            launch.counts.update({name: int(count) for name, count in (word.split() for word in words)})
        elif what == "executed":
            launch.executed.update({int(at): int(count) for at, count in (word.split() for word in words)})
    return cases


def first_lines(ptx: list[str]) -> dict[str, int]:
    """Of every kernel, the index of the line that says so: line 1 of its own text."""
    entries = ((re.match(r"(?:\.\w+ )*\.entry (\w+)", text), number) for number, text in enumerate(ptx))
    return {entry[1]: number for entry, number in entries if entry}


def add_machine_code(cases: list[Case], ptx: Path) -> None:
    functions = machine_code.compiled(ptx)
    lines = ptx.read_text(encoding="utf-8").splitlines()
    first = first_lines(lines)
    for launch in (launch for case in cases for launch in case.launches):
        executed = {}
        for number, often in launch.executed.items():
            at = first[launch.kernel] + number  # from 1, as in the notes of ptxas
            if ";" not in lines[at - 1]:
                raise SystemExit(f"{ptx}:{at}: no instruction, but {launch.body} is said to execute it")
            executed[at] = often
            launch.copies += often if "cp.async.c" in lines[at - 1] else 0
        function = functions[launch.kernel]
        mix = machine_code.mix(function, executed)
        mix["shuffles"] = mix["SHFL"]
        launch.machine = (function.registers, *(round(mix[name]) for name in MACHINE[1:]))


def disagreements(cases: list[Case]) -> list[str]:
    """Accesses to memory are one instruction each in PTX and machine code: where their numbers differ by more than 4 in a
    hundred of all instructions, the machine code was not counted well. Small launches may: ptxas unrolls loops."""
    found = []
    for case in cases:
        work = {id(one): one.machine[1] * one.grid[0] / one.grid[1] for one in case.launches}
        for launch in case.launches:
            machine = dict(zip(MACHINE, launch.machine))
            # An asynchronous copy is both a request and an access.
            accesses = launch.counts["requests"] + launch.counts["accesses"] - launch.copies
            off = abs(machine["lsu"] - machine["shuffles"] - accesses) / machine["issued"]
            if off > 0.04 and work[id(launch)] > 0.02 * sum(work.values()):
                found.append(f"{case.name}, {launch.body}: {machine['lsu']} accesses to memory by machine code, {accesses} by PTX")
    return found


def table(cases: list[Case], nvcc: str, machine: bool) -> str:
    columns = MACHINE if machine else LAUNCH + COUNTS
    rows = [launch.row(machine) for case in cases for launch in case.launches]
    widths = [max(len(name), *(len(str(row[i])) for row in rows)) for i, name in enumerate(columns)]
    body = max(len(launch.body) for case in cases for launch in case.launches) + 2
    what = "warp instructions of the machine code" if machine else "of the PTX, and memory"
    lines = ["# SPDX-License-Identifier: Apache-2.0", f"# What the first blocks of each launch do: {what};",
             "# written by tests/ptx/check_counters.py --update, explained in docs/gpu_model.md.", f"# nvcc {nvcc}",
             f"{'case and kernels':{body}}  " + "  ".join(f"{name:>{width}}" for name, width in zip(columns, widths))]
    for case in cases:
        lines.append(f"{case.name}  {case.elements} elements")
        lines += [f"  {launch.body:{body - 2}}  " + "  ".join(f"{number:{width}}" for number, width in zip(launch.row(machine), widths))
                  for launch in case.launches]
    return "\n".join(lines) + "\n"


def read_table(text: str, machine: bool) -> tuple[str, dict[tuple[str, int], tuple[int, str, list[int]]]]:
    """nvcc's version; and of the n-th launch of each case the elements, the body and the columns."""
    nvcc = re.search(r"^# nvcc (\S+)$", text, re.MULTILINE)
    columns = len(MACHINE if machine else LAUNCH + COUNTS)
    rows, case, elements, number = {}, "", 0, 0
    for line in text.splitlines():
        if head := re.match(r"(\S+/\S+)  (\d+) elements$", line):
            case, elements, number = head[1], int(head[2]), 0
        elif row := re.match(r"  (\S.*?)" + r" +(\d+)" * columns + "$", line):
            rows[case, number] = elements, row[1], [int(word) for word in row.groups()[1:]]
            number += 1
    return nvcc[1] if nvcc else "", rows


def differences(golden: str, now: str, machine: bool) -> list[str]:
    columns = MACHINE if machine else LAUNCH + COUNTS
    before, after = read_table(golden, machine)[1], read_table(now, machine)[1]
    found = []
    for key in sorted(before.keys() | after.keys()):
        name = f"{key[0]}, launch {key[1]}"
        if key not in after or key not in before:
            found.append(f"{name}: {'golden' if key in before else 'not golden, but run'} alone")
        elif before[key][:2] != after[key][:2]:
            found.append(f"{name}: {after[key][1]} of {after[key][0]} elements, golden {before[key][1]} of {before[key][0]}")
        else:
            found += [f"{name}, {after[key][1]}: {column} {is_now}, golden {was}"
                      for column, was, is_now in zip(columns, before[key][2], after[key][2]) if was != is_now]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("ptx", type=Path)
    parser.add_argument("--machine-code", action="store_true")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    nvcc = re.search(r"^// Cuda compilation tools, release \S+, V(\S+)$", arguments.ptx.read_text(encoding="utf-8"), re.MULTILINE)[1]
    cases = counted(arguments.program, arguments.ptx)
    with_machine_code = arguments.machine_code or arguments.update
    if with_machine_code:
        add_machine_code(cases, arguments.ptx)
    complaints, launches = disagreements(cases) if with_machine_code else [], sum(launch.launches for case in cases for launch in case.launches)
    for machine in (False, True) if with_machine_code else (False,):
        path = HERE / ("machine_code.txt" if machine else "golden.txt")
        now = table(cases, nvcc, machine)
        if arguments.update:
            path.write_text(now, encoding="utf-8")
            print(f"wrote {path}")
        golden = path.read_text(encoding="utf-8")
        if read_table(golden, machine)[0] != nvcc:
            print(f"{path.name} is of nvcc {read_table(golden, machine)[0]}, this is {nvcc}: nothing was compared")
        elif different := differences(golden, now, machine):
            complaints += [*different, "run check_counters.py --update when this is meant"]
    print("\n".join(complaints[:40]))
    instructions = sum(launch.counts["instructions"] for case in cases for launch in case.launches)
    print(f"counters: {len(cases)} cases, {launches} launches, {instructions} warp instructions; {len(complaints)} complaints")
    return 1 if complaints or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
