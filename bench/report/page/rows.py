# SPDX-License-Identifier: Apache-2.0
"""What the page knows of the results: a row for each case, a series for each operator, facts of each machine."""
import math
import re
from pathlib import Path

from ..arena_table import Row
from ..colors import on_paper
from ..contestants import REFERENCE, Contestant, reference_of, torch_forms_of
from ..crossover import Crossing
from ..results import Case, load
from ..verdicts import Ratio, paired, rank_of_median
from .facts import facts_of, noise_of

TYPES = {"f32": "float", "f64": "double", "bf16": "bfloat16", "f16": "float16"}
PASSES = {"forward_values": "forward", "training": "forward + backward"}
TORCH_COLOR = "#c2571a"


def known(value: float | None) -> float | None:
    """JSON has neither infinity nor NaN. Six digits are more than any timing has."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None


def interval_of(times: list[float]) -> tuple[float | None, float | None]:
    """An interval that holds the times' median in at least 95 of 100 runs."""
    k = rank_of_median(len(times))
    return (sorted(times)[k - 1], sorted(times)[-k]) if k else (None, None)


def heads_of(case: Case) -> int | None:
    found = re.search(r"-H:(\d+)", case.policy)
    return int(found[1]) if found else None


def fields_of(case: Case, against: Ratio | None, share: tuple[float, str], crossing: Crossing | None = None) -> dict:
    """The names are those of the columns of the page's CSV, too."""
    fields = {"direction": PASSES.get(case.direction, case.direction), "dtype": TYPES.get(case.dtype, case.dtype),
              "input": case.input, "b": case.b, "n": case.n, "c": case.c, "h": heads_of(case), "t": case.t}
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
