# SPDX-License-Identifier: Apache-2.0
"""Figures of runs: the data as JSON and, with matplotlib, the picture."""
import importlib.util
import json
import statistics
import sys
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path

from report.colors import on_paper

from .runs import Result, Run
from .tables import description_of

COLORS = ("#0b6e99", "#c8553d", "#5b8c3a", "#8a5aa8", "#b8860b", "#3d6fc8", "#a0446a", "#4a7c74")
CONTROL = "#777777"


@dataclass
class Curve:
    """Test accuracy of a model by training step, over several seeds. `kind` says whether and how the run is scaled down."""
    model: str
    kind: str
    pool: str  # the pooling
    steps: list[int]
    mean: list[float]
    least: list[float]
    greatest: list[float]


def curve_of(seeds: list[tuple[Run, Result]], scaled: list[str]) -> Curve | None:
    """Returns the curve over the steps at which all seeds were tested, or None if there are none."""
    by_step = [{test["step"]: test["accuracy"] for test in result.test} for _, result in seeds]
    steps = sorted(set.intersection(*map(set, by_step)))
    if not steps:
        return None
    values = [[tests[step] for tests in by_step] for step in steps]
    run = seeds[0][0]
    kind = description_of(seeds, scaled) if "steps" in run.flags else "ours"
    return Curve(run.model, kind, run.flags.get("pool", ""), steps, list(map(statistics.mean, values)), list(map(min, values)), list(map(max, values)))


def captions(series: list[Curve], seeds: int) -> tuple[str, str]:
    """Returns the text below the title and the text below the picture, which groups models of the same kind."""
    says = f"mean of {seeds} seeds, band from the least to the greatest" if seeds > 1 else "one seed"
    controls = [curve for curve in series if curve.model.startswith("none")]
    if controls:
        says += "; dashed: the control without mixing"
    kinds: dict[str, list[str]] = {}
    for curve in series:
        kinds.setdefault(curve.kind, []).append(curve.model)
    notes = ["none can win here: the head reads all rows, so that no row needs to see another"] if any(curve.pool == "flatten" for curve in controls) else []
    notes += [f"{'all' if len(kinds) == 1 else ', '.join(models)}: {kind}" for kind, models in kinds.items()]
    return says, "\n".join(line for note in notes for line in textwrap.wrap(note, 110))


def draw(path: Path, title: str, series: list[Curve | None], seeds: int, lines: dict[str, float], origin: str) -> None:
    """Writes figure-<name>.json and pictures; `path` has no suffix."""
    curves = [curve for curve in series if curve]
    if not curves:
        print(f"no figure {path.name}: no run has reached a test yet", file=sys.stderr)
        return
    says, below = captions(curves, seeds)
    path.with_name(f"figure-{path.name}.json").write_text(json.dumps({"title": title, "says": says, "lines": lines, "origin": origin,
                                                                      "curves": list(map(asdict, curves))}, indent=1) + "\n", encoding="utf-8")
    if importlib.util.find_spec("matplotlib") is None:
        print("no pictures: there is no matplotlib (Debian: python3-matplotlib)", file=sys.stderr)
        return
    draw_picture(curves, lines, title, says, f"{below}\n{origin}", path)


def draw_picture(series: list[Curve], lines: dict[str, float], title: str, says: str, origin: str, path: Path) -> None:
    """Draws a curve per model, and a horizontal line for each of `lines`, which maps labels to shares."""
    from report.pictures.style import End, finish, ink, label_ends, plt, save  # require matplotlib

    def figure_of(theme: str):
        figure, axis = plt.subplots(figsize=(6.8, 4.4))
        colors, ends = iter(COLORS * len(series)), []
        for curve in series:
            control = curve.model.startswith("none")
            color = on_paper(CONTROL if control else next(colors), theme)
            means, low, high = ([100 * share for share in shares] for shares in (curve.mean, curve.least, curve.greatest))
            axis.fill_between(curve.steps, low, high, color=color, alpha=0.17, linewidth=0)
            axis.plot(curve.steps, means, "--" if control else "-", color=color, marker="o")
            ends.append(End(curve.steps[-1], means[-1], curve.model, color, values=[f"{means[-1]:.1f} %"]))
        last_step = max(curve.steps[-1] for curve in series)
        axis.set_xlim(0, 1.03 * last_step)
        for name, share in lines.items():
            axis.axhline(100 * share, color=ink(soft=True), linewidth=0.9, linestyle=":")
            ends.append(End(1.03 * last_step, 100 * share, name, ink(soft=True), values=[f"{100 * share:.1f} %"]))
        axis.set_ylim(0, 102)
        axis.set_xlabel("training steps")
        axis.set_ylabel("accuracy of the test, percent")
        label_ends(axis, ends, ["at the end"])
        finish(figure, title, says, origin)
        return figure
    save(figure_of, path)
