# SPDX-License-Identifier: Apache-2.0
"""Pictures of the arena: speedup, memory, roofline, and circles as in the papers."""
import math
from collections.abc import Callable
from pathlib import Path

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..arena_table import Row
from ..colors import on_paper
from ..entries import DIRECTIONS, ENTRIES, Entry
from ..results import TYPES, format_bytes
from .style import PLAIN, End, choose_round_numbers, figure_height, finish, format_axes, halo, ink, label_ends, move_beside, plt, save


def is_dashed(entry: Entry) -> bool:
    return entry.subject == "softmax_attention"


def entries_of(rows: list[Row]) -> list[Entry]:
    """Returns the entries of the rows, in the order of the tables."""
    return sorted({row.entry for row in rows}, key=ENTRIES.index)


def keep_most_frequent_setting(rows: list[Row]) -> list[Row]:
    """Returns the rows of the most frequent batch, channels, input and number of threads."""
    def setting(row: Row) -> tuple:
        return row.case.b, row.case.c, row.case.input, row.case.t
    settings = [setting(row) for row in rows]
    common = max(dict.fromkeys(settings), key=settings.count)
    return [row for row in rows if setting(row) == common]


def subtitle_of(rows: list[Row]) -> str:
    case = rows[0].case
    processor = "one GPU" if case.backend == "cuda" else "one thread" if case.t == 1 else f"{case.t} threads"
    return f"{DIRECTIONS[case.direction]} of one operator, {TYPES[case.dtype]}, [{case.b}, N, {case.c}], {processor}"


def draw_lines(axis, rows: list[Row], value: Callable, interval: Callable | None, theme: str) -> list[tuple[Entry, Row, float]]:
    """Draws a line per entry, with the interval as a band. Returns each entry that has values, its last row, and the
    position of that row."""
    line_ends = []
    # With a single length, places the points side by side, the highest first.
    single_length_values = sorted((value(row) for row in rows if value(row)), reverse=True) if len({row.case.n for row in rows}) == 1 else []

    def position(row: Row) -> float:
        return row.case.n * (1.02**(single_length_values.index(value(row)) - len(single_length_values) / 2) if single_length_values else 1.0)
    for entry in sorted(entries_of(rows), key=lambda entry: entry.is_emphasized):  # emphasized lines on top
        entry_rows = sorted((row for row in rows if row.entry is entry and value(row)), key=lambda row: row.case.n)
        if not entry_rows:
            continue
        color, positions = on_paper(entry.color, theme), [position(row) for row in entry_rows]
        banded = [row for row in entry_rows if interval and interval(row)]
        low, high = ([interval(row)[i] for row in banded] for i in (0, 1))
        x = [position(row) for row in banded]
        if len(x) > 1:
            axis.fill_between(x, low, high, color=color, alpha=0.17, linewidth=0)
        else:
            axis.vlines(x, low, high, color=color, alpha=0.3, linewidth=5)
        axis.plot(positions, [value(row) for row in entry_rows], "--" if is_dashed(entry) else "-", color=color, marker="o",
                  **({"linewidth": 3, "markersize": 6} if entry.is_emphasized else {}))
        line_ends.append((entry, entry_rows[-1], positions[-1]))
    return line_ends


def make_end(entry: Entry, x: float, value: float, theme: str, *texts: str) -> End:
    return End(x, value, entry.label, on_paper(entry.color, theme), entry.is_emphasized, list(texts))


