# SPDX-License-Identifier: Apache-2.0
"""Draws the arena."""
import math
from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from .arena_table import Row
from .contestants import CONTESTANTS, DIRECTIONS
from .plot import PLAIN, dress, finish, plt
from .results import size, time_of

TYPES = {"f32": "float", "bf16": "bfloat16"}


def series(rows: list[Row], value):
    """(contestant, lengths, values) of those that have any."""
    for who in CONTESTANTS:
        found = sorted((row.case.n, value(row)) for row in rows if row.who is who and value(row) is not None)
        if found:
            yield who, [n for n, _ in found], [v for _, v in found]


def lines(axis, rows: list[Row], value, lengths: list[int], formatter) -> None:
    # Lines that coincide stay visible because the later one is thinner.
    for who, n, v in series(rows, value):
        i = CONTESTANTS.index(who)
        baseline = who.subject == "softmax_attention"
        axis.plot(n, v, "--" if baseline else "-", color=who.color, marker=who.marker, markersize=7 - 0.25 * i, linewidth=3 - 0.16 * i,
                  label=who.label)
    dress(axis, lengths, formatter)


def shape_of(rows: list[Row]) -> str:
    case = rows[0].case
    where = "one thread" if case.backend == "host" else "one GPU"
    return f"text, [{case.b}, N, {case.c}], {where}"


def draw_time(rows: list[Row], below: str, path: Path) -> None:
    dtypes = [d for d in TYPES if any(row.case.dtype == d for row in rows)]
    lengths = sorted({row.case.n for row in rows})
    figure, axes = plt.subplots(len(dtypes), len(DIRECTIONS), sharex=True, sharey=True, squeeze=False,
                                figsize=(11.4, 4.2 * len(dtypes) + 1.2))
    for i, dtype in enumerate(dtypes):
        for j, direction in enumerate(DIRECTIONS):
            here = [row for row in rows if (row.case.direction, row.case.dtype) == (direction, dtype)]
            lines(axes[i][j], here, lambda row: row.case.seconds, lengths, FuncFormatter(lambda v, _: time_of(v)))
            axes[i][j].set_title(f"{DIRECTIONS[direction]}, {TYPES[dtype]}", fontsize=10)
        axes[i][0].set_ylabel("time of a call")
    for axis in axes[-1]:
        axis.set_xlabel("length N")
    finish(figure, axes.flat, f"Time against length ({shape_of(rows)})", below, path)


def draw_memory(rows: list[Row], below: str, path: Path) -> None:
    rows = [row for row in rows if row.case.dtype == "f32"]
    lengths = sorted({row.case.n for row in rows})
    training, forward = ([row for row in rows if row.case.direction == d] for d in ("training", "forward_values"))
    panels = ((training, "saved_bytes", "kept for backward"), (training, "peak_bytes", "peak, forward + backward"),
              (forward, "peak_bytes", "peak, forward"))
    figure, axes = plt.subplots(1, len(panels), squeeze=False, figsize=(13.2, 5.4))
    for axis, (here, counter, title) in zip(axes[0], panels):
        lines(axis, here, lambda row: row.case.value(counter) or None, lengths, FuncFormatter(lambda v, _: size(v, "g")))
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("length N")
    peaks = [axis.get_ylim() for axis in axes[0][1:]]
    for axis in axes[0][1:]:
        axis.set_ylim(min(low for low, _ in peaks), max(high for _, high in peaks))
    axes[0][0].set_ylabel("memory")
    finish(figure, axes.flat, f"Memory against length ({shape_of(rows)}, float)", below, path)


