# SPDX-License-Identifier: Apache-2.0
"""The arena's rounds: cases that are timed in the same ones, which are of one shape, direction, element type and input; and the
programs that time them, one alone, with torch before each of its rounds, or two that take turns."""
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from .command.shapes import Shapes
from .contestants import DIRECTIONS, REFERENCE, Contestant, contestant_of
from .in_torch.peers import Peers
from .journal import Journal
from .progress import Progress
from .results import Case, case_named

ORDER = ("f32", "f64", "bf16", "f16")
PASSED_ON = 200  # lines of a program's stderr that are kept, to be shown if it fails


@dataclass
class Group:
    part: str
    direction: str
    dtype: str
    input: str
    n: int
    c: int
    cases: list[Case]

    @property
    def title(self) -> str:
        return f"{self.part} {DIRECTIONS[self.direction]} {self.dtype} N={self.n} C={self.c}"

    @property
    def id(self) -> str:
        return f"{self.part}/{self.direction}/{self.dtype}/{self.input}/{self.n}/{self.c}"

    @property
    def names(self) -> list[str]:
        return [case.name for case in self.cases]

    @property
    def weight(self) -> float:
        """How long it takes beside others, roughly: attention grows with the square."""
        thousands = self.n / 1024
        work = (thousands**2 + thousands) * (3.5 if self.direction == "training" else 1) * self.c / 256
        return work * (0.4 if self.dtype in ("bf16", "f16") else 1) / (20 if self.part == "cuda" else 1)


def takes_part(case: Case, who: Contestant, shapes: Shapes) -> bool:
    if case.direction not in DIRECTIONS or case.t != 1 or case.b != shapes.batch:
        return False
    if case.n not in shapes.lengths or case.c not in shapes.channels or case.input != shapes.input_of(case.n):
        return False
    if case.heads and case.heads not in shapes.heads_of(case.c):
        return False
    if not (who.own or who == REFERENCE if shapes.asked.only else who.own or who.main or shapes.asked.all):
        return False
    if shapes.dtypes:
        return case.dtype in shapes.dtypes
    return case.dtype == "f32" or shapes.asked.all and case.dtype == "bf16" and who.in_16_bits


def groups_of(part: str, names: list[str], shapes: Shapes) -> list[Group]:
    found: dict[str, Group] = {}
    for case in filter(None, map(case_named, names)):
        who = contestant_of(case)
        if who is not None and takes_part(case, who, shapes):
            group = Group(part, case.direction, case.dtype, case.input, case.n, case.c, [])
            found.setdefault(group.id, group).cases.append(case)
    return sorted(found.values(), key=lambda g: (ORDER.index(g.dtype), g.n, g.c, g.direction))


class Broken(Exception):
    """The program ended before its time; other groups have programs of their own."""


class NothingMeasured(Exception):
    """The program says that this machine lacks what it needs."""


class Program:
    """Its output is read line by line. It does not outlive this process."""

    def __init__(self, command: list[str], show: Callable[[dict], None]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.show = show  # called with each step that is no result
        self.results: list[dict] = []
        self.context: dict = {}
        self.complaints: list[str] = []
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()

    def _drain(self) -> None:
        for line in self.process.stderr:
            self.complaints = (self.complaints + [line.rstrip()])[-PASSED_ON:]

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.reader.join()

    def advance(self) -> bool:
        """Reads until the program waits for its next round (true) or ends (false)."""
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


def take_turns(programs: list[Program], peers: Peers | None) -> None:
    """Rounds of two programs go A B, B A, A B, ..: whoever is first, the machine's drift is for both."""
    waiting = [program.advance() for program in programs]
    order = list(range(len(programs)))
    while any(waiting):
        if peers:
            peers.time_round()
        for i in order:
            if waiting[i]:
                programs[i].start_round()
                waiting[i] = programs[i].advance()
        order.reverse()


def run_group(group: Group, commands: dict[str, list[str]], journal: Journal, progress: Progress, peers: Peers | None) -> bool:
    """Times a group by one or two programs, whose results are kept under the keys of `commands`; False if a result was wrong."""
    def show(line: dict) -> None:
        share = line["done"] / line["of"]
        part = 0.3 * share if line["step"] == "comparing" else 0.3 + 0.7 * share
        progress.show(part, f"{group.title}: {line['step']} {contestant_of(case_named(line['case'])).label}")
    flags = ["--benchmark_filter=^(" + "|".join(group.names) + ")$"]
    if peers or len(commands) > 1:
        flags.append("--wait-for-rounds")
    if peers:
        peers.begin(group.names)
    with ExitStack() as all_programs:
        programs = {key: all_programs.enter_context(Program(command + flags, show)) for key, command in commands.items()}
        take_turns(list(programs.values()), peers)
    for key, program in programs.items():
        # The program of another commit may lack a case.
        complete = len(program.results) == len(group.cases) or key.startswith("against") and program.results
        if program.status not in (0, 1) or not complete:
            progress.clear()
            print("\n".join(program.complaints), file=sys.stderr)
            raise Broken(f"the bench program ended with status {program.status} in {group.title}")
    for key, program in programs.items():
        journal.add({"part": key, "context": program.context})
        for case in program.results:
            journal.add({"part": key, "group": group.id, "case": case})
        if program.status == 1:
            progress.clear()
            print("\n".join(line for line in program.complaints if line.startswith("WRONG")), file=sys.stderr)
    if peers:
        for line in peers.end():
            journal.add({"part": "torch", "group": group.id, "case": line})
        journal.add({"part": "torch", "context": peers.context})
    return all(program.status == 0 for program in programs.values())
