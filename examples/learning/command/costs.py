# SPDX-License-Identifier: Apache-2.0
"""Processor time and memory of whole models, in training and in inference, with one thread. Other programs, which share the
caches, change processor time less than time, so that it can be measured beside one of them, but not on a crowded machine.
docs/learning/results/costs.json has the stored values."""
import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from .build import Failed
from .options import ROOT, UsageError
from .presets import flags_of, preset
from .runs import Runs
from .stored import is_same, read_entries, write_entry
from .tables import Table

STORED = ROOT / "docs/learning/results/costs.json"
PRESET, STEPS = "sliceformer/speed", 2
LENGTHS = (1000, 2000, 3000, 4000)
FILE_TASKS = ("listops-tsv", "imdb", "aan", "cifar10", "mnist")  # have no flag --test-samples
MODELS = ("sort-ascending", "softmax", "softmax-strided", "linear-transformer", "reformer", "sinkformer", "softmax-fixed", "sinkhorn-transformer",
          "linformer-google", "performer-google", "synthesizer", "softmax-window", "softmax-bigbird", "cosformer")


@dataclass
class Usage:
    """Processor seconds of a finished process, and the largest memory that it had, in bytes."""
    seconds: float
    peak: int


def usage_of(command: list[str]) -> Usage:
    with tempfile.TemporaryFile() as errors:  # a pipe could fill up
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            last_line = (errors.read().decode(errors="replace").strip().splitlines() or ["no message"])[-1]
            raise Failed(f"the training program ended with status {process.returncode}, {last_line}: {' '.join(command)}")
    return Usage(used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)


def require_measurable(name: str) -> None:
    """Raises an error if the preset's task is read from files, whose number of tests is fixed: `measure` needs different ones."""
    if (task := preset(name)["flags"].get("task")) in FILE_TASKS:
        raise UsageError(f"preset {name} has the task {task}, which is read from files: only costs of generated tasks can be measured")


def measure(runs: Runs, flags: dict[str, str], steps: int) -> dict[str, float]:
    """Returns processor seconds of a step of training and of a batch of inference, and the peak memory of the process in
    bytes. The seconds are differences of runs, without the start of the program and the first step."""
    batch, single = int(flags["batch"]), Runs(runs.program, runs.results, None, 1, runs.data)

    def run(train: int, test: int) -> Usage:
        changed = {**flags, "steps": str(train), "test-every": "0", "test-samples": str(batch * test)}
        return usage_of(single.command(single.run_of(changed, 1)))
    once, trained, tested = run(1, 1), run(1 + steps, 1), run(1, 1 + 2 * steps)
    return {"training seconds": (trained.seconds - once.seconds) / steps, "inference seconds": (tested.seconds - once.seconds) / (2 * steps),
            "peak bytes": trained.peak}


def table(entries: list[dict]) -> Table:
    """Returns the table of the measured models and lengths."""
    found = sorted((entry for entry in entries if entry["preset"] == PRESET),
                   key=lambda entry: ([*MODELS, entry["model"]].index(entry["model"]), int(entry["settings"]["length"])))
    rows = [[f"`{entry['model']}`", f"{int(entry['settings']['length']):,}", f"{entry['tokens'] / entry['training seconds']:,.0f}",
             f"{entry['tokens'] / entry['inference seconds']:,.0f}", f"{entry['peak bytes'] / 1e6:,.0f}"] for entry in found]
    return Table("Processor time and memory", [
        f"Whole models of the preset {PRESET}: 4 layers, width 256, 8 samples, float, one thread. Tokens per second of processor time; the memory is the "
        "peak of the whole process in training."], ["model", "rows", "training: tokens/s", "inference: tokens/s", "peak MB"], rows)


def make_table(o: argparse.Namespace, runs: Runs, origin: str) -> Table:
    """Measures what costs.json does not have, and updates it after each model."""
    path = o.results / "costs.json"
    cases = [(model, {"length": str(length), **dict(o.set)}) for length in o.lengths or LENGTHS for model in o.models or MODELS]
    for model, settings in cases:
        runs.check_flags(flags_of(PRESET, None, model, settings))
    for model, settings in cases:
        entry, flags = {"preset": PRESET, "model": model, "settings": settings}, flags_of(PRESET, None, model, settings)
        if not any(is_same(entry, other) for other in read_entries(path)):
            print(f"costs: {model}, {settings['length']} rows", file=sys.stderr)
            entry |= {"tokens": int(flags["batch"]) * int(flags["length"]), **measure(runs, flags, STEPS)}
            write_entry(path, {**entry, "origin": origin, "command": " ".join(["examples/learning/run", *sys.argv[1:]])})
    return table(read_entries(path))


if __name__ == "__main__":
    print(table(read_entries(STORED)).markdown())
