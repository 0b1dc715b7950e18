# SPDX-License-Identifier: Apache-2.0
"""What every picture has in common: axes, legend, and files as PNG and SVG."""
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: E402

plt.rcParams["svg.fonttype"] = "none"
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")


def dress(axis, lengths: list[int], formatter) -> None:
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    shown = [n for n in lengths if len(lengths) <= 6 or n & (n - 1) == 0 and n.bit_length() % 2 == 1]
    axis.set_xticks(shown, [f"{n >> 10}K" if n >= 1 << 14 else str(n) for n in shown])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(formatter)
    axis.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid(True, which="major", color="#dddddd", linewidth=0.8)
    axis.grid(True, which="minor", axis="y", color="#eeeeee", linewidth=0.5)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def finish(figure, axes, title: str, below: str, path: Path, columns: int = 4) -> None:
    """One legend for all panels, under them; then both files."""
    entries = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            entries.setdefault(label, handle)
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    figure.text(0.01, 0.005, below, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    bottom = figure.subplotpars.bottom
    inches = 0.34 * -(-len(entries) // columns) + 0.12
    figure.subplots_adjust(bottom=bottom + inches / figure.get_figheight())
    figure.legend(entries.values(), entries.keys(), loc="lower center", ncol=columns, frameon=False,
                  bbox_to_anchor=(0.5, 0.025))
    path.parent.mkdir(parents=True, exist_ok=True)
    for suffix in ("png", "svg"):
        figure.savefig(path.with_suffix("." + suffix), dpi=150)
        print(f"  {path.with_suffix('.' + suffix)}")
    plt.close(figure)
