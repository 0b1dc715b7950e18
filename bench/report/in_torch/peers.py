# SPDX-License-Identifier: Apache-2.0
"""PyTorch beside this library, in a process of its own. The arena times its forms before each of our rounds; for
--targets, python3 -m report.in_torch.peers RESULTS.json TORCH.json times the forms of the GPU's cases in the first file and writes
the times to the second. Without torch or a GPU it says so and writes an empty list."""
import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
from pathlib import Path

from ..arena_table import Row
from ..contestants import torch_forms_of
from ..journal import rows_of_result
from ..results import BadResults, Case, load, run_main, size, table, time_of
from ..verdicts import paired

ROUNDS = 6
TORCH = "torch==2.11.0"  # the one place that says which; a python3 that has another is taken as it is


def python_with_torch(folder: Path) -> str:
    """This Python, or that of a virtual environment that has torch; made and filled if it is not there."""
    if importlib.util.find_spec("torch"):
        return sys.executable
    python = str(folder / "bin" / "python")
    if not folder.exists() or subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"  installing torch in {folder} (5 GB)", file=sys.stderr, flush=True)
        for command in ([sys.executable, "-m", "venv", str(folder)], [python, "-m", "pip", "install", "--quiet", TORCH, "numpy"]):
            done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
            if done.returncode != 0:
                raise BadResults(f"torch cannot be installed: {(done.stderr or done.stdout).strip()[-500:]}")
    return python


class Peers:
    """A worker that times torch's forms of a group of cases, once whenever it is asked. Our program waits meanwhile."""

    def __init__(self, python: str) -> None:
        self.worker = subprocess.Popen([python, "-m", "report.in_torch.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
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

    def time_round(self) -> None:
        self._ask(round=True)

    def end(self) -> list[dict]:
        return self._ask(end=True)["results"]

    def close(self) -> None:
        self.worker.kill()
        self.worker.wait()


def table_of_peers(ours: list[Row], torch_results: str) -> None:
    """Ours beside torch's, as timed in the same rounds."""
    context, theirs = load(torch_results)
    lines = [["operator", "direction", "dtype", "B x N x C", "torch", "ours", "torch's", "ours is as fast", "verdict", "ours kept", "torch's peak"]]
    for row in (row for row in ours if not row.case.failed):
        for form in torch_forms_of(row.case):
            case = theirs.get(row.case.beside(f"baseline_{form}"))
            if case is None:
                continue
            front = [row.label, row.direction, case.dtype, case.shape, form.removeprefix("torch_"), time_of(row.case.seconds)]
            if case.failed:
                lines.append(front + ["OOM" if case.failed == "out of memory" else "FAILED", "", "", "", ""])
                continue
            ratio = paired(case.times(), row.case.times())
            peak = case.value("peak_bytes")
            lines.append(front + [time_of(case.seconds), str(ratio), ratio.verdict, size(row.case.value("saved_bytes") or 0),
                                  size(peak) if peak else ""])
    print(table(lines, left=5))
    print(f"torch {context.get('torch')}, {context.get('threads')} thread, {context.get('gpu') or 'no GPU'}: timed before each of our rounds, "
          "in a process of its own, while ours waits.")


def has_peer(case: Case) -> bool:
    """Whether a target may ask for torch's time of this case."""
    directions = {"slicing_sort": ("forward",), "sparse_mix": ("forward_values",), "softmax_attention": ("forward", "backward")}
    return (case.backend == "cuda" and case.input == "normal" and case.dtype in ("f32", "bf16")
            and case.direction in directions.get(case.subject, ()) and not case.policy.endswith(("none-M:6", "initial-M:6")))


def time_targets(results: str) -> tuple[dict, list[dict]]:
    peers = Peers(sys.executable)
    try:
        peers.begin([case.name for case in load(results)[1].values() if has_peer(case)])
        for _ in range(ROUNDS):
            peers.time_round()
        found = peers.end()
    finally:
        peers.close()
    for result in found:  # one row each, as our program writes
        if "seconds" in result:
            result["seconds"] = [statistics.median(result["seconds"])]
    return peers.context, [row for result in found for row in rows_of_result(result)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("torch_results", type=Path)
    arguments = parser.parse_args()
    ready = subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available(), 'torch sees no GPU'"],
                           capture_output=True, encoding="utf-8", check=False)
    context, rows = {}, []
    if ready.returncode == 0:
        context, rows = time_targets(arguments.results)
    else:
        print(f"torch is left out: {(ready.stderr.strip() or f'status {ready.returncode}').splitlines()[-1]}")
    arguments.torch_results.write_text(json.dumps({"context": context, "benchmarks": rows}, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    run_main(main)
