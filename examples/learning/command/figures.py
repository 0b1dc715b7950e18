# SPDX-License-Identifier: Apache-2.0
"""Figures of runs: what is drawn, as JSON, and the picture of it where there is matplotlib."""
import importlib.util
import json
import statistics
import sys
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path

from .runs import Result, Run
from .tables import what_it_is


@dataclass
class Curve:
    """Accuracies of tests after steps, over seeds, and what they are: ours, or scaled and in what."""
    model: str
    kind: str
    pool: str  # what the head reads
    steps: list[int]
    mean: list[float]
    least: list[float]
    greatest: list[float]


def curve_of(of: list[tuple[Run, Result]], scaled: list[str]) -> Curve | None:
    """Where all seeds have a test; nothing without any."""
    by_step = [{test["step"]: test["accuracy"] for test in result.test} for _, result in of]
    steps = sorted(set.intersection(*map(set, by_step)))
    if not steps:
        return None
    values = [[one[step] for one in by_step] for step in steps]
    kind = what_it_is(of, scaled) if "steps" in of[0][0].flags else "ours"
    return Curve(of[0][0].model, kind, of[0][0].flags.get("pool", ""), steps, list(map(statistics.mean, values)), list(map(min, values)), list(map(max, values)))


def captions(series: list[Curve], seeds: int) -> tuple[str, str]:
    """Below the title, and below the picture: models with the same to say are named together."""
    says = f"mean of {seeds} seeds, band from the least to the greatest" if seeds > 1 else "one seed"
    controls = [curve for curve in series if curve.model.startswith("none")]
    if controls:
        says += "; dashed: the control without mixing"
    kinds: dict[str, list[str]] = {}
    for curve in series:
        kinds.setdefault(curve.kind, []).append(curve.model)
    told = ["none can win here: the head reads all rows, so that no row needs to see another"] if any(curve.pool == "flatten" for curve in controls) else []
    told += [f"{'all' if len(kinds) == 1 else ', '.join(models)}: {kind}" for kind, models in kinds.items()]
    return says, "\n".join(line for one in told for line in textwrap.wrap(one, 110))


def draw(at: Path, title: str, series: list[Curve | None], seeds: int, lines: dict[str, float], origin: str) -> None:
    """`at` is a path without an ending."""
    curves = [curve for curve in series if curve]
    if not curves:
        print(f"no figure {at.name}: no run has come to a test yet", file=sys.stderr)
        return
    says, below = captions(curves, seeds)
    at.with_name(f"figure-{at.name}.json").write_text(json.dumps({"title": title, "says": says, "lines": lines, "origin": origin,
                                                                  "curves": list(map(asdict, curves))}, indent=1) + "\n", encoding="utf-8")
    if importlib.util.find_spec("matplotlib") is None:
        print("no pictures: there is no matplotlib (Debian: python3-matplotlib)", file=sys.stderr)
        return
    from .pictures import curves as picture
    picture(curves, lines, title, says, f"{below}\n{origin}", at)
