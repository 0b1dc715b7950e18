# SPDX-License-Identifier: Apache-2.0
"""What the page knows of the results: a row for each case, a series for each operator, facts of each machine. The page needs no
other file: a template, with style, scripts and the results as JSON put into it. --csv has its rows, too."""
import csv
import json
import math
import re
import statistics
from pathlib import Path

from ..arena_table import Row, rows_of
from ..colors import on_paper
from ..contestants import DIRECTIONS, REFERENCE, Contestant, reference_of, torch_forms_of
from ..crossover import Crossing
from ..results import TYPES, Case, load
from ..verdicts import Ratio, paired, rank_of_median

HERE = Path(__file__).parent
TORCH_COLOR = "#c2571a"
WIDE = 0.05  # half of the intervals beyond this: worth a word


def known(value: float | None) -> float | None:
    """JSON has neither infinity nor NaN. Six digits are more than any timing has."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


def interval_of(times: list[float]) -> tuple[float | None, float | None]:
    """An interval that holds the times' median in at least 95 of 100 runs."""
    k = rank_of_median(len(times))
    return (sorted(times)[k - 1], sorted(times)[-k]) if k else (None, None)


def fields_of(case: Case, against: Ratio | None, share: tuple[float, str], crossing: Crossing | None = None) -> dict:
    """The names are those of the columns of the page's CSV, too."""
    fields = {"direction": DIRECTIONS.get(case.direction, case.direction), "dtype": TYPES.get(case.dtype, case.dtype),
              "input": case.input, "b": case.b, "n": case.n, "c": case.c, "h": case.heads or None, "t": case.t}
    low, high = (None, None) if case.failed else interval_of([t * case.elements * 1e-9 for t in case.times()])
    seconds = None if case.failed else case.seconds
    numbers = {"seconds": seconds, "seconds_low": low, "seconds_high": high, "tokens": seconds and case.b * case.n / seconds,
               "kept": case.value("saved_bytes"), "peak": case.value("peak_bytes"), "error": case.value("max_error"),
               "ratio": against.middle if against else None, "low": against.low if against else None,
               "high": against.high if against else None, "wins": crossing.wins if crossing else None, "share": share[0] if case.value("share_of_copy") else None}
    fields |= {key: known(value) for key, value in numbers.items()}
    if fields["high"] is None:
        fields["low"] = None  # too few rounds for an interval
    return fields | {"verdict": against.verdict if against else "", "wins_from": crossing.short if crossing else "", "roof": share[1], "failed": case.failed, "reference": False,
                     "case": case.name}


def series_of(who: Contestant, label: str) -> dict:
    """`label` is the table's; at the end of a line there is less room."""
    return {"label": label, "short": who.label, "light": on_paper(who.color, "light"), "dark": on_paper(who.color, "dark"),
            "dashed": who.subject == "softmax_attention", "reference": who is REFERENCE, "own": who.own,
            "strong": who.strong}


def series_of_torch(label: str) -> dict:
    return {"label": label, "short": label, "light": on_paper(TORCH_COLOR, "light"), "dark": on_paper(TORCH_COLOR, "dark"), "dashed": True,
            "reference": False, "own": False, "strong": False}


def noise_of(context: dict, rows: list[Row]) -> list[str]:
    """What the run noticed of its machine, and what its intervals say."""
    said = list(context.get("noise") or [])
    spread = {row.case.name: math.sqrt(row.against.high / row.against.low) - 1 for row in rows
              if row.against and row.against.low > 0 and math.isfinite(row.against.high)}
    if any(row.against for row in rows) and not spread:
        return said + ["There were too few rounds for intervals, so nothing is said about noise (six is the fewest)."]
    if spread and statistics.median(spread.values()) > WIDE:
        widest = next(row for row in rows if row.case.name == max(spread, key=spread.get))
        said.append(f"Half of the 95 % intervals are wider than ±{100 * statistics.median(spread.values()):.0f} %; the widest is "
                    f"±{100 * max(spread.values()):.0f} % ({widest.who.label}, {widest.direction}, N = {widest.case.n}).")
    return said


def roofs_of(cases: list[Case]) -> str:
    copies = [case.value("copy_bytes_per_second") for case in cases if case.value("copy_bytes_per_second")]
    peaks = {case.dtype: case.value("peak_flops_per_second") for case in cases if case.value("peak_flops_per_second")}
    if not copies or not peaks:
        return ""
    return (f"copies {max(copies) / 1e9:.1f} GB/s (read and written), multiplies and adds "
            + ", ".join(f"{dtype} {peak / 1e9:.0f} GFLOP/s" for dtype, peak in peaks.items()) + ", measured in this run")


def verified_of(rows: list[Row]) -> str:
    errors = [(row.case.median("max_error"), row) for row in rows if row.case.runs and row.case.value("max_error") is not None]
    if not errors:
        return "nothing was measured"
    exact = sum(error == 0 for error, _ in errors)
    said = f"every result, against an oracle in double, before it was timed: {exact} of {len(errors)} cases agree bit for bit"
    error, row = max(errors, key=lambda found: found[0])
    if error > 0:
        said += f", the largest error is {error:.1e} ({row.who.label}, {row.case.dtype}, N = {row.case.n})"
    unchecked = {row.who.label for row in rows if row.case.runs and row.case.value("max_error") is None}
    if unchecked:
        said = said.replace("every result", f"every result but those of {', '.join(sorted(unchecked))}, which came without an oracle", 1)
    return said + ". More than rounding allows would have failed the run"


