# SPDX-License-Identifier: Apache-2.0
"""Draws the arena: how many times as fast, the memory, how near the roofs, and the papers' circles."""
import math
from collections.abc import Callable
from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..arena_table import Row
from ..colors import on_paper
from ..contestants import CONTESTANTS, DIRECTIONS, Contestant
from ..results import TYPES, size
from .style import PLAIN, End, dress, finish, halo, height_for, ink, label_ends, plt, put_beside, round_numbers, save


def is_dashed(who: Contestant) -> bool:
    return who.subject == "softmax_attention"


def contestants_of(rows: list[Row]) -> list[Contestant]:
    """In the order of the tables."""
    return sorted({row.who for row in rows}, key=CONTESTANTS.index)


def one_shape(rows: list[Row]) -> list[Row]:
    """The rows of the shape that has most of them: a picture has one."""
    def shape(row: Row) -> tuple:
        return row.case.b, row.case.c, row.case.input, row.case.t
    shapes = [shape(row) for row in rows]
    most = max(dict.fromkeys(shapes), key=shapes.count)
    return [row for row in rows if shape(row) == most]


def said_of(rows: list[Row]) -> str:
    case = rows[0].case
    where = "one GPU" if case.backend == "cuda" else "one thread" if case.t == 1 else f"{case.t} threads"
    return f"{DIRECTIONS[case.direction]} of one operator, {TYPES[case.dtype]}, [{case.b}, N, {case.c}], {where}"


def draw_lines(axis, rows: list[Row], value: Callable, between: Callable | None, theme: str) -> list[tuple[Contestant, Row, float]]:
    """A line for each contestant, with a band between two values of each row; returns the last row of each, and where it is."""
    lasts = []
    # Of one length there are no lines: the points stand side by side, the highest first, so that their intervals can be seen.
    alone = sorted((value(row) for row in rows if value(row)), reverse=True) if len({row.case.n for row in rows}) == 1 else []

    def at(row: Row) -> float:
        return row.case.n * (1.02**(alone.index(value(row)) - len(alone) / 2) if alone else 1.0)
    for who in sorted(contestants_of(rows), key=lambda who: who.strong):  # what matters lies above
        found = sorted((row for row in rows if row.who is who and value(row)), key=lambda row: row.case.n)
        if not found:
            continue
        color, n = on_paper(who.color, theme), [at(row) for row in found]
        banded = [row for row in found if between and between(row)]
        low, high = ([between(row)[i] for row in banded] for i in (0, 1))
        x = [at(row) for row in banded]
        if len(x) > 1:
            axis.fill_between(x, low, high, color=color, alpha=0.17, linewidth=0)
        else:
            axis.vlines(x, low, high, color=color, alpha=0.3, linewidth=5)
        axis.plot(n, [value(row) for row in found], "--" if is_dashed(who) else "-", color=color, marker="o",
                  **({"linewidth": 3, "markersize": 6} if who.strong else {}))
        lasts.append((who, found[-1], n[-1]))
    return lasts


def end_of(who: Contestant, x: float, value: float, theme: str, *said: str) -> End:
    return End(x, value, who.label, on_paper(who.color, theme), who.strong, list(said))


