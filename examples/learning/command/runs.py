# SPDX-License-Identifier: Apache-2.0
"""Runs of the training program. The name of a run's folder contains a hash of everything that its result depends on, so
that finished runs are found and interrupted ones resume."""
import hashlib
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .build import Failed, output_of
from .options import UsageError

OUT_OF_TIME, INTERRUPTED = 3, 130


@dataclass
class Result:
    """The content of a run log."""
    start: dict = field(default_factory=dict)
    train: list[dict] = field(default_factory=list)
    test: list[dict] = field(default_factory=list)
    end: dict = field(default_factory=dict)

    @property
    def step(self) -> int:
        return self.test[-1]["step"] if self.test else 0

    @property
    def accuracy(self) -> float:
        """Accuracy of the last test, not of the best: selecting by test accuracy would bias it."""
        return self.test[-1]["accuracy"] if self.test else float("nan")

    @property
    def seconds(self) -> float:
        """Seconds of training, up to the last entry."""
        return max(entry.get("seconds", 0) for entry in ({}, self.end, *self.train[-1:], *self.test[-1:]))

    @property
    def complete(self) -> bool:
        return self.end.get("reason") == "steps"


def read_run_log(path: Path) -> Result:
    """Reads a run log. Ignores incomplete lines, and entries of steps that were repeated after a resume."""
    result = Result()
    for line in path.read_text(errors="replace", encoding="utf-8").splitlines() if path.exists() else []:
        try:
            entry = json.loads(line)
            kind = entry.get("event")
        except (ValueError, RecursionError, AttributeError):
            continue
        if kind == "start":
            result.start, result.end = entry, {}
            for entries in (result.train, result.test):
                entries[:] = [earlier for earlier in entries if earlier["step"] <= entry["step"]]
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
    def log(self) -> Path:
        return self.folder / "log.jsonl"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint.safetensors"

    def result(self) -> Result:
        return read_run_log(self.log)


class Runs:
    def __init__(self, program: Path, results: Path, minutes: float | None, threads: int | None, data: Path | None) -> None:
        self.program, self.results, self.minutes, self.threads, self.data = program, results, minutes, threads, data
        self.build = hashlib.sha256(program.read_bytes()).hexdigest()[:12]

    def run_of(self, flags: dict[str, str], seed: int) -> Run:
        identity = json.dumps([sorted(flags.items()), seed, self.build, str(self.data and self.data.resolve())])
        name = f"{flags.get('task', 'adding')}-{flags.get('model', 'chord')}-{flags.get('length', '')}-{seed}"
        return Run(flags, seed, self.results / "runs" / f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}")

    def models_of(self, task: str) -> list[str]:
        """Returns the models of all runs of a task."""
        names = (folder.name.removeprefix(f"{task}-") for folder in (self.results / "runs").glob(f"{task}-*"))
        return sorted({name.rsplit("-", 3)[0] for name in names})

    def command(self, run: Run) -> list[str]:
        command = [str(self.program), "--seed", str(run.seed)]
        for name, value in run.flags.items():
            command += [f"--{name}", value]
        if self.threads:
            command += ["--threads", str(self.threads)]
        if self.data:
            command += ["--data", str(self.data)]
        return command

    def check_flags(self, flags: dict[str, str]) -> None:
        """Raises the program's error for wrong flags, before any training."""
        completed = subprocess.run([*self.command(self.run_of(flags, 1)), "--dry-run"], capture_output=True, encoding="utf-8", check=False)
        if completed.returncode != 0:
            message = completed.stderr.strip().removeprefix("slicesort_train: ") or f"the training program ended with status {completed.returncode}"
            raise (UsageError if completed.returncode == 2 else Failed)(message)

    def ensure_all(self, settings: list[dict[str, str]], seeds: int) -> list[list[tuple[Run, Result]]]:
        """Trains missing runs. Returns a list for each of `settings`, with the runs of seeds 1, 2, .."""
        for flags in settings:
            self.check_flags(flags)
        work = [(flags, seed) for flags in settings for seed in range(1, seeds + 1)]
        for index, (flags, seed) in enumerate(work, 1):
            self.ensure(flags, seed, f"[{index}/{len(work)}] " if len(work) > 1 else "")
        return [self.load(flags, seeds) for flags in settings]

    def load(self, flags: dict[str, str], seeds: int) -> list[tuple[Run, Result]]:
        """Returns the runs of seeds 1, 2, .. with their results, which are empty if a run has not begun."""
        runs = [self.run_of(flags, seed) for seed in range(1, seeds + 1)]
        return [(run, run.result()) for run in runs]

    def ensure(self, flags: dict[str, str], seed: int, prefix: str = "") -> Run:
        """Trains or resumes a run that is not finished. With a `prefix`, prints a summary instead of the program's output."""
        run = self.run_of(flags, seed)
        before = run.result()
        if before.complete or (self.minutes and before.seconds >= 60 * self.minutes):
            print(f"{prefix}{run.folder.name}: done before", file=sys.stderr)
            return run
        run.folder.mkdir(parents=True, exist_ok=True)
        command = self.command(run) + ["--checkpoint", str(run.checkpoint), "--run-log", str(run.log)]
        if self.minutes:
            command += ["--minutes", f"{self.minutes - before.seconds / 60:.6g}"]
        if "save-every" not in flags:
            command += ["--save-every", "500"]
        print(f"{prefix}{run.folder.name}:", file=sys.stderr, flush=True)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL if prefix else 2) as process:  # 2: stdout is for results
            try:
                status = process.wait()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)  # asks it to write its checkpoint; without a terminal, Ctrl-C has not reached it
                process.wait()
                raise
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        if status not in (0, OUT_OF_TIME):
            raise Failed(f"the training program ended with status {status}")
        if prefix and (after := run.result()).test:
            print(f"  accuracy {100 * after.accuracy:.1f} % after {after.step} steps, {after.seconds / 60:.1f} min", file=sys.stderr, flush=True)
        return run

    def accuracy_of(self, run: Run, samples: int) -> float:
        """Tests a finished run again, on this number of samples."""
        with tempfile.TemporaryDirectory() as folder:
            checkpoint, log = shutil.copy(run.checkpoint, folder), Path(folder) / "log.jsonl"
            tested = Run({**run.flags, "test-samples": str(samples)}, run.seed, run.folder)
            output_of(*self.command(tested), "--checkpoint", checkpoint, "--run-log", log)
            return read_run_log(log).accuracy


def mean_and_spread(values: list[float]) -> tuple[float, float | None]:
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None