def draw_roofline(rows: list[Row], below: str, path: Path) -> None:
    longest = max(row.case.n for row in rows)
    rows = [row for row in rows if row.case.dtype == "f32" and row.case.n == longest and row.case.value("share_of_copy")]
    figure, (roof, bars) = plt.subplots(1, 2, figsize=(13.2, 6.0))
    copy, peak = (max(row.case.value(key) for row in rows) for key in ("copy_bytes_per_second", "peak_flops_per_second"))
    points = [row for row in rows if row.case.value("flops_per_second")]
    spots = [row.case.value("flops_per_byte") for row in points] + [peak / copy]
    low, high = min(spots) / 2, max(spots) * 2
    x = [low, peak / copy, high]
    roof.plot(x, [min(copy * at, peak) / 1e9 for at in x], color="#444444", linewidth=2)
    middle = math.sqrt(low * peak / copy)
    roof.text(middle, copy * middle / 1e9 * 1.3, f"copy, {copy / 1e9:.0f} GB/s ", fontsize=8, color="#444444", ha="right")
    roof.text(high, peak / 1e9 * 1.12, f"multiply-add, {peak / 1e9:.0f} GFLOP/s", fontsize=8, color="#444444", ha="right")
    for row in points:
        hollow = row.case.direction == "training"
        roof.plot([row.case.value("flops_per_byte")], [row.case.value("flops_per_second") / 1e9], row.who.marker, color=row.who.color, markersize=9,
                  markerfacecolor="white" if hollow else row.who.color, markeredgewidth=1.6, linestyle="none",
                  label=None if hollow else row.who.label)
    roof.set_xscale("log")
    roof.set_yscale("log")
    for axis in (roof.xaxis, roof.yaxis):
        axis.set_major_formatter(PLAIN)
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter(NullFormatter())
    roof.grid(True, color="#dddddd", linewidth=0.8)
    roof.set_xlabel("operations per byte that must move")
    roof.set_ylabel("GFLOP/s")
    roof.set_title(f"what is computed (N = {longest}; filled: forward, hollow: forward + backward)", fontsize=10)

    names = [who for who in CONTESTANTS if any(row.who is who for row in rows)]
    for offset, direction in ((-0.2, "forward_values"), (0.2, "training")):
        for y, who in enumerate(names):
            row = next((r for r in rows if r.who is who and r.case.direction == direction), None)
            if row:
                share, which = row.share
                bars.barh(y + offset, share * 100, 0.38, color=who.color, alpha=1.0 if direction == "forward_values" else 0.55)
                bars.text(share * 100 + 0.8, y + offset, f"{share:.0%} of {which}", va="center", fontsize=7.5, color="#444444")
    bars.set_yticks(range(len(names)), [who.label for who in names], fontsize=9)
    bars.invert_yaxis()
    bars.set_xlabel("per cent of the nearer roof")
    bars.set_xlim(0, max(100.0, 100 * max(row.share[0] for row in rows)) * 1.22)
    bars.set_title("share of the nearer roof (full color: forward, pale: forward + backward)", fontsize=10)
    for side in ("top", "right"):
        roof.spines[side].set_visible(False)
        bars.spines[side].set_visible(False)
    finish(figure, [roof], f"How near the machine's roofs ({shape_of(rows)}, float)", below, path)


def draw_circles(rows: list[Row], below: str, path: Path) -> None:
    """The papers' plot: speed, and memory as the circle's area."""
    rows = [row for row in rows if (row.case.dtype, row.case.direction) == ("f32", "training") and row.case.value("peak_bytes")]
    if not rows:
        return
    lengths = sorted({row.case.n for row in rows})
    most = max(row.case.value("peak_bytes") for row in rows)
    points_of = 3600 / most  # area in square points of a byte
    figure, axis = plt.subplots(figsize=(11, 7.4))
    for who, n, v in series(rows, lambda row: 1 / row.case.seconds):
        axis.plot(n, v, color=who.color, linewidth=0.8, alpha=0.6, zorder=2)
    for row in sorted(rows, key=lambda row: -row.case.value("peak_bytes")):
        axis.scatter([row.case.n], [1 / row.case.seconds], s=max(row.case.value("peak_bytes") * points_of, 6), color=row.who.color, alpha=0.55,
                     edgecolors=row.who.color, linewidths=1.2, zorder=3)
    dress(axis, lengths, PLAIN)
    axis.margins(x=0.09, y=0.16)
    axis.set_xlabel("length N")
    axis.set_ylabel("steps (forward + backward) per second")
    for who in CONTESTANTS:
        if any(row.who is who for row in rows):
            axis.plot([], [], "o", color=who.color, alpha=0.7, label=who.label)
    samples = [10**math.floor(math.log10(most)) / 10**k for k in (0, 1)]
    handles = [Line2D([], [], marker="o", linestyle="none", color="#bbbbbb", markersize=math.sqrt(max(s * points_of, 6)), label=size(s, "g"))
               for s in samples]
    axis.add_artist(axis.legend(handles=handles, title="peak memory", loc="lower left", frameon=False, labelspacing=2.2, borderpad=1.6,
                                handletextpad=2.2))
    finish(figure, [axis], f"Speed, length and memory ({shape_of(rows)}, float; area: peak memory)", below, path)


def draw(rows: list[Row], below: str, folder: Path) -> None:
    rows = [row for row in rows if not row.case.failed]
    if not rows:
        return
    draw_time(rows, below, folder / "time")
    draw_memory(rows, below, folder / "memory")
    draw_roofline(rows, below, folder / "roofline")
    draw_circles(rows, below, folder / "circles")