def facts_of(context: dict, rows: list[Row]) -> list[list[str]]:
    """Name and value of what a measurement depends on."""
    said = context.get
    cases = [row.case for row in rows if not row.case.failed]
    lost = [row for row in rows if row.case.failed]
    clock = f"{said('num_cpus')} processors" if said("num_cpus") else ""
    facts = {
        "machine": ", ".join(filter(None, (said("cpu"), said("architecture"), said("instruction_set"), clock))),
        "GPU": ", ".join(filter(None, (said("gpu"), said("cuda") and f"CUDA {said('cuda')}"))),
        "compiler": said("compiler"), "flags": said("flags"), "BLAS": "; ".join(filter(None, (said("blas") or "none", said("weak_blas")))),
        "commit": said("commit"), "date": str(said("date", ""))[:16].replace("T", " "), "command": said("command"),
        "text": said("text"), "rounds": said("rounds") and f"{said('rounds')}, each of which times every operator once, in a random order",
        "verified": verified_of(rows), "roofs": roofs_of(cases),
        "not measured": "; ".join(f"{row.who.label}, {row.direction}, {row.case.dtype}, {row.case.shape}: {row.case.failed}" for row in lost)}
    return [[name, str(value)] for name, value in facts.items() if value]


class Page:
    """Collects what the page shows."""

    def __init__(self) -> None:
        self.series: list[dict] = []
        self.rows: list[dict] = []
        self.machines: list[dict] = []

    def add_row(self, machine: int, series: dict, fields: dict) -> None:
        if series not in self.series:
            self.series.append(series)
        self.rows.append({"machine": machine, "series": self.series.index(series), "why": "", **fields})

    def add(self, context: dict, rows: list[Row]) -> None:
        for row in rows:
            fields = fields_of(row.case, row.against, row.share, row.crossing) | {"why": row.why}
            if row.who is REFERENCE:
                fields |= {"reference": True, "ratio": None if row.case.failed else 1.0}
            self.add_row(len(self.machines), series_of(row.who, row.label), fields)
        one = "one GPU" if context.get("gpu") else "one thread" if all(row.case.t == 1 for row in rows) else ""
        name = re.sub(r"\((R|TM)\)", "", context.get("gpu") or context.get("cpu") or "an unknown machine")
        self.machines.append({"name": name, "where": one,
                              "noise": noise_of(context, rows), "facts": facts_of(context, rows)})

    def add_torch(self, machine: int, rows: list[Row], path: Path) -> None:
        """torch's forms, timed in the same rounds as ours, against the same reference."""
        context, theirs = load(str(path))
        ours = {row.case.name: row.case for row in rows}
        found = [(row, form, theirs[row.case.beside(f"baseline_{form}")]) for row in rows for form in torch_forms_of(row.case)
                 if row.case.beside(f"baseline_{form}") in theirs]
        for row, form, case in found:
            reference = reference_of(row.case, ours)
            compared = reference is not None and not reference.failed and not case.failed
            users = {other.who.label for other, used, _ in found if used == form}
            label = f"torch {form.removeprefix('torch_')}" + (f", {row.who.label.removeprefix('softmax, ')}" if len(users) > 1 else "")
            ratio = paired(reference.times(), case.times()) if compared else None
            self.add_row(machine, series_of_torch(label), fields_of(case, ratio, (0.0, "")))
        if found:
            self.machines[machine]["facts"].append(["PyTorch", f"{context.get('torch', 'of an unknown version')}, timed before each of our "
                                                    "rounds, in a process of its own, while ours waits"])


def as_island(results: dict) -> str:
    """JSON that may stand in HTML: no character of it can end the element or begin a comment."""
    return json.dumps(results, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def page_of(results: dict) -> str:
    text = (HERE / "template.html").read_text(encoding="utf-8")
    for part in ("page.css", "chart.js", "page.js"):
        text = text.replace("{{" + part + "}}", (HERE / part).read_text(encoding="utf-8"))
    return text.replace("{{results}}", as_island(results))


def collected(parts: list[tuple[Path, dict, list[Row]]], torch: Path | None) -> dict:
    """What the page carries, of files of results, each with its context and its rows; and of torch's, if there are any."""
    found = Page()
    for _, context, rows in parts:
        found.add(context, rows)
    files = [path.name for path, _, _ in parts]
    if torch is not None and torch.exists():
        files.append(torch.name)
        for machine, (_, _, rows) in enumerate(parts):
            found.add_torch(machine, rows, torch)
    return {"files": files, "machines": found.machines, "series": found.series, "rows": found.rows}


def write_page(page: Path, parts: list[tuple[Path, dict, list[Row]]], torch: Path | None = None) -> None:
    page.write_text(page_of(collected(parts, torch)), encoding="utf-8")
    print(f"  {page}")


def write_csv(path: Path, results: list[Path]) -> None:
    """A row for each case of a run, with the names of the page's own CSV."""
    rows, first = [], ["case", "operator", "backend"]
    for file in (str(result) for result in results if result.exists()):
        shown = {row.case.name: row for row in rows_of(file)[1]}
        for name, case in load(file)[1].items():
            row = shown.get(name)
            fields = fields_of(case, row.against if row else None, row.share if row and not case.failed else (0.0, ""),
                               row.crossing if row else None)
            fields.pop("reference", None)
            rows.append({"case": name, "operator": row.label if row else case.subject, "backend": case.backend, **fields})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, first + [key for key in (rows[0] if rows else {}) if key not in first])
        writer.writeheader()
        writer.writerows(rows)
