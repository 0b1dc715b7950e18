# SPDX-License-Identifier: Apache-2.0
"""Runs the arena: every operator beside softmax attention, length by length. What is finished is kept, so that an
interrupted run goes on where it was."""
import argparse
import hashlib
import json
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from .contestants import DIRECTIONS, REFERENCE, contestant_of
from .journal import Journal, write_results
from .in_torch.peers import Peers, python_with_torch
from .progress import Progress
from .results import BadResults, Case, case_named, run_main
from .show import report_arena

PASSED_ON = 200  # lines of a program's stderr that are kept, to be shown if it fails


@dataclass
class Group:
    """Cases that are timed in the same rounds."""
    part: str
    direction: str
    dtype: str
    n: int
    cases: list[Case]

    @property
    def title(self) -> str:
        return f"{self.part} {DIRECTIONS[self.direction]} {self.dtype} N={self.n}"

    @property
    def id(self) -> str:
        return f"{self.part}/{self.direction}/{self.dtype}/{self.n}"

    @property
    def weight(self) -> float:
        """How long it takes beside others, roughly: attention grows with the square."""
        thousands = self.n / 1024
        work = (thousands**2 + thousands) * (3.5 if self.direction == "training" else 1)
        return work * (0.4 if self.dtype == "bf16" else 1) / (20 if self.part == "cuda" else 1)


def groups_of(part: str, names: list[str], lengths: list[int], smoke: bool) -> list[Group]:
    found: dict[str, Group] = {}
    for name in names:
        case = case_named(name)
        who = contestant_of(case) if case else None
        tiny = case is not None and (case.b, case.n, case.c) == (2, 37, 24)
        if who is None or case.direction not in DIRECTIONS or case.input != "text" or case.t != 1 or tiny != smoke:
            continue
        if not tiny and (case.c != 256 or case.n not in lengths):
            continue
        if case.dtype == "f32" or case.dtype == "bf16" and who.in_16_bits:
            group = Group(part, case.direction, case.dtype, case.n, [])
            found.setdefault(group.id, group).cases.append(case)
    order = {"f32": 0, "bf16": 1}
    return sorted(found.values(), key=lambda g: (order[g.dtype], g.n, g.direction))


class Broken(Exception):
    """The program ended before its time; other groups have programs of their own."""


class NothingMeasured(Exception):
    """The program says that this machine lacks what it needs."""


