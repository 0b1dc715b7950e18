# SPDX-License-Identifier: Apache-2.0
"""Rounds of the arena. A group has the cases of one shape, direction, element type and input. One program times them in the same
rounds, optionally interleaved with torch or with the program of another commit."""
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from .command.shapes import Shapes
from .entries import DIRECTIONS, REFERENCE, Entry, entry_of
from .in_torch.timer import TorchTimer
from .progress import Progress
from .results import Case, parse_case
from .run_log import RunLog

DTYPE_ORDER = ("f32", "f64", "bf16", "f16")
STDERR_LINES = 200  # shown if a program fails


@dataclass
class CaseGroup:
    backend: str
    direction: str
    dtype: str
    input: str
    n: int
    c: int
    cases: list[Case]

    @property
    def title(self) -> str:
        return f"{self.backend} {DIRECTIONS[self.direction]} {self.dtype} N={self.n} C={self.c}"

    @property
    def id(self) -> str:
        return f"{self.backend}/{self.direction}/{self.dtype}/{self.input}/{self.n}/{self.c}"

    @property
    def names(self) -> list[str]:
        return [case.name for case in self.cases]

    @property
    def weight(self) -> float:
        """Rough relative duration. Attention takes quadratic time."""
        thousands = self.n / 1024
        load = (thousands**2 + thousands) * (3.5 if self.direction == "training" else 1) * self.c / 256
        return load * (0.4 if self.dtype in ("bf16", "f16") else 1) / (20 if self.backend == "cuda" else 1)


def is_in_arena(case: Case, entry: Entry, shapes: Shapes) -> bool:
    if case.direction not in DIRECTIONS or case.t != 1 or case.b != shapes.batch:
        return False
    if case.n not in shapes.lengths or case.c not in shapes.channels or case.input != shapes.input_of(case.n):
        return False
    if case.heads and case.heads not in shapes.heads_of(case.c):
        return False
    if not (entry.is_custom or entry == REFERENCE if shapes.options.only else entry.is_custom or entry.is_default or shapes.options.all):
        return False
    if shapes.dtypes:
        return case.dtype in shapes.dtypes
    return case.dtype == "f32" or shapes.options.all and case.dtype == "bf16" and entry.in_16_bits


def make_case_groups(backend: str, names: list[str], shapes: Shapes) -> list[CaseGroup]:
    found: dict[str, CaseGroup] = {}
    for case in filter(None, map(parse_case, names)):
        entry = entry_of(case)
        if entry is not None and is_in_arena(case, entry, shapes):
            group = CaseGroup(backend, case.direction, case.dtype, case.input, case.n, case.c, [])
            found.setdefault(group.id, group).cases.append(case)
    return sorted(found.values(), key=lambda g: (DTYPE_ORDER.index(g.dtype), g.n, g.c, g.direction))


class ProgramFailed(Exception):
    """A bench program ended early. Other groups run in other processes."""


class NothingMeasured(Exception):
    """The program reports that this machine lacks a requirement, such as a GPU."""


class Program:
    """A running bench program, whose output is read line by line. Terminated on exit."""

    def __init__(self, command: list[str], show: Callable[[dict], None]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.show = show  # called with each progress step
        self.results: list[dict] = []
        self.context: dict = {}
        self.stderr_lines: list[str] = []
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()

    def _drain(self) -> None:
        for line in self.process.stderr:
            self.stderr_lines = (self.stderr_lines + [line.rstrip()])[-STDERR_LINES:]

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                stream.close()

    def advance(self) -> bool:
        """Reads output until the program waits for its next round (returns true) or ends (returns false)."""
        for text in self.process.stdout:
            if text.startswith("nothing measured"):
                raise NothingMeasured(text.strip())
            line = json.loads(text)
            if line.get("step") == "round":
                return True
            if "step" in line:
                self.show(line)
            elif "context" in line:
                self.context = line["context"]
            else:
                self.results.append(line)
        self.process.wait()
        return False

    def start_round(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    @property
    def status(self) -> int:
        return self.process.returncode


def interleave(programs: list[Program], torch: TorchTimer | None) -> None:
    """Runs the rounds of two programs in the order A B, B A, A B, .., so that drift of the machine affects both alike."""
    waiting = [program.advance() for program in programs]
    order = list(range(len(programs)))
    while any(waiting):
        if torch:
            torch.time_round()
        for i in order:
            if waiting[i]:
                programs[i].start_round()
                waiting[i] = programs[i].advance()
        order.reverse()


def run_group(group: CaseGroup, commands: dict[str, list[str]], run_log: RunLog, progress: Progress, torch: TorchTimer | None) -> bool:
    """Times a group with one or two programs and logs their results under the keys of `commands`. Returns false if a result was
    wrong."""
    def show(line: dict) -> None:
        share = line["done"] / line["of"]
        group_share = 0.3 * share if line["step"] == "comparing" else 0.3 + 0.7 * share
        progress.show(group_share, f"{group.title}: {line['step']} {entry_of(parse_case(line['case'])).label}")
    flags = ["--benchmark_filter=^(" + "|".join(group.names) + ")$"]
    if torch or len(commands) > 1:
        flags.append("--wait-for-rounds")
    if torch:
        torch.begin_group(group.names)
    with ExitStack() as stack:
        programs = {key: stack.enter_context(Program(command + flags, show)) for key, command in commands.items()}
        interleave(list(programs.values()), torch)
    for key, program in programs.items():
        # The program of another commit may lack a case.
        complete = len(program.results) == len(group.cases) or key.startswith("against") and program.results
        if program.status not in (0, 1) or not complete:
            progress.clear()
            print("\n".join(program.stderr_lines), file=sys.stderr)
            raise ProgramFailed(f"the bench program ended with status {program.status} in {group.title}")
    for program in programs.values():
        if program.status == 1:
            progress.clear()
            print("\n".join(line for line in program.stderr_lines if line.startswith("WRONG")), file=sys.stderr)
    # All parts at once, so that a group without its results of torch is timed again. The program of this commit is last: it makes the
    # group complete.
    parts = [("torch", torch.context, torch.end_group())] if torch else []
    parts += [(key, program.context, program.results) for key, program in reversed(programs.items())]
    run_log.add(*(line for part, context, results in parts
                  for line in ({"part": part, "context": context}, *({"part": part, "group": group.id, "case": case} for case in results))))
    return all(program.status == 0 for program in programs.values())
