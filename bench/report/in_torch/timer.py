# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch in a separate process. The arena times PyTorch implementations before each of its rounds. For --targets,
python3 -m report.in_torch.timer RESULTS.json TORCH.json times implementations of the GPU cases in RESULTS.json and writes TORCH.json.
Without torch or a GPU it writes an empty list."""
import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
from pathlib import Path

from ..arena_table import Row
from ..entries import torch_implementations_of
from ..ratios import speedup
from ..results import BadResults, Case, format_bytes, format_seconds, format_table, load, replace_file, run_main
from ..run_log import to_benchmark_rows

ROUNDS = 6
TORCH_REQUIREMENT = "torch==2.11.0"  # installed unless python3 has any torch


def python_with_torch(folder: Path) -> str:
    """Returns this Python if it has torch, else the Python of a virtual environment, where torch is installed if necessary."""
    if importlib.util.find_spec("torch"):
        return sys.executable
    python = str(folder / "bin" / "python")
    if not folder.exists() or subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        print(f"  installing torch in {folder} (5 GB)", file=sys.stderr, flush=True)
        for command in ([sys.executable, "-m", "venv", str(folder)], [python, "-m", "pip", "install", "--quiet", TORCH_REQUIREMENT, "numpy"]):
            process = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
            if process.returncode != 0:
                raise BadResults(f"torch cannot be installed: {(process.stderr or process.stdout).strip()[-500:]}")
    return python


class TorchTimer:
    """A worker process that times torch implementations of a group of cases, one round per request."""

    def __init__(self, python: str) -> None:
        self.worker = subprocess.Popen([python, "-m", "report.in_torch.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
        self.context = self._read_reply()["context"]

    def _read_reply(self) -> dict:
        line = self.worker.stdout.readline()
        if not line:
            raise BadResults(f"torch's process ended (status {self.worker.wait()})")
        return json.loads(line)

    def _request(self, **message) -> dict:
        self.worker.stdin.write(json.dumps(message) + "\n")
        self.worker.stdin.flush()
        return self._read_reply()

    def begin_group(self, cases: list[str]) -> None:
        self._request(begin=cases)

    def time_round(self) -> None:
        self._request(round=True)

    def end_group(self) -> list[dict]:
        return self._request(end=True)["results"]

    def close(self) -> None:
        self.worker.kill()
        self.worker.wait()


def print_torch_table(rows: list[Row], torch_results: str) -> None:
    """Prints the operators next to their torch implementations, timed in the same rounds."""
    context, torch_cases = load(torch_results)
    lines = [["operator", "direction", "dtype", "B x N x C", "torch", "time", "torch time", "times as fast", "outcome", "kept", "torch peak"]]
    for row in (row for row in rows if not row.case.failure):
        for implementation in torch_implementations_of(row.case):
            case = torch_cases.get(row.case.name_with_subject(f"baseline_{implementation}"))
            if case is None:
                continue
            front = [row.label, row.direction, case.dtype, case.shape, implementation.removeprefix("torch_"), format_seconds(row.case.seconds)]
            if case.failure:
                lines.append(front + [case.failure_label, "", "", "", ""])
                continue
            ratio = speedup(case, row.case)
            peak = case.value("peak_bytes")
            lines.append(front + [format_seconds(case.seconds), str(ratio), ratio.outcome, format_bytes(row.case.value("saved_bytes") or 0),
                                  format_bytes(peak) if peak else ""])
    print(format_table(lines, left_columns=5))
    print(f"torch {context.get('torch')}, {context.get('threads')} thread, {context.get('gpu') or 'no GPU'}: timed in a separate process, "
          "before each round, on normal noise, whatever the input of the operators is. Its calls allocate their outputs, and the operators "
          "reuse theirs.")


def needs_torch_time(case: Case) -> bool:
    """True if a target may need the time of torch for this case."""
    directions = {"slicing_sort": ("forward",), "sparse_mix": ("forward_values",), "softmax_attention": ("forward", "backward")}
    return (case.backend == "cuda" and case.input == "normal" and case.dtype in ("f32", "bf16")
            and case.direction in directions.get(case.subject, ()) and not case.policy.endswith(("none-M:6", "initial-M:6")))


def time_targets(results: str) -> tuple[dict, list[dict]]:
    torch = TorchTimer(sys.executable)
    try:
        torch.begin_group([case.name for case in load(results)[1].values() if needs_torch_time(case)])
        for _ in range(ROUNDS):
            torch.time_round()
        timed_results = torch.end_group()
    finally:
        torch.close()
    for result in timed_results:  # one row per case
        if "seconds" in result:
            result["seconds"] = [statistics.median(result["seconds"])]
    return torch.context, [row for result in timed_results for row in to_benchmark_rows(result)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("torch_results", type=Path)
    arguments = parser.parse_args()
    process = subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available(), 'torch sees no GPU'"],
                             capture_output=True, encoding="utf-8", check=False)
    context, rows = {}, []
    if process.returncode == 0:
        context, rows = time_targets(arguments.results)
    else:
        print(f"torch is not timed: {(process.stderr.strip() or f'status {process.returncode}').splitlines()[-1]}")
    replace_file(arguments.torch_results, json.dumps({"context": context, "benchmarks": rows}, indent=1))
    return 0


if __name__ == "__main__":
    run_main(main)