class Program:
    """A bench program that times one group; its output is read line by line. It does not outlive this process."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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

    def lines(self):
        for line in self.process.stdout:
            if line.startswith("nothing measured"):
                raise NothingMeasured(line.strip())
            yield json.loads(line)

    def start_round(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()


def finished(group: Group, journal: Journal) -> bool:
    return journal.finished(group.id, {case.name for case in group.cases})


def run_group(group: Group, command: list[str], journal: Journal, progress: Progress, peers) -> bool:
    """Times a group; False if a result was wrong."""
    wanted = "^(" + "|".join(case.name for case in group.cases) + ")$"
    found = []
    if peers:
        peers.begin([case.name for case in group.cases])
        command = command + ["--wait-for-rounds"]
    with Program(command + [f"--benchmark_filter={wanted}"]) as program:
        for line in program.lines():
            step = line.get("step")
            if step == "round":
                progress.show(0.3, f"{group.title}: torch")
                if peers:
                    peers.time_round()
                program.start_round()
            elif step:
                share = line["done"] / line["of"]
                part = 0.3 * share if step == "comparing" else 0.3 + 0.7 * share
                progress.show(part, f"{group.title}: {step} {contestant_of(case_named(line['case'])).label}")
            elif "context" in line:
                found.append({"part": group.part, "context": line["context"]})
            else:
                found.append({"part": group.part, "group": group.id, "case": line})
        status = program.process.wait()
        if status not in (0, 1) or sum("case" in line for line in found) != len(group.cases):
            progress.clear()
            print("\n".join(program.complaints), file=sys.stderr)
            raise Broken(f"the bench program ended with status {status} in {group.title}")
    for line in found:
        journal.add(line)
    if peers:
        for line in peers.end():
            journal.add({"part": "torch", "group": group.id, "case": line})
        journal.add({"part": "torch", "context": peers.context})
    if status == 1:
        progress.clear()
        print("\n".join(line for line in program.complaints if line.startswith("WRONG")), file=sys.stderr)
    return status == 0


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True, help="results of the host; the GPU's and torch's go beside it")
    parser.add_argument("--host", help="the program of the host")
    parser.add_argument("--cuda", help="the program of the GPU")
    parser.add_argument("--text", required=True)
    parser.add_argument("--lengths", required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--command", default="")
    parser.add_argument("--fresh", action="store_true", help="do not go on where an interrupted run was")
    parser.add_argument("--peers", type=Path, help="the folder where torch is or will be installed: its forms take part")
    parser.add_argument("--smoke", action="store_true")
    return parser.parse_args()


def main() -> int:
    a = parse_arguments()
    for ended_by in (signal.SIGINT, signal.SIGTERM):  # also where whoever started this ignores them
        signal.signal(ended_by, signal.default_int_handler)
    lengths = [int(n) for n in a.lengths.split(",")]
    shape = [] if a.smoke else ["--lengths", a.lengths, "--batch", str(a.batch)]
    base = {part: [program, "--text", a.text, *shape, f"--benchmark_context=commit={a.commit}"]
            for part, program in (("host", a.host), ("cuda", a.cuda)) if program}
    groups = []
    for part, command in base.items():
        names = subprocess.run(command + ["--benchmark_list_tests", "--benchmark_filter=/(forward_values|training)/(f32|bf16)/.*/text/"],
                               check=True, capture_output=True, text=True).stdout.split()
        groups += groups_of(part, names, lengths, a.smoke)
    if not groups:
        raise BadResults("no case takes part in the arena")
    key = {"programs": {part: digest(command[0]) for part, command in base.items()}, "text": digest(a.text), "lengths": lengths,
           "batch": a.batch, "rounds": a.rounds, "commit": a.commit, "peers": bool(a.peers), "smoke": a.smoke}
    journal = Journal(a.json.with_suffix(".partial.jsonl"), key, a.fresh)
    todo = [group for group in groups if not finished(group, journal)]
    progress = Progress(sum(group.weight for group in groups), sum(group.weight for group in groups if group not in todo))
    if len(todo) < len(groups):
        print(f"  going on: {len(groups) - len(todo)} of {len(groups)} groups of cases are finished (--fresh starts anew)", file=sys.stderr)
    right = True
    peers = None
    try:
        if a.peers:
            peers = Peers(python_with_torch(a.peers))
        missing: set[str] = set()
        for group in todo:
            progress.begin(group.weight)
            try:
                if group.part not in missing:
                    right = run_group(group, base[group.part] + ["--arena", str(a.rounds)], journal, progress, peers) and right
            except NothingMeasured as why:
                missing.add(group.part)
                progress.clear()
                print(why)
            except Broken as why:
                right = False
                print(why, file=sys.stderr)
            progress.done()
    except KeyboardInterrupt:
        progress.clear()
        kept = sum(finished(group, journal) for group in groups)
        print(f"interrupted: {kept} of {len(groups)} groups of cases are kept; the same command goes on from there", file=sys.stderr)
        return 130
    finally:
        progress.clear()
        if peers:
            peers.close()
    more = {"command": a.command, "batch": a.batch, "rounds": a.rounds, "reference": REFERENCE.policy}
    files = {"host": a.json, "cuda": a.json.with_name(a.json.stem + "-cuda.json"), "torch": a.json.with_name(a.json.stem + "-torch.json")}
    for part, path in files.items():
        path.unlink(missing_ok=True)
        write_results(path, journal, part, more)
    report_arena([files[part] for part in ("host", "cuda") if files[part].exists()], files["torch"], a.json.with_suffix(".html"))
    if right or all(finished(group, journal) for group in groups):
        journal.path.unlink()
    return 0 if right else 1


if __name__ == "__main__":
    run_main(main)
