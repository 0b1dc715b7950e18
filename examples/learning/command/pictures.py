# SPDX-License-Identifier: Apache-2.0
"""Curves: accuracy after steps, a line for each model."""
from pathlib import Path

from report.colors import on_paper
from report.pictures.style import End, finish, ink, label_ends, plt, save

from .figures import Curve

COLORS = ("#0b6e99", "#c8553d", "#5b8c3a", "#8a5aa8", "#b8860b", "#3d6fc8", "#a0446a", "#4a7c74")
CONTROL = "#777777"


def curves(series: list[Curve], lines: dict[str, float], title: str, says: str, origin: str, path: Path) -> None:
    """`lines`: shares that are drawn across, by what they are."""
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
