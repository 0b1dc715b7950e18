# SPDX-License-Identifier: Apache-2.0
"""Finds the crossover: the measured length from which an operator is faster than streaming softmax attention. Causal operators are
compared with causal attention."""
from collections import defaultdict
from dataclasses import dataclass

from .entries import DIRECTIONS, Entry, find_softmax_case
from .ratios import speedup
from .results import Case, format_table


@dataclass(frozen=True)
class Crossing:
    """Outcomes (faster, slower, same, ambiguous) of one curve, by ascending length."""
    outcomes: tuple[tuple[int, str], ...]

    @property
    def first_win(self) -> int | None:
        """The shortest measured length from which it is always faster."""
        found = None
        for n, outcome in reversed(self.outcomes):
            if outcome != "faster":
                break
            found = n
        return found

    @property
    def last_loss(self) -> int | None:
        """The longest measured length below `first_win` at which it is slower."""
        return max((n for n, outcome in self.outcomes if outcome == "slower" and (self.first_win is None or n < self.first_win)), default=None)

    @property
    def is_decided(self) -> bool:
        return any(outcome in ("faster", "slower") for _, outcome in self.outcomes)

    @property
    def short_text(self) -> str:
        """The two measured lengths around the crossover, or the shortest or longest measured length."""
        if not self.is_decided:
            return "undecided"
        if self.first_win is None:
            return f"> {self.outcomes[-1][0]}"
        return f"\u2264 {self.first_win}" if self.last_loss is None else f"{self.last_loss}\u2013{self.first_win}"

    @property
    def description(self) -> str:
        """A text that also names undecided lengths, and wins before a loss."""
        first, last = self.outcomes[0][0], self.outcomes[-1][0]
        if self.first_win is None:
            text = f"not up to {last}" if self.is_decided else "not known"
        elif self.first_win == first:
            text = f"at {first} already, the shortest measured"
        else:
            text = f"between {self.last_loss} and {self.first_win}" if self.last_loss else f"at {self.first_win} or before"
        undecided = [n for n, outcome in self.outcomes if outcome in ("same", "ambiguous") and n > (self.last_loss or 0)]
        early = [n for n, outcome in self.outcomes if outcome == "faster" and n < (self.first_win or last + 1)]
        for label, lengths in (("undecided at", undecided), ("faster at", early)):
            if lengths:
                text += f"; {label} {', '.join(map(str, lengths))}"
        return text


@dataclass(frozen=True)
class Curve:
    """Parameters of cases that differ only in their length."""
    entry: Entry
    direction: str
    dtype: str
    input: str
    b: int
    c: int
    t: int
    heads: int


def curve_of(entry: Entry, case: Case) -> Curve:
    # A repeated text counts as the same input.
    return Curve(entry, case.direction, case.dtype, case.input.removeprefix("repeated_"), case.b, case.c, case.t, case.heads)


def same_mask_reference(case: Case, cases: dict[str, Case]) -> Case | None:
    return find_softmax_case(case, cases, "causal" if "causal" in case.policy else "full")


def crossings_of(rows: list) -> dict[Curve, Crossing]:
    """Returns the crossing of every curve that was measured with a reference at several lengths."""
    cases = {row.case.name: row.case for row in rows}
    found = defaultdict(dict)
    for row in rows:
        reference = same_mask_reference(row.case, cases)
        if reference is None or reference is row.case or reference.failure or row.case.failure:
            continue
        found[curve_of(row.entry, row.case)][row.case.n] = speedup(reference, row.case).outcome
    return {curve: Crossing(tuple(sorted(outcomes.items()))) for curve, outcomes in found.items() if len(outcomes) > 1}


def crossover_table(rows: list) -> str:
    """Formats the crossings as a table, one line per operator. Empty if no operator was measured at several lengths."""
    crossings = crossings_of(rows)
    labels = {curve_of(row.entry, row.case): row.label for row in rows}
    lines = [[labels[curve], DIRECTIONS[curve.direction], curve.dtype, f"{curve.b}xNx{curve.c}", crossing.description] for curve, crossing in crossings.items()]
    if not lines:
        return ""
    heading = ["operator", "direction", "dtype", "B x N x C", "begins to win against softmax, streaming (causal against causal)"]
    return format_table([heading] + lines, left_columns=5)