def format_times(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 9.95 else f"{ratio:.2g}x" if ratio < 1 else f"{ratio:.1f}x"


def draw_speedup(rows: list[Row], origin: str, theme: str):
    lengths = sorted({row.case.n for row in rows})
    figure, axis = plt.subplots(figsize=(7.4, figure_height(len(entries_of(rows)))))
    axis.axhline(1, color=ink(), linewidth=1.3, zorder=1.5)
    line_ends = draw_lines(axis, rows, lambda row: row.speedup.middle,
                           lambda row: (row.speedup.low, row.speedup.high) if 0 < row.speedup.low and row.speedup.high < math.inf else None, theme)
    format_axes(axis, lengths, FuncFormatter(lambda v, _: f"{v:g}x"))
    axis.set_xlabel("length N")
    axis.annotate("streaming softmax attention = 1", (0, 1), (4, 4), xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=8.5,
                  path_effects=halo())
    ends = [make_end(entry, x, row.speedup.middle, theme, format_times(row.speedup.middle), format_bytes(row.case.value("peak_bytes"), ".3g") if row.case.value("peak_bytes") else "")
            for entry, row, x in line_ends]
    label_ends(axis, ends, [f"at {lengths[-1]}", "peak memory"])
    finish(figure, "How many times as fast as softmax attention", f"{subtitle_of(rows)}; band: 95 % interval; higher is better", origin)
    return figure


def draw_memory(rows: list[Row], origin: str, theme: str):
    lengths = sorted({row.case.n for row in rows})
    panels = (("peak_bytes", "peak of data and call, measured"), ("saved_bytes", "saved by forward for backward"))
    figure, axes = plt.subplots(1, 2, figsize=(11.6, figure_height(len(entries_of(rows)))), gridspec_kw={"wspace": 1})
    for axis, (counter, title) in zip(axes, panels):
        line_ends = draw_lines(axis, rows, lambda row: row.case.value(counter), None, theme)
        format_axes(axis, lengths, FuncFormatter(lambda v, _: format_bytes(v, "g")))
        axis.set_title(title)
        axis.set_xlabel("length N")
        label_ends(axis, [make_end(entry, x, row.case.value(counter), theme, format_bytes(row.case.value(counter), ".3g")) for entry, row, x in line_ends], [f"at {lengths[-1]}"])
    move_beside(axes[1], axes[0])
    finish(figure, "Memory against length", f"{subtitle_of(rows)}; lower is better", origin)
    return figure


def draw_circles(rows: list[Row], origin: str, theme: str):
    """Draws speed against length, with memory as the area of a circle."""
    lengths = sorted({row.case.n for row in rows})
    largest = max(row.case.value("peak_bytes") for row in rows)
    area_per_byte = 2600 / largest  # area in square points
    figure, axis = plt.subplots(figsize=(7.4, max(5.6, figure_height(len(entries_of(rows))))))
    ends = []
    for entry in entries_of(rows):
        entry_rows = sorted((row for row in rows if row.entry is entry), key=lambda row: row.case.n)
        color = on_paper(entry.color, theme)
        axis.plot([row.case.n for row in entry_rows], [1 / row.case.seconds for row in entry_rows], color=color, linewidth=0.8, alpha=0.6)
        ends.append(make_end(entry, entry_rows[-1].case.n, 1 / entry_rows[-1].case.seconds, theme))
    for row in sorted(rows, key=lambda row: -row.case.value("peak_bytes")):
        color = on_paper(row.entry.color, theme)
        axis.scatter([row.case.n], [1 / row.case.seconds], s=max(row.case.value("peak_bytes") * area_per_byte, 6), color=color, alpha=0.5, edgecolors=color, zorder=3)
    axis.margins(x=0.1, y=0.1)
    format_axes(axis, lengths, PLAIN)
    axis.set_xlabel("length N")
    axis.set_ylabel("calls (forward + backward) per second")
    label_ends(axis, ends)
    legend_bytes = [10**math.floor(math.log10(largest)) / 10**k for k in (0, 1)]
    handles = [Line2D([], [], marker="o", linestyle="none", color=ink(soft=True), alpha=0.5, markersize=math.sqrt(max(s * area_per_byte, 6)), label=format_bytes(s, "g"))
               for s in legend_bytes]
    axis.legend(handles=handles, title="peak memory", loc="lower left", labelspacing=1.6, borderpad=1.0, handletextpad=1.8, fontsize=9, title_fontsize=9)
    finish(figure, "Speed, length and memory", f"{subtitle_of(rows)}; area: peak memory; higher is better", origin)
    return figure


def draw_roofline(rows: list[Row], origin: str, theme: str):
    """Draws a roofline plot, and each entry's throughput as a fraction of its nearer roof."""
    entries = entries_of(rows)
    figure, (roof, bars) = plt.subplots(1, 2, figsize=(12, figure_height(len(entries))), gridspec_kw={"wspace": 1.25})
    copy_bandwidth, peak_flops = (max(row.case.value(key) for row in rows) for key in ("copy_bytes_per_second", "peak_flops_per_second"))
    points = [row for row in rows if row.case.value("flops_per_second")]
    intensities = [row.case.value("flops_per_byte") for row in points] + [peak_flops / copy_bandwidth]
    x = [min(intensities) / 2, peak_flops / copy_bandwidth, max(intensities) * 2]
    roof.plot(x, [min(copy_bandwidth * intensity, peak_flops) / 1e9 for intensity in x], color=ink(), linewidth=1.6)
    for row in points:
        color = on_paper(row.entry.color, theme)
        hollow = row.case.direction == "training"
        roof.plot([row.case.value("flops_per_byte")], [row.case.value("flops_per_second") / 1e9], "o", color=color, markersize=8, markeredgewidth=1.6,
                  markerfacecolor=plt.rcParams["figure.facecolor"] if hollow else color)
    roof.set_xscale("log")
    roof.set_yscale("log")
    for axis, (low, high) in ((roof.xaxis, roof.get_xlim()), (roof.yaxis, roof.get_ylim())):
        axis.set_major_locator(FixedLocator(choose_round_numbers(low, high, 8)))
        axis.set_major_formatter(PLAIN)
        axis.set_minor_locator(NullLocator())
    label_x = math.sqrt(x[0] * x[1])
    roof.annotate(f"copy {copy_bandwidth / 1e9:.0f} GB/s", (label_x, copy_bandwidth * label_x / 1e9), (7, -9), textcoords="offset points", fontsize=8.5, color=ink(soft=True),
                  path_effects=halo())
    roof.annotate(f"multiply-add {peak_flops / 1e9:.0f} GFLOP/s", (x[2], peak_flops / 1e9), (0, 5), textcoords="offset points", fontsize=8.5, ha="right", color=ink(soft=True),
                  path_effects=halo())
    label_points(roof, [row for row in points if row.case.direction != "training"], theme)
    roof.set_xlabel("operations per byte of inputs and outputs")
    roof.set_ylabel("GFLOP/s")
    roof.set_title("speed of computing")

    for y, entry in enumerate(entries):
        shares = {row.case.direction: row.share for row in rows if row.entry is entry}
        for offset, direction in ((-0.2, "forward_values"), (0.2, "training")):
            if direction in shares:
                bars.barh(y + offset, shares[direction][0] * 100, 0.36, color=on_paper(entry.color, theme), alpha=1.0 if direction == "forward_values" else 0.5)
        bars.annotate(format_shares(list(shares.values())), (100 * max(share for share, _ in shares.values()), y), (4, 0), textcoords="offset points",
                      va="center", fontsize=7.5, color=ink(soft=True))
    bars.set_yticks(range(len(entries)), [entry.label for entry in entries])
    for y in range(1, len(entries)):  # a line between families
        if entries[y].family != entries[y - 1].family:
            bars.axhline(y - 0.5, color=ink(soft=True), linewidth=0.6)
    bars.invert_yaxis()
    bars.grid(False, axis="y")
    bars.tick_params(axis="y", labelcolor=ink())
    bars.set_xlabel("per cent of the nearer roof")
    bars.set_xlim(0, 1.05 * max(100 * row.share[0] for row in rows))
    bars.set_title("share of the nearer roof")
    move_beside(bars, roof)
    case = rows[0].case
    finish(figure, "Share of the machine's roofs", f"N = {case.n}, {TYPES[case.dtype]}, [{case.b}, {case.n}, {case.c}]; full: forward, hollow or pale: forward + backward; "
           "higher is better", origin)
    return figure


def format_shares(shares: list[tuple[float, str]]) -> str:
    """Formats the shares of both directions in one line. Names a common roof once."""
    same = len({roof for _, roof in shares}) == 1
    return ", ".join(f"{share:.0%}" + (f" {roof}" if not same or i == len(shares) - 1 else "") for i, (share, roof) in enumerate(shares))


def label_points(axis, rows: list[Row], theme: str) -> None:
    label_ends(axis, [End(row.case.value("flops_per_byte"), row.case.value("flops_per_second") / 1e9, row.entry.label, on_paper(row.entry.color, theme),
                          row.entry.is_emphasized) for row in rows])


def pictures_of(rows: list[Row]) -> dict[str, tuple[Callable, list[Row]]]:
    """Returns the pictures of these rows: function and rows by name."""
    rows = [row for row in rows if not row.case.failure]
    if not rows:
        return {}
    rows = keep_most_frequent_setting(rows)
    dtype = "f32" if any(row.case.dtype == "f32" for row in rows) else rows[0].case.dtype
    rows = [row for row in rows if row.case.dtype == dtype]
    training = [row for row in rows if row.case.direction == "training"] or rows
    longest = max(row.case.n for row in rows)
    pictures = {"speedup": (draw_speedup, [row for row in training if row.speedup]),
             "memory": (draw_memory, [row for row in training if row.case.value("peak_bytes")]),
             "roofline": (draw_roofline, [row for row in rows if row.case.n == longest and row.case.value("share_of_copy")]),
             "circles": (draw_circles, [row for row in training if row.case.value("peak_bytes")])}
    return {stem: (function, rows) for stem, (function, rows) in pictures.items() if rows}


def draw(rows: list[Row], origin: str, folder: Path) -> None:
    for stem, (function, shown) in pictures_of(rows).items():
        save(lambda theme, function=function, shown=shown: function(shown, origin, theme), folder / stem)
