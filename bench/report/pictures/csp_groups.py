# SPDX-License-Identifier: Apache-2.0
"""Draws the time of csp against the group size."""
import statistics
from pathlib import Path

from ..arena_table import describe_machine
from ..colors import on_paper
from ..results import Case, load
from .style import PLAIN, End, finish, format_axes, label_ends, plt, save

SERIES = (  # policy, subject, direction: label, color, style
    ("linear-reference", "csp", "forward", "csp, reference", "#0b6e99", "-"),
    ("linear-ascending", "csp", "forward", "csp, ascending", "#5b8c3a", "-"),
    ("linear-reference", "csp", "backward", "csp, backward", "#c8553d", "-"),
    ("linear-ascending", "baseline_std_sort", "forward", "std::sort of groups (G > 2)", "#444444", "--"),
    ("linear-reference", "baseline_naive_scatter", "backward", "naive scatter (backward)", "#777777", "--"),
    ("linear-reference", "baseline_memcpy", "forward", "memcpy of x", "#999999", "--"),
)


def draw(results: Path) -> None:
    """Draws the shape with the most group sizes, in float and on one thread."""
    context, found_cases = load(str(results))
    shapes: dict[str, list[Case]] = {}
    for case in found_cases.values():
        if (case.backend, case.dtype, case.input, case.t) == ("host", "f32", "normal", 1) and case.policy.startswith("linear-"):
            shapes.setdefault(case.shape, []).append(case)
    if not shapes:
        return
    cases = max(shapes.values(), key=lambda found: len({case.rows_per_group for case in found}))

    def draw_theme(theme: str):
        figure, axis = plt.subplots(figsize=(6.6, 4.6))
        ends = []
        for policy, subject, direction, label, color, style in SERIES:
            found = sorted((case.rows_per_group, statistics.median(case.times())) for case in cases
                           if (case.subject, case.direction) == (subject, direction) and case.policy.startswith(policy))
            if found:
                axis.plot(*zip(*found), style, color=on_paper(color, theme), marker="o")
                ends.append(End(*found[-1], label, on_paper(color, theme)))
        groups = sorted({case.rows_per_group for case in cases})
        format_axes(axis, groups, PLAIN)
        axis.set_xticks(groups, [str(group) for group in groups])
        axis.set_xlabel(f"rows of a group (of {cases[0].n})")
        axis.set_ylabel("nanoseconds per element")
        label_ends(axis, ends)
        finish(figure, "csp: time against the size of its groups",
               f"float, [{cases[0].b}, {cases[0].n}, {cases[0].c}], linear shifts, one thread; lower is better", describe_machine(context))
        return figure
    save(draw_theme, results.with_suffix("") / "csp_group_size")
