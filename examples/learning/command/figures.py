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
from report.results import replace_file

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
    """Returns the subtitle and the text below the picture, which groups models of the same kind."""
    subtitle = f"mean of {seeds} seeds, band from the least to the greatest" if seeds > 1 else "one seed"
    controls = [curve for curve in series if curve.model.startswith("none")]
    if controls:
        subtitle += "; dashed: the control without mixing"
    kinds: dict[str, list[str]] = {}
    for curve in series:
        kinds.setdefault(curve.kind, []).append(curve.model)
    notes = ["none can win here: the head reads all rows, so that no row needs to see another"] if any(curve.pool == "flatten" for curve in controls) else []
    notes += [f"{'all' if len(kinds) == 1 else ', '.join(models)}: {kind}" for kind, models in kinds.items()]
    return subtitle, "\n".join(line for note in notes for line in textwrap.wrap(note, 110))


@dataclass
class Line:
    """A line of a chart. `value` is the text at its end; `low` and `high` limit a band around it."""
    label: str
    x: list[float]
    y: list[float]
    value: str = ""
    low: list[float] | None = None
    high: list[float] | None = None

    @property
    def is_control(self) -> bool:
        return self.label.startswith("none")


@dataclass
class Chart:
    title: str
    subtitle: str
    x_label: str
    y_label: str
    values: str  # heading of the values at the ends
    y_limits: tuple[float, float]
    logarithmic: bool = False


def draw(path: Path, title: str, series: list[Curve | None], seeds: int, lines: dict[str, float], origin: str) -> None:
    """Writes figure-<name>.json and pictures; `path` has no suffix. `lines` are shares by label, drawn as horizontal lines."""
    curves = [curve for curve in series if curve]
    if not curves:
        print(f"no figure {path.name}: no run has reached a test yet", file=sys.stderr)
        return
    subtitle, below = captions(curves, seeds)
    data = {"title": title, "subtitle": subtitle, "lines": lines, "origin": origin, "curves": list(map(asdict, curves))}
    shown = []
    for curve in curves:
        means, low, high = ([100 * share for share in shares] for shares in (curve.mean, curve.least, curve.greatest))
        shown.append(Line(curve.model, curve.steps, means, f"{means[-1]:.1f} %", low, high))
    chart = Chart(title, subtitle, "training steps", "accuracy of the test, percent", "at the end", (0, 102))
    draw_chart(path, chart, shown, f"{below}\n{origin}", data, {name: (100 * share, f"{100 * share:.1f} %") for name, share in lines.items()})


def write_data(path: Path, data: dict) -> bool:
    """Writes figure-<name>.json. Returns false if there is no matplotlib to draw a picture with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path.with_name(f"figure-{path.name}.json"), json.dumps(data, indent=1) + "\n")
    if importlib.util.find_spec("matplotlib") is None:
        print("no pictures: there is no matplotlib (Debian: python3-matplotlib)", file=sys.stderr)
        return False
    return True


def draw_chart(path: Path, chart: Chart, lines: list[Line], origin: str, data: dict, levels: dict[str, tuple[float, str]] = {}) -> None:
    """Writes figure-<name>.json and a picture of lines; `levels` are horizontal lines, a height and its text by label."""
    if not write_data(path, data):
        return
    from matplotlib.ticker import MaxNLocator
    from report.pictures.style import End, finish, ink, label_ends, plt, save

    def figure_of(theme: str):
        figure, axis = plt.subplots(figsize=(6.8, 4.4))
        colors, ends = iter(COLORS * len(lines)), []
        for line in lines:
            color = on_paper(CONTROL if line.is_control else next(colors), theme)
            if line.low and line.high:
                axis.fill_between(line.x, line.low, line.high, color=color, alpha=0.17, linewidth=0)
            axis.plot(line.x, line.y, "--" if line.is_control else "-", color=color, marker="o" if len(line.x) < 30 else "")
            ends.append(End(line.x[-1], line.y[-1], line.label, color, values=[line.value]))
        last = max(line.x[-1] for line in lines)
        axis.set_xlim(0, 1.03 * last)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        for name, (height, text) in levels.items():
            axis.axhline(height, color=ink(soft=True), linewidth=0.9, linestyle=":")
            ends.append(End(1.03 * last, height, name, ink(soft=True), values=[text]))
        if chart.logarithmic:
            axis.set_yscale("log")
        axis.set_ylim(*chart.y_limits)
        axis.set_xlabel(chart.x_label)
        axis.set_ylabel(chart.y_label)
        label_ends(axis, ends, [chart.values])
        finish(figure, chart.title, chart.subtitle, origin)
        return figure
    save(figure_of, path)
