# SPDX-License-Identifier: Apache-2.0
"""What a run of the arena has finished so far, and how that becomes a file of results."""
import json
import sys
from pathlib import Path

from .results import case_named


class Journal:
    """A file beside the results with a line for everything finished. It is used only by a run with the same programs,
    text and settings."""

    def __init__(self, path: Path, key: dict, fresh: bool) -> None:
        self.path, self.lines = path, []
        if path.exists() and not fresh:
            self.lines = self._read(key)
        if not self.lines:
            self.lines = [{"key": key}]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.lines[0]) + "\n", encoding="utf-8")

    def _read(self, key: dict) -> list[dict]:
        lines, text = [], self.path.read_text(encoding="utf-8")
        for line in text.splitlines(keepends=True):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                break  # cut off in the middle
            if not isinstance(found, dict):
                break
            lines.append(found)
        if not lines or lines[0].get("key") != key:
            print("  what an earlier run left is of another program, text or setting: starting anew", file=sys.stderr)
            return []
        if len(lines) != len(text.splitlines()) or not text.endswith("\n"):
            self.path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return lines

    def add(self, line: dict) -> None:
        self.lines.append(line)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def finished(self, group: str, cases: set[str]) -> bool:
        """Whether all cases of a group are there. Else it is timed again: only cases of the same rounds may be compared."""
        return {line["case"]["name"] for line in self.lines if line.get("group") == group} >= cases

    def results(self, part: str) -> tuple[dict, list[dict]]:
        """The context, and the last result of every case."""
        context: dict = {}
        cases: dict[str, dict] = {}
        for line in self.lines[1:]:
            if line["part"] == part and "context" in line:
                context = context or line["context"]
            elif line["part"] == part:
                cases[line["case"]["name"]] = line["case"]
        return context, list(cases.values())


def rows_of_result(result: dict) -> list[dict]:
    """A result as Google Benchmark would write it, a row each round."""
    case = case_named(result["name"])
    if "failed" in result:
        return [{"name": case.name, "run_type": "iteration", "error_occurred": True, "error_message": result["failed"]}]
    rows = []
    for seconds in result["seconds"]:
        row = {"name": case.name, "run_type": "iteration", "iterations": result.get("calls", 1), "real_time": seconds * 1e6,
               "cpu_time": seconds * 1e6, "time_unit": "us", "ns_per_element": seconds / case.elements * 1e9,
               "items_per_second": case.elements / seconds, "tokens_per_second": case.b * case.n / seconds}
        for key in ("max_error", "peak_bytes", "saved_bytes", "workspace_bytes", "copy_bytes_per_second", "peak_flops_per_second"):
            if key in result:
                row[key] = result[key]
        if "traffic_bytes" in result:
            row["bytes_per_second"] = result["traffic_bytes"] / seconds
            row["share_of_copy"] = row["bytes_per_second"] / result["copy_bytes_per_second"]
        if result.get("flops"):
            row["flops_per_second"] = result["flops"] / seconds
            row["share_of_peak"] = row["flops_per_second"] / result["peak_flops_per_second"]
            row["flops_per_byte"] = result["flops"] / result["traffic_bytes"]
        rows.append(row)
    return rows


def write_results(path: Path, journal: Journal, part: str, more: dict) -> None:
    context, results = journal.results(part)
    # A roof is what the machine did best, whenever in the run that was.
    for key, alike in (("copy_bytes_per_second", lambda case: case.t), ("peak_flops_per_second", lambda case: case.dtype)):
        best: dict = {}
        for result in (r for r in results if key in r):
            of = alike(case_named(result["name"]))
            best[of] = max(best.get(of, 0.0), result[key])
        for result in (r for r in results if key in r):
            result[key] = best[alike(case_named(result["name"]))]
    if results:
        rows = [row for result in results for row in rows_of_result(result)]
        path.write_text(json.dumps({"context": {**context, **more}, "benchmarks": rows}, indent=1), encoding="utf-8")
