# SPDX-License-Identifier: Apache-2.0
"""Collects the data of the page: a row per case, a series per operator, facts about each machine. Renders the page, one file made of a
template, style, scripts and the data as JSON. --csv writes the same rows."""
import csv
import json
import math
import re
import statistics
from pathlib import Path

from ..arena_table import Row, load_rows
from ..colors import on_paper
from ..crossover import Crossing
from ..entries import DIRECTIONS, REFERENCE, Entry, reference_of, torch_implementations_of
from ..ratios import Ratio, rank_of_median, speedup
from ..results import TYPES, Case, load, roofs_of

FOLDER = Path(__file__).parent
TORCH_COLOR = "#c2571a"
MAX_MEDIAN_WIDTH = 0.05  # wider intervals cause a notice


def round_finite(value: float | None) -> float | None:
    """Rounds a value to six digits. Returns None for infinity and NaN, which JSON lacks."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


def confidence_interval(times: list[float]) -> tuple[float | None, float | None]:
    """Returns the 95 % confidence interval of the median."""
    rank = rank_of_median(len(times))
    return (sorted(times)[rank - 1], sorted(times)[-rank]) if rank else (None, None)


def make_fields(case: Case, speedup: Ratio | None, share: tuple[float, str], crossing: Crossing | None = None) -> dict:
    """Returns the fields of a row, by the names of the CSV columns."""
    fields = {"direction": DIRECTIONS.get(case.direction, case.direction), "dtype": TYPES.get(case.dtype, case.dtype),
              "input": case.input, "b": case.b, "n": case.n, "c": case.c, "h": case.heads or None, "t": case.t}
    low, high = (None, None) if case.failure else confidence_interval([t * case.elements * 1e-9 for t in case.times()])
    seconds = None if case.failure else case.seconds
    values = {"seconds": seconds, "seconds_low": low, "seconds_high": high, "tokens": seconds and case.b * case.n / seconds,
              "kept": case.value("saved_bytes"), "peak": case.value("peak_bytes"), "error": case.value("max_error"),
              "ratio": speedup.middle if speedup else None, "low": speedup.low if speedup else None,
              "high": speedup.high if speedup else None, "wins": crossing.first_win if crossing else None, "share": share[0] if case.value("share_of_copy") else None}
    fields |= {key: round_finite(value) for key, value in values.items()}
    if fields["high"] is None:
        fields["low"] = None  # too few rounds for an interval
    return fields | {"outcome": speedup.outcome if speedup else "", "wins_from": crossing.short_text if crossing else "", "roof": share[1], "failed": case.failure, "reference": False,
                     "case": case.name}


def make_series(entry: Entry, label: str) -> dict:
    """Returns a series. The table shows `label`, the end of a line shows the label of the entry."""
    return {"label": label, "short": entry.label, "family": entry.family, "light": on_paper(entry.color, "light"), "dark": on_paper(entry.color, "dark"),
            "dashed": entry.subject == "softmax_attention", "reference": entry is REFERENCE, "custom": entry.is_custom,
            "strong": entry.is_emphasized}


def make_torch_series(label: str, family: str) -> dict:
    return {"label": label, "short": label, "family": family, "light": on_paper(TORCH_COLOR, "light"), "dark": on_paper(TORCH_COLOR, "dark"), "dashed": True,
            "reference": False, "custom": False, "strong": False}


def collect_notices(context: dict, rows: list[Row]) -> list[str]:
    """Returns the notices of the run, and one about wide intervals."""
    notices = list(context.get("noise") or [])
    spread = {row.case.name: math.sqrt(row.speedup.high / row.speedup.low) - 1 for row in rows
              if row.speedup and row.speedup.low > 0 and math.isfinite(row.speedup.high)}
    if any(row.speedup for row in rows) and not spread:
        return notices + ["There were too few rounds for confidence intervals (the minimum is six)."]
    if spread and statistics.median(spread.values()) > MAX_MEDIAN_WIDTH:
        widest = next(row for row in rows if row.case.name == max(spread, key=spread.get))
        notices.append(f"Half of the 95 % intervals are wider than ±{100 * statistics.median(spread.values()):.0f} %; the widest is "
                       f"±{100 * max(spread.values()):.0f} % ({widest.entry.label}, {widest.direction}, N = {widest.case.n}).")
    return notices


def format_roofs(cases: list[Case]) -> str:
    copy, peaks = roofs_of(cases)
    return f"copies {copy:.1f} GB/s (read and written), multiplies and adds {peaks}, measured in this run" if copy and peaks else ""


def describe_verification(rows: list[Row]) -> str:
    errors = [(row.case.median("max_error"), row) for row in rows if row.case.runs and row.case.value("max_error") is not None]
    if not errors:
        return "nothing was measured"
    exact = sum(error == 0 for error, _ in errors)
    text = f"every result, against an oracle in double, before it was timed: {exact} of {len(errors)} cases agree bit for bit"
    error, row = max(errors, key=lambda found: found[0])
    if error > 0:
        text += f", the largest error is {error:.1e} ({row.entry.label}, {row.case.dtype}, N = {row.case.n})"
    unchecked = {row.entry.label for row in rows if row.case.runs and row.case.value("max_error") is None}
    if unchecked:
        text = text.replace("every result", f"every result except those of {', '.join(sorted(unchecked))}, which have no oracle", 1)
    return text + ". Errors beyond rounding fail the run"


def facts_of(context: dict, rows: list[Row]) -> list[list[str]]:
    """Returns names and values of the settings of a run."""
    value = context.get
    cases = [row.case for row in rows if not row.case.failure]
    failed = [row for row in rows if row.case.failure]
    processors = f"{value('num_cpus')} processors" if value("num_cpus") else ""
    facts = {
        "machine": ", ".join(filter(None, (value("cpu"), value("architecture"), value("instruction_set"), processors))),
        "GPU": ", ".join(filter(None, (value("gpu"), value("cuda") and f"CUDA {value('cuda')}"))),
        "compiler": value("compiler"), "flags": value("flags"), "BLAS": "; ".join(filter(None, (value("blas") or "none", value("weak_blas")))),
        "commit": value("commit"), "date": str(value("date", ""))[:16].replace("T", " "), "command": value("command"),
        "text": value("text"), "rounds": value("rounds") and f"{value('rounds')}, each of which times every operator once, in a random order",
        "verified": describe_verification(rows), "roofs": format_roofs(cases),
        "not measured": "; ".join(f"{row.entry.label}, {row.direction}, {row.case.dtype}, {row.case.shape}: {row.case.failure}" for row in failed)}
    return [[name, str(fact)] for name, fact in facts.items() if fact]


class Page:
    """Content of the page: series, rows and machines."""

    def __init__(self) -> None:
        self.series: list[dict] = []
        self.rows: list[dict] = []
        self.machines: list[dict] = []

    def add_row(self, machine: int, series: dict, fields: dict) -> None:
        if series not in self.series:
            self.series.append(series)
        self.rows.append({"machine": machine, "series": self.series.index(series), "slower_because": "", **fields})

    def add(self, context: dict, rows: list[Row]) -> None:
        for row in rows:
            fields = make_fields(row.case, row.speedup, row.share, row.crossing) | {"slower_because": row.slower_because}
            if row.entry is REFERENCE:
                fields |= {"reference": True, "ratio": None if row.case.failure else 1.0}
            self.add_row(len(self.machines), make_series(row.entry, row.label), fields)
        processor = "one GPU" if context.get("gpu") else "one thread" if all(row.case.t == 1 for row in rows) else ""
        name = re.sub(r"\((R|TM)\)", "", context.get("gpu") or context.get("cpu") or "an unknown machine")
        self.machines.append({"name": name, "processor": processor,
                              "noise": collect_notices(context, rows), "facts": facts_of(context, rows)})

    def add_torch(self, machine: int, rows: list[Row], path: Path) -> None:
        """Adds torch implementations, with ratios to the same reference in the same rounds."""
        context, torch_cases = load(str(path))
        cases = {row.case.name: row.case for row in rows}
        found = [(row, name, torch_cases[row.case.name_with_subject(f"baseline_{name}")]) for row in rows for name in torch_implementations_of(row.case)
                 if row.case.name_with_subject(f"baseline_{name}") in torch_cases]
        for row, name, case in found:
            reference = reference_of(row.case, cases)
            is_compared = reference is not None and not reference.failure and not case.failure
            users = {other.entry.label for other, used, _ in found if used == name}
            label = f"torch {name.removeprefix('torch_')}" + (f", {row.entry.label.removeprefix('softmax, ')}" if len(users) > 1 else "")
            ratio = speedup(reference, case) if is_compared else None
            self.add_row(machine, make_torch_series(label, row.entry.family), make_fields(case, ratio, (0.0, "")))
        if found:
            version = context.get("torch", "of an unknown version")
            self.machines[machine]["facts"].append(["PyTorch", f"{version}, timed in a separate process before each round, on normal noise; "
                                                               "its calls allocate their outputs, and ours reuse theirs"])


def escape_json(results: dict) -> str:
    """Formats JSON for an HTML script element, with `<` escaped."""
    return json.dumps(results, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def render_page(results: dict) -> str:
    text = (FOLDER / "template.html").read_text(encoding="utf-8")
    for part in ("page.css", "chart.js", "page.js"):
        text = text.replace("{{" + part + "}}", (FOLDER / part).read_text(encoding="utf-8"))
    return text.replace("{{results}}", escape_json(results))


def collect_page_data(runs: list[tuple[Path, dict, list[Row]]], torch: Path | None) -> dict:
    """Collects the data of the page from files of results, each with its context and rows, and optionally from results of torch."""
    page = Page()
    for _, context, rows in runs:
        page.add(context, rows)
    files = [path.name for path, _, _ in runs]
    if torch is not None and torch.exists():
        files.append(torch.name)
        for machine, (_, _, rows) in enumerate(runs):
            page.add_torch(machine, rows, torch)
    return {"files": files, "machines": page.machines, "series": page.series, "rows": page.rows}


def write_page(page: Path, runs: list[tuple[Path, dict, list[Row]]], torch: Path | None = None) -> None:
    page.write_text(render_page(collect_page_data(runs, torch)), encoding="utf-8")
    print(f"  {page}")


def write_csv(path: Path, results: list[Path]) -> None:
    """Writes a row per case, with the columns of the page's CSV."""
    rows, first = [], ["case", "operator", "backend"]
    for file in (str(result) for result in results if result.exists()):
        shown = {row.case.name: row for row in load_rows(file)[1]}
        for name, case in load(file)[1].items():
            row = shown.get(name)
            fields = make_fields(case, row.speedup if row else None, row.share if row and not case.failure else (0.0, ""),
                                 row.crossing if row else None)
            fields.pop("reference", None)
            rows.append({"case": name, "operator": row.label if row else case.subject, "backend": case.backend, **fields})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, first + [key for key in (rows[0] if rows else {}) if key not in first])
        writer.writeheader()
        writer.writerows(rows)