def times(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 9.95 else f"{ratio:.2g}x" if ratio < 1 else f"{ratio:.1f}x"


def draw_speedup(rows: list[Row], origin: str, theme: str):
    lengths = sorted({row.case.n for row in rows})
    figure, axis = plt.subplots(figsize=(7.4, height_for(len(contestants_of(rows)))))
    axis.axhline(1, color=ink(), linewidth=1.3, zorder=1.5)
    lasts = draw_lines(axis, rows, lambda row: row.against.middle,
                       lambda row: (row.against.low, row.against.high) if 0 < row.against.low and row.against.high < math.inf else None, theme)
    dress(axis, lengths, FuncFormatter(lambda v, _: f"{v:g}x"))
    axis.set_xlabel("length N")
    axis.annotate("streaming softmax attention = 1", (0, 1), (4, 4), xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8.5,
                  path_effects=halo())
    ends = [end_of(who, x, row.against.middle, theme, times(row.against.middle), size(row.case.value("peak_bytes"), ".3g") if row.case.value("peak_bytes") else "")
            for who, row, x in lasts]
    label_ends(axis, ends, [f"at {lengths[-1]}", "peak memory"])
    finish(figure, "How many times as fast as softmax attention", f"{said_of(rows)}; band: 95 % interval; higher is better", origin)
    return figure


def draw_memory(rows: list[Row], origin: str, theme: str):
    lengths = sorted({row.case.n for row in rows})
    panels = (("peak_bytes", "peak of data and call, measured"), ("saved_bytes", "kept from forward for backward"))
    figure, axes = plt.subplots(1, 2, figsize=(11.6, height_for(len(contestants_of(rows)))), gridspec_kw={"wspace": 1})
    for axis, (counter, title) in zip(axes, panels):
        lasts = draw_lines(axis, rows, lambda row: row.case.value(counter), None, theme)
        dress(axis, lengths, FuncFormatter(lambda v, _: size(v, "g")))
        axis.set_title(title)
        axis.set_xlabel("length N")
        label_ends(axis, [end_of(who, x, row.case.value(counter), theme, size(row.case.value(counter), ".3g")) for who, row, x in lasts], [f"at {lengths[-1]}"])
    put_beside(axes[1], axes[0])
    finish(figure, "Memory against length", f"{said_of(rows)}; lower is better", origin)
    return figure


def draw_circles(rows: list[Row], origin: str, theme: str):
    """The papers' form: speed, and memory as the circle's area."""
    lengths = sorted({row.case.n for row in rows})
    most = max(row.case.value("peak_bytes") for row in rows)
    points_of = 2600 / most  # area in square points of a byte
    figure, axis = plt.subplots(figsize=(7.4, max(5.6, height_for(len(contestants_of(rows))))))
    lasts = []
    for who in contestants_of(rows):
        found = sorted((row for row in rows if row.who is who), key=lambda row: row.case.n)
        color = on_paper(who.color, theme)
        axis.plot([row.case.n for row in found], [1 / row.case.seconds for row in found], color=color, linewidth=0.8, alpha=0.6)
        lasts.append(end_of(who, found[-1].case.n, 1 / found[-1].case.seconds, theme))
    for row in sorted(rows, key=lambda row: -row.case.value("peak_bytes")):
        color = on_paper(row.who.color, theme)
        axis.scatter([row.case.n], [1 / row.case.seconds], s=max(row.case.value("peak_bytes") * points_of, 6), color=color, alpha=0.5, edgecolors=color, zorder=3)
    axis.margins(x=0.1, y=0.1)
    dress(axis, lengths, PLAIN)
    axis.set_xlabel("length N")
    axis.set_ylabel("calls (forward + backward) per second")
    label_ends(axis, lasts)
    samples = [10**math.floor(math.log10(most)) / 10**k for k in (0, 1)]
    handles = [Line2D([], [], marker="o", linestyle="none", color=ink(soft=True), alpha=0.5, markersize=math.sqrt(max(s * points_of, 6)), label=size(s, "g"))
               for s in samples]
    axis.legend(handles=handles, title="peak memory", loc="lower left", labelspacing=1.6, borderpad=1.0, handletextpad=1.8, fontsize=9, title_fontsize=9)
    finish(figure, "Speed, length and memory", f"{said_of(rows)}; area: peak memory; higher is better", origin)
    return figure


def draw_roofline(rows: list[Row], origin: str, theme: str):
    """What is computed under the two roofs, and everybody's share of the nearer one."""
    names = contestants_of(rows)
    figure, (roof, bars) = plt.subplots(1, 2, figsize=(12, height_for(len(names))), gridspec_kw={"wspace": 1.25})
    copy, peak = (max(row.case.value(key) for row in rows) for key in ("copy_bytes_per_second", "peak_flops_per_second"))
    points = [row for row in rows if row.case.value("flops_per_second")]
    spots = [row.case.value("flops_per_byte") for row in points] + [peak / copy]
    x = [min(spots) / 2, peak / copy, max(spots) * 2]
    roof.plot(x, [min(copy * at, peak) / 1e9 for at in x], color=ink(), linewidth=1.6)
    for row in points:
        color = on_paper(row.who.color, theme)
        hollow = row.case.direction == "training"
        roof.plot([row.case.value("flops_per_byte")], [row.case.value("flops_per_second") / 1e9], "o", color=color, markersize=8, markeredgewidth=1.6,
                  markerfacecolor=plt.rcParams["figure.facecolor"] if hollow else color)
    roof.set_xscale("log")
    roof.set_yscale("log")
    for axis, (low, high) in ((roof.xaxis, roof.get_xlim()), (roof.yaxis, roof.get_ylim())):
        axis.set_major_locator(FixedLocator(round_numbers(low, high, 8)))
        axis.set_major_formatter(PLAIN)
        axis.set_minor_locator(NullLocator())
    slope = math.sqrt(x[0] * x[1])
    roof.annotate(f"copy {copy / 1e9:.0f} GB/s", (slope, copy * slope / 1e9), (7, -9), textcoords="offset points", fontsize=8.5, color=ink(soft=True),
                  path_effects=halo())
    roof.annotate(f"multiply-add {peak / 1e9:.0f} GFLOP/s", (x[2], peak / 1e9), (0, 5), textcoords="offset points", fontsize=8.5, ha="right", color=ink(soft=True),
                  path_effects=halo())
    label_points(roof, [row for row in points if row.case.direction != "training"], theme)
    roof.set_xlabel("operations per byte that must move")
    roof.set_ylabel("GFLOP/s")
    roof.set_title("speed of computing")

    for y, who in enumerate(names):
        found = {row.case.direction: row.share for row in rows if row.who is who}
        for offset, direction in ((-0.2, "forward_values"), (0.2, "training")):
            if direction in found:
                bars.barh(y + offset, found[direction][0] * 100, 0.36, color=on_paper(who.color, theme), alpha=1.0 if direction == "forward_values" else 0.5)
        bars.annotate(said_of_shares(list(found.values())), (100 * max(share for share, _ in found.values()), y), (4, 0), textcoords="offset points",
                      va="center", fontsize=7.5, color=ink(soft=True))
    bars.set_yticks(range(len(names)), [who.label for who in names])
    bars.invert_yaxis()
    bars.grid(False, axis="y")
    bars.tick_params(axis="y", labelcolor=ink())
    bars.set_xlabel("per cent of the nearer roof")
    bars.set_xlim(0, 1.05 * max(100 * row.share[0] for row in rows))
    bars.set_title("share of the nearer roof")
    put_beside(bars, roof)
    case = rows[0].case
    finish(figure, "How near the machine's roofs", f"N = {case.n}, {TYPES[case.dtype]}, [{case.b}, {case.n}, {case.c}]; full: forward, hollow or pale: forward + backward; "
           "higher is better", origin)
    return figure


def said_of_shares(shares: list[tuple[float, str]]) -> str:
    """One line for both passes; the roof is named once where it is the same."""
    same = len({which for _, which in shares}) == 1
    return ", ".join(f"{share:.0%}" + (f" {which}" if not same or i == len(shares) - 1 else "") for i, (share, which) in enumerate(shares))


def label_points(axis, rows: list[Row], theme: str) -> None:
    label_ends(axis, [End(row.case.value("flops_per_byte"), row.case.value("flops_per_second") / 1e9, row.who.label, on_paper(row.who.color, theme),
                          row.who.strong) for row in rows])


def pictures_of(rows: list[Row]) -> dict[str, tuple[Callable, list[Row]]]:
    """Which pictures these rows make: how each is drawn, and of which of them."""
    rows = [row for row in rows if not row.case.failed]
    if not rows:
        return {}
    rows = one_shape(rows)
    dtype = "f32" if any(row.case.dtype == "f32" for row in rows) else rows[0].case.dtype
    rows = [row for row in rows if row.case.dtype == dtype]
    both = [row for row in rows if row.case.direction == "training"] or rows
    longest = max(row.case.n for row in rows)
    found = {"speedup": (draw_speedup, [row for row in both if row.against]),
             "memory": (draw_memory, [row for row in both if row.case.value("peak_bytes")]),
             "roofline": (draw_roofline, [row for row in rows if row.case.n == longest and row.case.value("share_of_copy")]),
             "circles": (draw_circles, [row for row in both if row.case.value("peak_bytes")])}
    return {stem: (how, of) for stem, (how, of) in found.items() if of}


def draw(rows: list[Row], origin: str, folder: Path) -> None:
    for stem, (how, of) in pictures_of(rows).items():
        save(lambda theme, how=how, of=of: how(of, origin, theme), folder / stem)
