# SPDX-License-Identifier: Apache-2.0
"""Figures of runs: what is drawn, as JSON, and the picture of it where there is matplotlib."""
import importlib.util
import json
import statistics
import sys
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path

from report.colors import on_paper

from .runs import Result, Run
from .tables import what_it_is

COLORS = ("#0b6e99", "#c8553d", "#5b8c3a", "#8a5aa8", "#b8860b", "#3d6fc8", "#a0446a", "#4a7c74")
CONTROL = "#777777"


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
    picture(curves, lines, title, says, f"{below}\n{origin}", at)


def picture(series: list[Curve], lines: dict[str, float], title: str, says: str, origin: str, path: Path) -> None:
    """Draws a line for each model; `lines` are shares that are drawn across, by what they are."""
    from report.pictures.style import End, finish, ink, label_ends, plt, save  # which need matplotlib

    def one(theme: str):
        figure, axis = plt.subplots(figsize=(6.8, 4.4))
        colors, ends = iter(COLORS * len(series)), []
        for curve in series:
            control = curve.model.startswith("none")
            color = on_paper(CONTROL if control else next(colors), theme)
            means, low, high = ([100 * share for share in shares] for shares in (curve.mean, curve.least, curve.greatest))
            axis.fill_between(curve.steps, low, high, color=color, alpha=0.17, linewidth=0)
            axis.plot(curve.steps, means, "--" if control else "-", color=color, marker="o")
            ends.append(End(curve.steps[-1], means[-1], curve.model, color, values=[f"{means[-1]:.1f} %"]))
        greatest = max(curve.steps[-1] for curve in series)
        axis.set_xlim(0, 1.03 * greatest)
        for name, share in lines.items():
            axis.axhline(100 * share, color=ink(soft=True), linewidth=0.9, linestyle=":")
            ends.append(End(1.03 * greatest, 100 * share, name, ink(soft=True), values=[f"{100 * share:.1f} %"]))
        axis.set_ylim(0, 102)
        axis.set_xlabel("training steps")
        axis.set_ylabel("accuracy of the test, percent")
        label_ends(axis, ends, ["at the end"])
        finish(figure, title, says, origin)
        return figure
    save(one, path)
