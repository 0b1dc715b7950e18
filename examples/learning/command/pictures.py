# SPDX-License-Identifier: Apache-2.0
"""Curves: accuracy after steps, a line for each model."""
from pathlib import Path

from report.colors import on_paper
from report.pictures.style import End, finish, ink, label_ends, plt, save

COLORS = ("#0b6e99", "#c8553d", "#5b8c3a", "#8a5aa8", "#b8860b", "#3d6fc8", "#a0446a", "#4a7c74")
CONTROL = "#777777"


def curves(series: list[tuple[str, list[tuple[int, float]]]], lines: dict[str, float], title: str, says: str, origin: str, path: Path) -> None:
    """`series`: a name and its points, (step, accuracy); `lines`: shares that are drawn across."""
    def one(theme: str):
        figure, axis = plt.subplots(figsize=(6.8, 4.4))
        colors, ends = iter(COLORS * 8), []
        for name, points in series:
            color = on_paper(CONTROL if name.startswith("none") else next(colors), theme)
            steps, shares = zip(*points)
            axis.plot(steps, [100 * share for share in shares], "--" if name.startswith("none") else "-", color=color, marker="o")
            ends.append(End(steps[-1], 100 * shares[-1], name, color, values=[f"{100 * shares[-1]:.1f} %"]))
        greatest = max(points[-1][0] for _, points in series)
        for name, share in lines.items():
            axis.axhline(100 * share, color=ink(soft=True), linewidth=0.9, linestyle=":")
            axis.text(greatest, 100 * share + 0.8, name, ha="right", va="bottom", fontsize=8.5, color=ink(soft=True))
        axis.set_xlim(0, None)
        axis.set_ylim(0, 102)
        axis.set_xlabel("training steps")
        axis.set_ylabel("accuracy of the test, percent")
        label_ends(axis, ends, ["at the end"])
        finish(figure, title, says, origin)
        return figure
    save(one, path)
