# SPDX-License-Identifier: Apache-2.0
"""Reads what the bench program wrote, for the scripts beside this file."""
import json
import re
import statistics
import sys
from dataclasses import dataclass, field

NAME = re.compile(
    r"(?P<subject>[^/@]+)(?:@(?P<isa>\w+))?/(?P<backend>\w+)/(?P<direction>\w+)/(?P<dtype>\w+)/(?P<policy>[\w:-]+)"
    r"/(?P<input>\w+)/B:(?P<b>\d+)/N:(?P<n>\d+)/C:(?P<c>\d+)(?:/T:(?P<t>\d+))?(?:/manual_time)?$")
DTYPES = ("f32", "f64", "f16", "bf16")


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

    @property
    def elements(self) -> int:
        return self.b * self.n * self.c

    @property
    def title(self) -> str:
        """The subject, with the policy where that decides what is computed: csp linear-reference-G:2. How many factors
        a chain has follows from the length."""
        return f"{self.subject} {self.policy.partition('-M:')[0]}" if "-" in self.policy else self.subject

    @property
    def group(self) -> int:
        """Rows of a group, of csp; else 0."""
        rows = self.policy.partition("-G:")[2]
        return self.n if rows == "N" else int(rows or 0)

    def times(self, clock: str = "wall") -> list[float]:
        """Nanoseconds per element of each repetition. The CPU clock sees the calling thread only."""
        if clock == "cpu":
            unit = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
            return [run["cpu_time"] * unit[run["time_unit"]] / self.elements for run in self.runs]
        return [run["ns_per_element"] for run in self.runs]

    def median(self, counter: str) -> float:
        return statistics.median(run[counter] for run in self.runs)

    def beside(self, subject: str) -> str:
        """The name of another subject's case with the same fields."""
        return subject + self.name[len(self.subject):]


class BadResults(Exception):
    """The file is not what the bench program writes, or lacks a case."""


def load(*paths: str) -> tuple[dict, dict[str, Case]]:
    """The context of the first file's run, and the cases of all by name, in the order in which they ran."""
    contexts, cases = [], {}
    for path in paths:
        contexts.append(load_into(cases, path))
    return contexts[0], cases


def read(path: str) -> tuple[dict, list[dict]]:
    """The context and the rows of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        return data["context"], data["benchmarks"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadResults(f"cannot read results from {path}: {error}") from error


def case_named(name: str) -> Case | None:
    """The case of that name, without runs; None if no case has such a name."""
    match = NAME.match(name)
    if not match:
        return None
    m = match.groupdict()
    subject = m["subject"] + (f"@{m['isa']}" if m["isa"] else "")
    return Case(name.removesuffix("/manual_time"),  # Google Benchmark's own
                subject, m["backend"], m["direction"], m["dtype"], m["policy"], m["input"], int(m["b"]), int(m["n"]), int(m["c"]),
                int(m["t"] or 1))


def load_into(cases: dict[str, Case], path: str) -> dict:
    context, rows = read(path)
    for row in rows:
        if row.get("run_type") == "aggregate" or row.get("error_occurred"):
            continue
        case = case_named(row["name"])
        if case:
            cases.setdefault(case.name, case).runs.append(row)
    return context


def ratio(slower: Case, faster: Case, clock: str = "wall") -> float:
    """How many times faster: the median of the ratios, repetition by repetition. The CPU clock is for cases of
    one thread of the host; otherwise both are taken by the wall clock."""
    if slower.t != 1 or faster.t != 1 or faster.backend != "host":
        clock = "wall"
    return statistics.median(s / f for s, f in zip(slower.times(clock), faster.times(clock)))


def table(rows: list[list[str]], left: int = 1) -> str:
    """Aligned columns; the first `left` to the left, the others to the right. Row 0 is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
             .rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def size(count: float, digits: str = ".1f") -> str:
    """Bytes for people, in powers of ten: 1.5 MB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:{digits}} {unit}"
        count /= 1000
    return f"{count:{digits}} GB"


def run_main(main) -> None:
    """Runs a script's main; its complaints are one line and exit status 2."""
    try:
        sys.exit(main())
    except BadResults as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(0)
