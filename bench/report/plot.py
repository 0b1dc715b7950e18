#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the results of a run, each figure as PNG and SVG: plot.py RESULTS.json FOLDER [--clock cpu]"""
import argparse
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: E402

from .results import DTYPES, Case, load, run_main, size  # noqa: E402

STYLE = {  # title: label, color, marker; ours solid, baselines dashed grey
    "slicing_sort": ("slicing_sort", "#0b6e99", "o"),
    "multi_permutation": ("multi_permutation, K = 2", "#c8553d", "D"),
    "max_exchange": ("max_exchange", "#5b8c3a", "^"),
    "shuffle": ("shuffle", "#8d5fa8", "v"),
    "shuffle_per_channel": ("shuffle, per channel", "#c79bd6", "<"),
    "csp linear-reference-G:2": ("csp, pairs", "#d9a404", "p"),
    "csp linear-reference-G:16": ("csp, groups of 16", "#8a6a00", "h"),
    "sparse_mix chord-per_factor": ("sparse_mix, CHORD", "#b0307a", "X"),
    "sparse_mix cdil-per_factor": ("sparse_mix, CDIL", "#3a4f8f", "*"),
    "baseline_std_sort": ("std::sort by column", "#444444", "s"),
    "baseline_naive_scatter": ("naive scatter", "#444444", "P"),
    "baseline_memcpy": ("memcpy of x", "#999999", ""),
}
TITLES = {"f32": "float", "f64": "double", "f16": "half", "bf16": "bfloat16"}
DIRECTIONS = ("forward", "backward")
INPUTS = ("normal", "uniform", "few_unique", "relu", "sorted", "reversed", "constant", "text")


def lines(cases: list[Case], title: str, value) -> tuple[list[int], list[float]]:
    found = sorted((case.n, value(case)) for case in cases if case.title == title)
    return [n for n, _ in found], [v for _, v in found]


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


def finish(figure, axes, title: str, below: str, path: Path, columns: int = 5) -> None:
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
    for suffix in ("png", "svg"):
        figure.savefig(path.with_suffix("." + suffix), dpi=150)
        print(f"  {path.with_suffix('.' + suffix)}")
    plt.close(figure)


def shape_of(cases: list[Case]) -> str:
    return f"{cases[0].input} input, [{cases[0].b}, N, {cases[0].c}], one thread"


def draw_speed(cases: list[Case], below: str, path: Path) -> None:
    dtypes = [d for d in DTYPES if any(case.dtype == d for case in cases)]
    directions = [d for d in DIRECTIONS if any(case.direction == d for case in cases)]
    lengths = sorted({case.n for case in cases})
    figure, axes = plt.subplots(len(directions), len(dtypes), sharex=True, sharey=True, squeeze=False,
                                figsize=(3.1 * len(dtypes) + 0.9, 2.7 * len(directions) + 1.2))
    for i, direction in enumerate(directions):
        for j, dtype in enumerate(dtypes):
            here = [case for case in cases if (case.direction, case.dtype) == (direction, dtype)]
            for subject, (label, color, marker) in STYLE.items():
                x, y = lines(here, subject, lambda case: case.median("items_per_second"))
                ours = not subject.startswith("baseline")
                if x:
                    axes[i][j].plot(x, y, "-" if ours else "--", label=label, color=color, marker=marker, markersize=5,
                                    linewidth=2.2 if subject == "slicing_sort" else 1.4,
                                    zorder=3 if ours else 2)
            if direction == "forward":
                bare = [case for case in cases if (case.direction, case.dtype) == ("forward_values", dtype)]
                x, y = lines(bare, "slicing_sort", lambda case: case.median("items_per_second"))
                axes[i][j].plot(x, y, ":", label="slicing_sort, nothing saved", color=STYLE["slicing_sort"][1], marker="o",
                                markerfacecolor="white", markersize=5, linewidth=1.6)
            dress(axes[i][j], lengths, EngFormatter(places=0, sep=" "))
            axes[i][j].set_title(f"{TITLES[dtype]}, {direction}", fontsize=10)
        axes[i][0].set_ylabel("elements per second")
    for axis in axes[-1]:
        axis.set_xlabel("length N")
    finish(figure, axes.flat, f"Speed against length ({shape_of(cases)}); higher is better", below, path)


