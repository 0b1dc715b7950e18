# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of training steps of whole models, and of the same models in PyTorch if it is installed."""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from .build import Failed, output_of
from .presets import flags_of, preset
from .runs import Runs, read_run_log
from .tables import Table

MODELS = ("sort-ascending", "csp", "chord", "softmax", "none")
LENGTHS = (1000, 2000, 4000)


def measure_ours(runs: Runs, model: str, length: int, extra: dict[str, str]) -> tuple[float, float, int]:
    """Returns tokens per second, megabytes of a step and the parameters, and the number of parameters."""
    flags = flags_of("sliceformer/speed", None, model, {"length": str(length), **extra})
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        run = runs.run_of(flags, 1)
        output_of(*runs.command(run), "--run-log", log)
        result = read_run_log(log)
    rates = [entry["steps_per_second"] for entry in result.train[1:]]  # the first step is slower, since it touches new memory
    return statistics.median(rates) * int(flags["batch"]) * length, result.start["memory_bytes"] / 1e6, result.start["parameters"]


def measure_in_torch(model: str, length: int, threads: int, parameters: int) -> tuple[float, float] | None:
    """Returns tokens per second and megabytes of the same model in torch_models.py, or None if it does not exist there."""
    if model not in MODELS:
        return None
    flags = preset("sliceformer/speed")["flags"]
    words = [sys.executable, str(Path(__file__).with_name("torch_models.py")), model, str(length)]
    words += [str(flags[name]) for name in ("width", "hidden", "layers", "heads", "batch", "head-hidden", "mixer-hidden")]
    completed = subprocess.run([*words, str(threads)], capture_output=True, encoding="utf-8", check=False)
    if completed.returncode != 0:
        reason = "killed, as a process that needs more than the memory there is" if completed.returncode == -signal.SIGKILL else "failed"
        print(f"torch, {model}, {length}: {completed.stderr.strip().splitlines()[-1] if completed.stderr.strip() else reason}", file=sys.stderr)
        return None
    measured = json.loads(completed.stdout)
    if measured["parameters"] != parameters:
        raise Failed(f"{model} has {parameters} parameters here and {measured['parameters']} in torch: they are not the same model")
    return measured["tokens_per_second"], measured["megabytes"]


def make_table(runs: Runs, models: list[str] | None, lengths: list[int] | None, torch: bool, extra: dict[str, str]) -> Table:
    lengths = lengths or list(LENGTHS)
    # One explicit number, since the defaults of the two programs differ.
    runs = Runs(runs.program, runs.results, runs.minutes, runs.threads or len(os.sched_getaffinity(0)), runs.data)
    for model in models or MODELS:
        runs.check_flags(flags_of("sliceformer/speed", None, model, {"length": str(min(lengths)), **extra}))
    rows = []
    for model in models or MODELS:
        for length in lengths:
            print(f"speed: {model}, {length} rows, {runs.threads} threads", file=sys.stderr)
            try:
                speed, memory, parameters = measure_ours(runs, model, length, extra)
            except Failed as error:
                print(f"{model}, {length}: {error}", file=sys.stderr)
                rows.append([model, str(length), "failed", "", "", "", ""])
                continue
            torch_result = measure_in_torch(model, length, runs.threads, parameters) if torch else None
            rows.append([model, str(length), f"{speed:,.0f}", f"{memory:.0f}",
                         *([f"{torch_result[0]:,.0f}", f"{torch_result[1]:.0f}", f"{speed / torch_result[0]:.2f}"] if torch_result else ["", "", ""])])
    if all(row[2] == "failed" for row in rows):
        raise Failed("nothing was measured")
    notes = ["Training steps (forward, backward, Adam) of whole models of the preset sliceformer/speed: 4 layers, width 256, 8 samples, "
             f"float, {runs.threads} threads. Medians of the steps after the first. Memory is what a step needs, with parameters and moments; "
             "torch's is the growth of its process."]
    if torch:
        notes.append("PyTorch has the same layers: torch.sort for sort-ascending, scaled_dot_product_attention for softmax, "
                     "gather and sort for csp, roll for every link of chord.")
    return Table("Speed of training", notes, ["model", "rows", "tokens/s", "MB", "torch: tokens/s", "torch: MB", "ours : torch"], rows)
