# SPDX-License-Identifier: Apache-2.0
"""Reads the results of the bench programs. python3 -m report.results ALL.json [PART.json ...] merges the results of several runs
of a program; unreadable files of stopped runs are ignored."""
import json
import os
import re
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CASE_NAME = re.compile(
    r"(?P<subject>[^/@]+(@\w+)?)/(?P<backend>\w+)/(?P<direction>\w+)/(?P<dtype>\w+)/(?P<policy>[\w:-]+)"
    r"/(?P<input>\w+)/B:(?P<b>\d+)/N:(?P<n>\d+)/C:(?P<c>\d+)(/T:(?P<t>\d+))?(/manual_time)?$")


TYPES = {"f32": "float", "f64": "double", "bf16": "bfloat16", "f16": "float16"}


@dataclass
class Case:
    """One case with its repetitions."""
    name: str
    subject: str  # with the forced instruction set, if any: slicing_sort@avx2
    backend: str  # host or cuda
    direction: str
    dtype: str
    policy: str
    input: str
    b: int
    n: int
    c: int
    t: int
    runs: list[dict] = field(default_factory=list)
    failure: str = ""  # the error, if there are no runs

    @property
    def elements(self) -> int:
        return self.b * self.n * self.c

    @property
    def shape(self) -> str:
        return f"{self.b}x{self.n}x{self.c}"

    @property
    def heads(self) -> int:
        """Heads of attention; 0 for other operators."""
        return int(self.policy.partition("-H:")[2] or 0)

    @property
    def rows_per_group(self) -> int:
        """Rows per group of csp; 0 for other operators."""
        rows = self.policy.partition("-G:")[2]
        return self.n if rows == "N" else int(rows or 0)

    def times(self, clock: str = "wall") -> list[float]:
        """Nanoseconds per element of each repetition. The CPU clock measures only the calling thread."""
        if clock == "cpu":
            unit = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
            return [run["cpu_time"] * unit[run["time_unit"]] / self.elements for run in self.runs]
        return [run["ns_per_element"] for run in self.runs]

    @property
    def seconds(self) -> float:
        """Median time per call."""
        return statistics.median(self.times()) * self.elements * 1e-9

    @property
    def turn(self) -> int:
        """0, or the number of the later turn that timed the case, if it did not fit in memory together with the others."""
        return self.runs[0].get("turn", 0) if self.runs else 0

    @property
    def failure_label(self) -> str:
        return "OOM" if self.failure == "out of memory" else "FAILED" if self.failure else ""

    def value(self, counter: str) -> float | None:
        """Median of a counter; None if it was not measured."""
        return self.median(counter) if self.runs and counter in self.runs[0] else None

    @property
    def operations(self) -> float:
        """Number of sums and products per call; 0 if unknown."""
        first = self.runs[0]
        return first.get("flops_per_second", 0.0) * first["ns_per_element"] * self.elements * 1e-9

    def median(self, counter: str) -> float:
        return statistics.median(run[counter] for run in self.runs)

    def name_with_subject(self, subject: str) -> str:
        """Returns the name of the case of another subject with the same parameters."""
        return subject + self.name[len(self.subject):]


class BadResults(Exception):
    """A file without valid results, or a missing case."""


def parse_case(name: str) -> Case | None:
    """Parses the name of a case. Returns the case without runs, or None."""
    match = CASE_NAME.match(name)
    if not match:
        return None
    sizes = (int(match[key] or 1) for key in ("b", "n", "c", "t"))
    return Case(name.removesuffix("/manual_time"),  # added by Google Benchmark
                *(match[key] for key in ("subject", "backend", "direction", "dtype", "policy", "input")), *sizes)


def load(*paths: str) -> tuple[dict, dict[str, Case]]:
    """Loads files of results. Returns the context of the first file, and the cases of all files by name, in the order of the runs."""
    contexts, cases = [], {}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            contexts.append(dict(data["context"]))
            for row in data["benchmarks"]:
                add_row(cases, row)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise BadResults(f"cannot read results from {path}: {error}") from error
    return contexts[0], cases


def add_row(cases: dict[str, Case], row: dict) -> None:
    case = parse_case(row["name"])
    if case is None or row.get("run_type") == "aggregate":
        return
    case = cases.setdefault(case.name, case)
    if row.get("error_occurred"):
        case.failure = row.get("error_message", "failed")
    else:
        float(row["ns_per_element"])  # raises if missing
        case.runs.append(row)


def replace_file(path: Path, text: str) -> None:
    """Writes a file by renaming a new one, so that a killed process leaves the old or the new text, never a part of it."""
    target = path.resolve()
    if target.exists() and not target.is_file():  # a device or a pipe
        target.write_text(text, encoding="utf-8")
        return
    new = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        new.write_text(text, encoding="utf-8")
        os.replace(new, target)
    finally:
        new.unlink(missing_ok=True)


def merge_results(merged: Path, files: list[Path]) -> None:
    """Merges results under the context of the first. Writes no file if none is readable."""
    runs = []
    for file in files:
        try:
            runs.append(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError):
            continue
    rows = [row for run in runs for row in run["benchmarks"]]
    if rows:
        replace_file(merged, json.dumps({"context": runs[0]["context"], "benchmarks": rows}, indent=1))


def format_table(rows: list[list[str]], left_columns: int = 1) -> str:
    """Formats rows as aligned columns, the first `left_columns` of them to the left. Row 0 is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) if i < left_columns else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
             .rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def roofs_of(cases: Sequence[Case]) -> tuple[float, str]:
    """Returns the copy bandwidth in GB/s, and a text with the peak of each element type; 0 and empty if unknown."""
    copies = [case.value("copy_bytes_per_second") or 0.0 for case in cases]
    peaks = {case.dtype: case.value("peak_flops_per_second") for case in cases if case.value("peak_flops_per_second")}
    return max(copies, default=0.0) / 1e9, ", ".join(f"{dtype} {peak / 1e9:.0f} GFLOP/s" for dtype, peak in peaks.items())


def format_bytes(count: float, digits: str = ".1f") -> str:
    """Formats bytes in powers of ten: 1.5 MB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:{digits}} {unit}"
        count /= 1000
    return f"{count:{digits}} GB"


def format_seconds(seconds: float) -> str:
    """Formats a time: 1.5 ms."""
    for unit, scale in (("s", 1), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 1000 else f"{seconds * scale:.0f} {unit}"
    return f"{seconds * 1e6:.3g} us"


def run_main(main) -> None:
    """Runs a module's main. BadResults become one line and exit status 2."""
    try:
        sys.exit(main())
    except BadResults as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(0)


if __name__ == "__main__":
    merge_results(Path(sys.argv[1]), [Path(file) for file in sys.argv[2:]])