def draw_memory(cases: list[Case], below: str, path: Path) -> None:
    forward = [case for case in cases if case.direction == "forward"]
    dtypes = [d for d in DTYPES if any(case.dtype == d for case in forward)]
    lengths = sorted({case.n for case in forward})
    figure, axes = plt.subplots(1, len(dtypes), sharey=True, squeeze=False, figsize=(3.1 * len(dtypes) + 0.9, 5.2))
    for axis, dtype in zip(axes[0], dtypes):
        here = [case for case in forward if case.dtype == dtype]
        width = {"f64": 8, "f32": 4}.get(dtype, 2)

        def plot(subject, value, label, color, style, marker, linewidth=1.5):
            x, y = lines(here, subject, value)
            if x and max(y) > 0:
                axis.plot(x, y, style, label=label, color=color, marker=marker, markersize=3.2 + 1.2 * linewidth,
                          linewidth=linewidth)

        # Lines that coincide (indices as wide as the values; two operators that keep the same) stay visible
        # because the later one is thinner.
        plot("slicing_sort", lambda case: case.elements * width, "the tensor x itself", "#cccccc", "-", "", 8)
        for subject, (label, color, marker) in STYLE.items():
            if subject.startswith("baseline"):
                continue
            named = label if " " in subject else subject
            plot(subject, lambda case: case.median("saved_bytes"), f"{named}, kept for backward", color, "-", marker,
                 4 if subject == "slicing_sort" else 1.5)
            plot(subject, lambda case: case.median("workspace_bytes"), f"{named}, workspace", color, ":", marker)
        plot("baseline_std_sort", lambda case: case.median("workspace_bytes"), "std::sort by column, scratch", "#444444",
             ":", "s")
        dress(axis, lengths, FuncFormatter(lambda value, _: size(value, "g")))
        axis.set_title(TITLES[dtype], fontsize=10)
        axis.set_xlabel("length N")
    axes[0][0].set_ylabel("memory")
    finish(figure, axes.flat, f"Memory against length, forward ({shape_of(forward)})", below, path, columns=4)


def draw_inputs(cases: list[Case], below: str, path: Path) -> None:
    lengths = sorted({case.n for case in cases})
    figure, axis = plt.subplots(figsize=(8, 5.2))
    for i, name in enumerate(name for name in INPUTS if any(case.input == name for case in cases)):
        x, y = lines([case for case in cases if case.input == name], "slicing_sort", lambda c: c.median("ns_per_element"))
        axis.plot(x, y, label=name, color=plt.get_cmap("tab10")(i), marker="osD^vPX*"[i], markersize=5)
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    dress(axis, lengths, plain)
    axis.yaxis.set_minor_formatter(plain)
    axis.set_xlabel("length N")
    axis.set_ylabel("nanoseconds per element")
    finish(figure, [axis], f"slicing_sort, float, forward, by input ([1, N, {cases[0].c}])", below, path)


GROUPED = (  # policy, subject, direction: label, color, marker, style
    ("linear-reference", "csp", "forward", "csp, reference", "#0b6e99", "o", "-"),
    ("linear-ascending", "csp", "forward", "csp, ascending", "#5b8c3a", "^", "-"),
    ("linear-reference", "csp", "backward", "csp, backward", "#c8553d", "D", "-"),
    ("linear-ascending", "baseline_std_sort", "forward", "std::sort of groups (G > 2)", "#444444", "s", "--"),
    ("linear-reference", "baseline_naive_scatter", "backward", "naive scatter (backward)", "#777777", "P", "--"),
    ("linear-reference", "baseline_memcpy", "forward", "memcpy of x", "#999999", "", "--"),
)


def draw_groups(cases: list[Case], clock: str, below: str, path: Path) -> None:
    figure, axis = plt.subplots(figsize=(8, 5.2))
    for policy, subject, direction, label, color, marker, style in GROUPED:
        found = sorted((case.group, statistics.median(case.times(clock))) for case in cases if (case.subject, case.direction) ==
                       (subject, direction) and case.policy.startswith(policy))
        if found:
            axis.plot(*zip(*found), style, label=label, color=color, marker=marker, markersize=5)
    groups = sorted({case.group for case in cases})
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    dress(axis, groups, plain)
    axis.set_xticks(groups, [str(group) for group in groups])
    axis.yaxis.set_minor_formatter(plain)
    axis.set_xlabel(f"rows of a group (of {cases[0].n})")
    axis.set_ylabel("nanoseconds per element" + (", of CPU time" if clock == "cpu" else ""))
    finish(figure, [axis], f"csp, float, time against group size ([1, {cases[0].n}, {cases[0].c}], linear shifts)", below, path, 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: of the calling thread, for the figure about groups, on a busy machine")
    arguments = parser.parse_args()
    context, found = load(arguments.results)
    of_host = [case for case in found.values() if case.backend == "host" and case.t == 1 and "@" not in case.subject]
    cases = [case for case in of_host if case.policy == "ascending" or case.title in STYLE]
    below = (f"{context.get('cpu')} ({context.get('instruction_set')}), {context.get('compiler')}, {context.get('flags')}; "
             f"commit {context.get('commit', 'unknown')}, {context.get('date', '')[:10]}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update({"font.size": 10, "svg.fonttype": "none"})
    text = [case for case in cases if case.input == "text" and case.b > 1]
    if text:
        draw_speed(text, below, arguments.folder / "speed")
        draw_memory(text, below, arguments.folder / "memory")
    by_input = [case for case in cases if case.b == 1 and (case.subject, case.direction, case.dtype, case.c) ==
                ("slicing_sort", "forward", "f32", 512)]
    if len({case.input for case in by_input}) > 1:
        draw_inputs(by_input, below, arguments.folder / "inputs")
    grouped = [case for case in of_host if case.policy.startswith("linear-") and (case.b, case.n, case.c, case.dtype, case.input) ==
               (1, 4096, 512, "f32", "normal")]
    if len({case.group for case in grouped}) > 6:
        draw_groups(grouped, arguments.clock, below, arguments.folder / "groups")
    return 0


if __name__ == "__main__":
    run_main(main)
