# SPDX-License-Identifier: Apache-2.0
"""Common style of all pictures: light and dark themes, axes, labels at the ends of lines, title and origin, files as PNG and SVG."""
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patheffects import withStroke  # noqa: E402
from matplotlib.text import Text  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

from ..colors import PAPER, reduce_colors

# The font is part of matplotlib. Letters in an SVG are paths, which need no font.
COMMON_STYLE = {
    "font.family": "DejaVu Sans", "svg.fonttype": "path", "font.size": 10, "axes.titlesize": 10.5, "axes.titlelocation": "left", "axes.titlepad": 9,
    "axes.labelsize": 9.5, "axes.labelpad": 6, "axes.grid": True, "axes.axisbelow": True, "axes.facecolor": "none", "grid.linewidth": 0.8,
    **{f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")},
    **{f"{axis}tick.{kind}.size": 0 for axis in "xy" for kind in ("major", "minor")}, "xtick.labelsize": 9.5, "ytick.labelsize": 9.5,
    "lines.linewidth": 1.7, "lines.markersize": 4.2, "lines.solid_capstyle": "round", "legend.frameon": False,
    "savefig.bbox": "tight", "savefig.pad_inches": 0.16, "savefig.dpi": 150}
# Text, soft text and lines, as in page/page.css.
COLORS = {"light": ("#1b1f24", "#57606a", "#e3e6ea"), "dark": ("#e8ebef", "#9aa5b1", "#2a313a")}
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
LABEL_GAP = 13.5  # points from one label to the next
COLUMN_SPACE = 0.16  # inches between columns of labels


def ink(soft: bool = False) -> str:
    return plt.rcParams["xtick.color" if soft else "text.color"]


def format_axes(axis, lengths: list[int], formatter) -> None:
    """Makes both axes logarithmic, with the lengths as horizontal and round numbers as vertical ticks."""
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    shown = [n for n in lengths if len(lengths) <= 6 or n & (n - 1) == 0 and n.bit_length() % 2 == 1]
    axis.xaxis.set_major_locator(FixedLocator(shown))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{int(n) >> 10}K" if n >= 1 << 14 else f"{n:.0f}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.grid(len(lengths) > 1, axis="x")
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(FixedLocator(choose_round_numbers(low, high)))
    axis.yaxis.set_major_formatter(formatter)
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set_ylim(low, high)


def choose_round_numbers(low: float, high: float, limit: int = 10) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [step * 10.0**e for e in exponents for step in steps if low <= step * 10.0**e <= high]
        if len(found) <= limit:
            break
    return found


@dataclass
class End:
    """End of a line, with its label and values in columns."""
    x: float
    y: float
    label: str
    color: str
    strong: bool = False
    values: list[str] = field(default_factory=list)


def figure_height(labels: int) -> float:
    """Returns the height in inches of a figure with room for that many labels."""
    return max(4.9, labels * LABEL_GAP / 72 / (plt.rcParams["figure.subplot.top"] - plt.rcParams["figure.subplot.bottom"]))


def spread_apart(places: list[float], gap: float) -> list[float]:
    """Moves sorted places apart as little as possible, to leave a gap between them, within 0 .. 1 if they fit."""
    places, last = list(places), len(places) - 1
    for _ in range(2000):
        moved = False
        if last * gap <= 1:
            places = [min(max(place, i * gap), 1 - (last - i) * gap) for i, place in enumerate(places)]
        for i in range(1, len(places)):
            lack = gap - (places[i] - places[i - 1])
            if lack > gap * 1e-3:
                places[i - 1] -= lack / 2
                places[i] += lack / 2
                moved = True
        if not moved:
            break
    return places


def text_width(text: Text) -> float:
    """Returns the width of a text in inches, without the arrow of an annotation."""
    return Text.get_window_extent(text, text.figure.canvas.get_renderer()).width / text.figure.dpi


def label_ends(axis, ends: list[End], columns: list[str] = []) -> None:
    """Writes labels next to the axes, joined with the ends of their lines, and their values in columns."""
    axis.figure.canvas.draw()
    box = axis.get_window_extent().transformed(axis.figure.dpi_scale_trans.inverted())
    across = axis.transData + axis.transAxes.inverted()
    ends = sorted(ends, key=lambda end: end.y)
    places = spread_apart([across.transform((end.x, end.y))[1] for end in ends], LABEL_GAP / 72 / box.height)
    names = []
    for end, place in zip(ends, places):
        names.append(axis.annotate(
            end.label, (end.x, end.y), (1 + 0.22 / box.width, place), textcoords="axes fraction", va="center", fontsize=9.5,
            fontweight="bold" if end.strong else "normal", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": end.color, "linewidth": 0.8, "alpha": 0.7, "shrinkA": 1, "shrinkB": 4, "relpos": (0, 0.5)}))
    right = box.x1 + 0.22 + max((text_width(name) for name in names), default=0)
    above = max(1.0, places[-1] + 0.7 * LABEL_GAP / 72 / box.height) + 0.012 if places else 1.0
    for i in range(max((len(end.values) for end in ends), default=0)):
        cells = [axis.text(1, place, end.values[i], transform=axis.transAxes, va="center", ha="right", fontsize=9.5,
                           fontweight="bold" if end.strong and i == 0 else "normal", color=ink(soft=i > 0))
                 for end, place in zip(ends, places) if i < len(end.values)]
        if i < len(columns):
            cells.append(axis.text(1, above, columns[i], transform=axis.transAxes, ha="right", fontsize=8.5, color=ink(soft=True)))
        right += COLUMN_SPACE + max(text_width(cell) for cell in cells)
        for cell in cells:
            cell.set_x((right - box.x0) / box.width)


def move_beside(axis, other, space: float = 0.3) -> None:
    """Moves the axes with all their texts to the right of `other` and its texts."""
    figure = axis.figure
    figure.canvas.draw()
    before, box = (axes.get_tightbbox(figure.canvas.get_renderer()).transformed(figure.dpi_scale_trans.inverted()) for axes in (other, axis))
    place = axis.get_position()
    axis.set_position([place.x0 + (before.x1 + space - box.x0) / figure.get_figwidth(), place.y0, place.width, place.height])


def halo() -> list:
    """Returns a path effect that separates letters from a line behind them."""
    return [withStroke(linewidth=3, foreground=plt.rcParams["figure.facecolor"])]


def finish(figure, title: str, subtitle: str, origin: str) -> None:
    """Writes title and subtitle above the figure and the origin of the numbers below it."""
    figure.canvas.draw()
    box = figure.get_tightbbox(figure.canvas.get_renderer())  # in inches
    wide, high = figure.get_size_inches()

    def write(y: float, text: str, **look) -> None:
        figure.text(box.x0 / wide, y / high, text, **look)
    write(box.y1 + 0.36, title, fontsize=14.5, fontweight="bold", va="bottom")
    write(box.y1 + 0.14, subtitle, fontsize=9.5, color=ink(soft=True), va="bottom")
    write(box.y0 - 0.13, origin, fontsize=8, color=ink(soft=True), va="top")


@contextmanager
def use_theme(theme: str) -> Iterator[None]:
    strong, soft, line = COLORS[theme]
    colors = {"figure.facecolor": PAPER[theme], "savefig.facecolor": PAPER[theme], "text.color": strong, "axes.titlecolor": strong,
              "axes.labelcolor": soft, "xtick.color": soft, "ytick.color": soft, "grid.color": line}
    with plt.style.context([COMMON_STYLE, colors]):
        yield


def save(draw: Callable[[str], object], path: Path) -> None:
    """Saves draw(theme) as PNG and SVG for each theme."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for theme in PAPER:
        with use_theme(theme):
            figure = draw(theme)
            for suffix in ("png", "svg"):
                file = path.with_name(f"{path.name}-{theme}.{suffix}")
                figure.savefig(file)
                if suffix == "png":
                    reduce_colors(file)
            plt.close(figure)
    print(f"  {path}-{{light,dark}}.{{png,svg}}")
