# SPDX-License-Identifier: Apache-2.0
"""Runs of the training program: each in a folder of its own, named by all that its result depends on, so that a finished one
is found again and an interrupted one goes on."""
import hashlib
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .build import Failed
from .options import Refused

OUT_OF_TIME, INTERRUPTED = 3, 130


@dataclass
class Result:
    """What a journal says."""
    start: dict = field(default_factory=dict)
    train: list[dict] = field(default_factory=list)
    test: list[dict] = field(default_factory=list)
    end: dict = field(default_factory=dict)

    @property
    def step(self) -> int:
        return self.test[-1]["step"] if self.test else 0

    @property
    def accuracy(self) -> float:
        """Of the last test; which test is best is not for the tests to choose."""
        return self.test[-1]["accuracy"] if self.test else float("nan")

    @property
    def complete(self) -> bool:
        return self.end.get("reason") == "steps"


def read_journal(path: Path) -> Result:
    """An interrupted line is left out, and so is what a call wrote that went back to an older checkpoint."""
    result = Result()
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        kind = entry.get("event")
        if kind == "start":
            result.start = entry
            for seen in (result.train, result.test):
                seen[:] = [one for one in seen if one["step"] <= entry["step"]]
        elif kind in ("train", "test"):
            getattr(result, kind).append(entry)
        elif kind == "end":
            result.end = entry
    return result


@dataclass
class Run:
    flags: dict[str, str]
    seed: int
    folder: Path

    @property
    def model(self) -> str:
        return self.flags.get("model", "chord")

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    def result(self) -> Result:
        return read_journal(self.journal)


class Runs:
    def __init__(self, program: Path, results: Path, minutes: float | None, threads: int | None, data: Path | None) -> None:
        self.program, self.results, self.minutes, self.threads, self.data = program, results, minutes, threads, data
        self.build = hashlib.sha256(program.read_bytes()).hexdigest()[:12]

    def run_of(self, flags: dict[str, str], seed: int) -> Run:
        whole = json.dumps([sorted(flags.items()), seed, self.build, str(self.data)])
        name = f"{flags.get('task', 'adding')}-{flags.get('model', 'chord')}-{flags.get('length', '')}-{seed}"
        return Run(flags, seed, self.results / "runs" / f"{name}-{hashlib.sha256(whole.encode()).hexdigest()[:10]}")

    def command(self, run: Run) -> list[str]:
        words = [str(self.program), "--seed", str(run.seed)]
        for name, value in run.flags.items():
            words += [f"--{name}", value]
        if self.threads:
            words += ["--threads", str(self.threads)]
        if self.data:
            words += ["--data", str(self.data)]
        return words

    def ensure(self, flags: dict[str, str], seed: int) -> Run:
        """Trains what is missing of a run: all of it, the rest, or nothing."""
        run = self.run_of(flags, seed)
        before = run.result()
        if before.complete or (self.minutes and before.end.get("seconds", 0) >= 60 * self.minutes):
            print(f"{run.folder.name}: done before", file=sys.stderr)
            return run
        run.folder.mkdir(parents=True, exist_ok=True)
        words = self.command(run) + ["--checkpoint", str(run.folder / "checkpoint.safetensors"), "--journal", str(run.journal)]
        if self.minutes:
            left = self.minutes - before.end.get("seconds", 0) / 60
            words += ["--minutes", f"{left:.6g}"]
        if "save-every" not in flags:
            words += ["--save-every", "500"]
        print(f"{run.folder.name}:", file=sys.stderr)
        with subprocess.Popen(words) as process:
            try:
                status = process.wait()
            except KeyboardInterrupt:  # it has the signal, too, and writes its checkpoint
                process.wait()
                raise
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        if status == 2:
            raise Refused("the training program refused the call")
        if status not in (0, OUT_OF_TIME):
            raise Failed(f"the training program ended with status {status}")
        return run


def mean_and_spread(values: list[float]) -> tuple[float, float | None]:
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None
