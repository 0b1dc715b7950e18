#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch beside this library. For the arena: `Peers` times its forms between the library's rounds. On its own, on a
GPU: peers.py RESULTS.json PEERS.json reads the cases of the one and writes the peers' into the other, for report.py and
targets.py to join. Without torch or a GPU it says so and writes an empty list."""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from .arena_table import rows_of, time_of
from .contestants import DIRECTIONS, torch_forms_of
from .results import BadResults, Case, case_named, load, read, run_main, size, table
from .verdicts import paired

WARM_UPS, REPEATS = 3, 15
FLUSH_BYTES = 256 << 20


def obstacle() -> str:
    try:
        import torch
    except ImportError as error:
        return f"no torch ({error})"
    return "" if torch.cuda.is_available() else "torch sees no GPU"


class Stopwatch:
    """Device events around a call, with the L2 cache flushed before it."""

    def __init__(self) -> None:
        import torch
        self.torch = torch
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds(self, run) -> float:
        times = []
        for _ in range(WARM_UPS + REPEATS):
            self.flush.zero_()
            self.start.record()
            run()
            self.stop.record()
            self.stop.synchronize()
            times.append(self.start.elapsed_time(self.stop) * 1e-3)
        return statistics.median(times[WARM_UPS:])


def attention_of(case: Case):
    """One direction of torch's fused attention."""
    import torch
    from .torch_forms import forms_of
    form = next(iter(forms_of(case)))
    if case.direction == "forward":
        return form.call
    leaves = [leaf.requires_grad_() for leaf in form.leaves]
    y = form.call()
    dy = torch.rand_like(y)
    return lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True)


def peers_of(case: Case):
    """(subject, function) for every peer of the case, on fresh tensors of its shape."""
    import torch
    if case.subject == "softmax_attention":
        yield "baseline_torch_sdpa_flash", attention_of(case)
        return
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[case.dtype]
    x = torch.randn((case.b, case.n, case.c), dtype=torch.float32, device="cuda").to(dtype)
    if case.subject == "sparse_mix":
        from .torch_forms import mixes
        for form in mixes(case, x):
            yield f"baseline_{form.name}", form.call
    elif case.direction == "forward":
        yield "baseline_torch_sort", lambda: torch.sort(x, dim=1)
        yield "baseline_torch_stable_sort", lambda: torch.sort(x, dim=1, stable=True)
    else:
        rows = torch.sort(x, dim=1, stable=True).indices
        dx = torch.empty_like(x)
        yield "baseline_torch_scatter", lambda: dx.scatter_(1, rows, x)


def measure(cases: dict[str, Case]) -> list[dict]:
    import torch
    stopwatch, rows = Stopwatch(), []
    for case in cases.values():
        directions = {"slicing_sort": ("forward", "backward"), "sparse_mix": ("forward_values",)}
        if case.policy == "streaming-full-H:16" and case.dtype == "bf16":
            directions["softmax_attention"] = ("forward", "backward")
        wanted = (case.backend == "cuda" and case.input == "normal" and case.dtype in ("f32", "bf16")
                  and case.direction in directions.get(case.subject, ()) and not case.policy.endswith(("none-M:6", "initial-M:6")))
        if not wanted:
            continue
        for subject, run in peers_of(case):
            try:
                seconds = stopwatch.seconds(run)
            except torch.OutOfMemoryError:
                print(f"peers: {case.beside(subject)} does not fit the GPU's memory", file=sys.stderr)
                continue
            rows.append({"name": case.beside(subject), "run_type": "iteration", "iterations": REPEATS,
                         "real_time": seconds * 1e6, "time_unit": "us", "ns_per_element": seconds / case.elements * 1e9,
                         "items_per_second": case.elements / seconds})
        torch.cuda.empty_cache()
    return rows


def python_with_torch(folder: Path) -> str:
    """The Python of a virtual environment that has torch; made and filled if it is not there."""
    python = str(folder / "bin" / "python")
    if not folder.exists() or subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"  installing torch in {folder} (5 GB)", file=sys.stderr, flush=True)
        for command in ([sys.executable, "-m", "venv", str(folder)], [python, "-m", "pip", "install", "--quiet", "torch", "numpy"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise BadResults(f"torch cannot be installed: {(done.stderr or done.stdout).strip()[-500:]}")
    return python


class Peers:
    """A worker that times torch's forms of a group of cases, a turn whenever it is asked. Ours waits meanwhile."""

    def __init__(self, python: str) -> None:
        self.worker = subprocess.Popen([python, "-m", "report.peers_worker"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        self.context = self._answer()["context"]

    def _answer(self) -> dict:
        line = self.worker.stdout.readline()
        if not line:
            raise BadResults(f"torch's process ended (status {self.worker.wait()})")
        return json.loads(line)

    def _ask(self, **what) -> dict:
        self.worker.stdin.write(json.dumps(what) + "\n")
        self.worker.stdin.flush()
        return self._answer()

    def begin(self, cases: list[str]) -> None:
        self._ask(begin=cases)

    def turn(self) -> None:
        self._ask(turn=True)

    def end(self) -> list[dict]:
        return self._ask(end=True)["results"]

    def close(self) -> None:
        self.worker.kill()
        self.worker.wait()


def table_of_peers(results: list[str], torch_results: str) -> None:
    """Ours beside torch's, as timed in the same rounds."""
    context, raw = read(torch_results)
    theirs: dict[str, list[dict]] = {}
    for run in raw:
        theirs.setdefault(run["name"], []).append(run)
    lines = [["operator", "direction", "dtype", "B x N x C", "torch", "ours", "torch's", "ours is as fast", "verdict", "ours kept", "torch's peak"]]
    for row in (row for path in results for row in rows_of(path)[1] if not row.failed):
        for form in torch_forms_of(row.case):
            runs = theirs.get(row.case.beside(f"baseline_{form}"))
            if not runs:
                continue
            case = case_named(runs[0]["name"])
            front = [row.who.label, DIRECTIONS[row.case.direction], row.case.dtype, f"{case.b}x{case.n}x{case.c}",
                     case.subject.removeprefix("baseline_torch_"), time_of(row.seconds)]
            if runs[0].get("error_occurred"):
                why = runs[0]["error_message"]
                lines.append(front + ["OOM" if why == "out of memory" else "FAILED", "", "", "", ""])
                continue
            case.runs = runs
            ratio = paired(case.times(), row.case.times())
            peak = runs[0].get("peak_bytes")
            lines.append(front + [time_of(case.median("ns_per_element") * case.elements * 1e-9), str(ratio), ratio.verdict,
                                  size(row.value("saved_bytes") or 0), size(peak) if peak else ""])
    print(table(lines, left=5))
    print(f"torch {context.get('torch')}, {context.get('threads')} thread, {context.get('gpu') or 'no GPU'}: its turn comes before each of "
          "our rounds, in a process of its own, while ours waits.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("peers")
    arguments = parser.parse_args()
    why_not = obstacle()
    context, rows = {}, []
    if why_not:
        print(f"peers: torch is left out: {why_not}")
    else:
        import torch
        context = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name()}
        rows = measure(load(arguments.results)[1])
    try:
        with open(arguments.peers, "w", encoding="utf-8") as file:
            json.dump({"context": context, "benchmarks": rows}, file, indent=1)
    except OSError as error:
        raise BadResults(f"cannot write {arguments.peers}: {error}") from error
    return 0


if __name__ == "__main__":
    run_main(main)
