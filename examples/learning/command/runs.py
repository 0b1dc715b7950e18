# SPDX-License-Identifier: Apache-2.0
"""Runs of the training program: each in a folder of its own, named by all that its result depends on, so that a finished one
is found again and an interrupted one goes on."""
import hashlib
import json
import signal
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
    def seconds(self) -> float:
        """Of training; of a run that was killed, as far as it told."""
        return max(one.get("seconds", 0) for one in ({}, self.end, *self.train[-1:], *self.test[-1:]))

    @property
    def complete(self) -> bool:
        return self.end.get("reason") == "steps"


def read_journal(path: Path) -> Result:
    """An interrupted line is left out, and so is what a call wrote that went back to an older checkpoint."""
    result = Result()
    for line in path.read_text(errors="replace", encoding="utf-8").splitlines() if path.exists() else []:
        try:
            entry = json.loads(line)
            kind = entry.get("event")
        except (ValueError, RecursionError, AttributeError):
            continue
        if kind == "start":
            result.start, result.end = entry, {}
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

    def models_of(self, task: str) -> list[str]:
        """The models that runs of a task have, with whatever settings."""
        names = (folder.name.removeprefix(f"{task}-") for folder in (self.results / "runs").glob(f"{task}-*"))
        return sorted({name.rsplit("-", 3)[0] for name in names})

    def command(self, run: Run) -> list[str]:
        words = [str(self.program), "--seed", str(run.seed)]
        for name, value in run.flags.items():
            words += [f"--{name}", value]
        if self.threads:
            words += ["--threads", str(self.threads)]
        if self.data:
            words += ["--data", str(self.data)]
        return words

    def check(self, flags: dict[str, str]) -> None:
        """Refuses what the program would refuse, before anything is trained for hours."""
        done = subprocess.run([*self.command(self.run_of(flags, 1)), "--dry-run"], capture_output=True, encoding="utf-8", check=False)
        if done.returncode != 0:
            says = done.stderr.strip().removeprefix("slicesort_train: ") or f"the training program ended with status {done.returncode}"
            raise (Refused if done.returncode == 2 else Failed)(says)

    def ensure_all(self, wanted: list[dict[str, str]], seeds: int) -> list[list[tuple[Run, Result]]]:
        """A list for each of `wanted`, of its seeds 1, 2, .."""
        for flags in wanted:
            self.check(flags)
        work = [(flags, seed) for flags in wanted for seed in range(1, seeds + 1)]
        for number, (flags, seed) in enumerate(work, 1):
            self.ensure(flags, seed, f"[{number}/{len(work)}] " if len(work) > 1 else "")
        return [self.found(flags, seeds) for flags in wanted]

    def found(self, flags: dict[str, str], seeds: int) -> list[tuple[Run, Result]]:
        """Runs of the seeds 1, 2, .. as they are; one that never began has an empty result."""
        runs = [self.run_of(flags, seed) for seed in range(1, seeds + 1)]
        return [(run, run.result()) for run in runs]

    def ensure(self, flags: dict[str, str], seed: int, place: str = "") -> Run:
        """Trains what is missing of a run: all of it, the rest, or nothing. With a `place` among many it says little."""
        run = self.run_of(flags, seed)
        before = run.result()
        if before.complete or (self.minutes and before.seconds >= 60 * self.minutes):
            print(f"{place}{run.folder.name}: done before", file=sys.stderr)
            return run
        run.folder.mkdir(parents=True, exist_ok=True)
        words = self.command(run) + ["--checkpoint", str(run.folder / "checkpoint.safetensors"), "--journal", str(run.journal)]
        if self.minutes:
            left = self.minutes - before.seconds / 60
            words += ["--minutes", f"{left:.6g}"]
        if "save-every" not in flags:
            words += ["--save-every", "500"]
        print(f"{place}{run.folder.name}:", file=sys.stderr, flush=True)
        with subprocess.Popen(words, stdout=subprocess.DEVNULL if place else 2) as process:  # 2: results alone are for stdout
            try:
                status = process.wait()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)  # only a terminal has sent it one already; it writes its checkpoint
                process.wait()
                raise
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        if status not in (0, OUT_OF_TIME):
            raise Failed(f"the training program ended with status {status}")
        if place and (after := run.result()).test:
            print(f"  accuracy {100 * after.accuracy:.1f} % after {after.step} steps, {after.seconds / 60:.1f} min", file=sys.stderr, flush=True)
        return run


def mean_and_spread(values: list[float]) -> tuple[float, float | None]:
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None
