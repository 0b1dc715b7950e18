# SPDX-License-Identifier: Apache-2.0
"""Draws csp's time against the size of its groups."""
import statistics
from pathlib import Path

from .plot import PLAIN, dress, finish, plt
from .results import Case

SERIES = (  # policy, subject, direction: label, color, marker, style
    ("linear-reference", "csp", "forward", "csp, reference", "#0b6e99", "o", "-"),
    ("linear-ascending", "csp", "forward", "csp, ascending", "#5b8c3a", "^", "-"),
    ("linear-reference", "csp", "backward", "csp, backward", "#c8553d", "D", "-"),
    ("linear-ascending", "baseline_std_sort", "forward", "std::sort of groups (G > 2)", "#444444", "s", "--"),
    ("linear-reference", "baseline_naive_scatter", "backward", "naive scatter (backward)", "#777777", "P", "--"),
    ("linear-reference", "baseline_memcpy", "forward", "memcpy of x", "#999999", "", "--"),
)


def draw(cases: list[Case], below: str, path: Path) -> None:
    """`cases` have one shape, of float and of one thread."""
    figure, axis = plt.subplots(figsize=(8, 5.2))
    for policy, subject, direction, label, color, marker, style in SERIES:
        found = sorted((case.group, statistics.median(case.times())) for case in cases
                       if (case.subject, case.direction) == (subject, direction) and case.policy.startswith(policy))
        if found:
            axis.plot(*zip(*found), style, label=label, color=color, marker=marker, markersize=5)
    groups = sorted({case.group for case in cases})
    dress(axis, groups, PLAIN)
    axis.set_xticks(groups, [str(group) for group in groups])
    axis.yaxis.set_minor_formatter(PLAIN)
    axis.set_xlabel(f"rows of a group (of {cases[0].n})")
    axis.set_ylabel("nanoseconds per element")
    title = f"csp, float, time against group size ([{cases[0].b}, {cases[0].n}, {cases[0].c}], linear shifts)"
    finish(figure, [axis], title, below, path, columns=3)
