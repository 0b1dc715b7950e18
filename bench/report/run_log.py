# SPDX-License-Identifier: Apache-2.0
"""Log of an arena run, from which an interrupted run resumes. Converts a log to a file of results."""
import json
import sys
from pathlib import Path

from .results import parse_case, replace_file


class RunLog:
    """A file next to the results, with a line per result. Only a run with the same programs, text and settings resumes from it."""

    def __init__(self, path: Path, key: dict, fresh: bool) -> None:
        self.path, self.lines = path, []
        if path.exists() and not fresh:
            self.lines = self._read(key)
        if not self.lines:
            self.lines = [{"key": key}]
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, json.dumps(self.lines[0]) + "\n")

    def _read(self, key: dict) -> list[dict]:
        lines, text = [], self.path.read_text(encoding="utf-8")
        for line in text.splitlines(keepends=True):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                break  # truncated line
            if not isinstance(found, dict):
                break
            lines.append(found)
        if not lines or lines[0].get("key") != key:
            print("  the log of an earlier run has another program, text or setting: starting over", file=sys.stderr)
            return []
        if len(lines) != len(text.splitlines()) or not text.endswith("\n"):
            replace_file(self.path, "".join(json.dumps(line) + "\n" for line in lines))
        return lines

    def add(self, *lines: dict) -> None:
        """Writes all lines at once, so that an interruption does not part the cases of a group."""
        self.lines += lines
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))

    def has_all_cases(self, part: str, group: str, cases: set[str]) -> bool:
        """True if a part of the log has all cases of a group. Incomplete groups are timed again, because only cases of the same
        rounds are comparable."""
        return {line["case"]["name"] for line in self.lines if line.get("group") == group and line["part"] == part} >= cases

    def results(self, part: str) -> tuple[dict, list[dict]]:
        """Returns the context and the last result of every case. `part` is host, cuda, torch, or against-host, against-cuda."""
        context: dict = {}
        cases: dict[str, dict] = {}
        for line in self.lines[1:]:
            if line["part"] == part and "context" in line:
                context = context or line["context"]
            elif line["part"] == part:
                cases[line["case"]["name"]] = line["case"]
        return context, list(cases.values())


def to_benchmark_rows(result: dict) -> list[dict]:
    """Converts a result to the format of Google Benchmark, one row per round."""
    case = parse_case(result["name"])
    if "failed" in result:
        return [{"name": case.name, "run_type": "iteration", "error_occurred": True, "error_message": result["failed"]}]
    rows = []
    for seconds in result["seconds"]:
        row = {"name": case.name, "run_type": "iteration", "iterations": result.get("calls", 1), "real_time": seconds * 1e6,
               "cpu_time": seconds * 1e6, "time_unit": "us", "ns_per_element": seconds / case.elements * 1e9,
               "items_per_second": case.elements / seconds, "tokens_per_second": case.b * case.n / seconds}
        for key in ("max_error", "peak_bytes", "saved_bytes", "workspace_bytes", "copy_bytes_per_second", "peak_flops_per_second",
                    "turn"):
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


def write_results(path: Path, run_log: RunLog, part: str, more_context: dict) -> None:
    context, results = run_log.results(part)
    # A roof is the best rate measured in the run.
    for key, roof_of in (("copy_bytes_per_second", lambda case: case.t), ("peak_flops_per_second", lambda case: case.dtype)):
        best: dict = {}
        measured = [(result, roof_of(parse_case(result["name"]))) for result in results if key in result]
        for result, roof in measured:
            best[roof] = max(best.get(roof, 0.0), result[key])
        for result, roof in measured:
            result[key] = best[roof]
    if results:
        rows = [row for result in results for row in to_benchmark_rows(result)]
        replace_file(path, json.dumps({"context": {**context, **more_context}, "benchmarks": rows}, indent=1))
