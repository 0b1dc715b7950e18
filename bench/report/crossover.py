# SPDX-License-Identifier: Apache-2.0
"""Crossover: the measured length from which an operator is faster than streaming softmax attention of the same direction."""
from collections import defaultdict
from dataclasses import dataclass

from .entries import DIRECTIONS, Entry, softmax_case
from .results import Case, table
from .ratios import paired


@dataclass(frozen=True)
class Crossing:
    """Outcomes (faster, slower, same, ambiguous) by ascending length."""
    outcomes: tuple[tuple[int, str], ...]

    @property
    def wins(self) -> int | None:
        """The shortest measured length from which it is always faster."""
        found = None
        for n, outcome in reversed(self.outcomes):
            if outcome != "faster":
                break
            found = n
        return found

    @property
    def loses(self) -> int | None:
        """The longest measured length below `wins` at which it is slower."""
        return max((n for n, outcome in self.outcomes if outcome == "slower" and (self.wins is None or n < self.wins)), default=None)

    @property
    def decided(self) -> bool:
        return any(outcome in ("faster", "slower") for _, outcome in self.outcomes)

    @property
    def short(self) -> str:
        """The two measured lengths around the crossover, or the shortest or longest measured length."""
        if not self.decided:
            return "undecided"
        if self.wins is None:
            return f"> {self.outcomes[-1][0]}"
        return f"\u2264 {self.wins}" if self.loses is None else f"{self.loses}\u2013{self.wins}"

    @property
    def words(self) -> str:
        """Description with undecided lengths, and lengths of wins before a loss."""
        first, last = self.outcomes[0][0], self.outcomes[-1][0]
        if self.wins is None:
            text = f"not up to {last}" if self.decided else "not known"
        elif self.wins == first:
            text = f"at {first} already, the shortest measured"
        else:
            text = f"between {self.loses} and {self.wins}" if self.loses else f"at {self.wins} or before"
        undecided = [n for n, outcome in self.outcomes if outcome in ("same", "ambiguous") and n > (self.loses or 0)]
        early = [n for n, outcome in self.outcomes if outcome == "faster" and n < (self.wins or last + 1)]
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


def reference_for(case: Case, cases: dict[str, Case]) -> Case | None:
    return softmax_case(case, cases, "causal" if "causal" in case.policy else "full")


def crossings_of(rows: list) -> dict[Curve, Crossing]:
    """Crossings of all rows that were measured together with a reference at several lengths."""
    cases = {row.case.name: row.case for row in rows}
    found = defaultdict(dict)
    for row in rows:
        reference = reference_for(row.case, cases)
        if reference is None or reference is row.case or reference.failed or row.case.failed:
            continue
        found[curve_of(row.entry, row.case)][row.case.n] = paired(reference.times(), row.case.times()).outcome
    return {line: Crossing(tuple(sorted(outcomes.items()))) for line, outcomes in found.items() if len(outcomes) > 1}


def crossover_table(rows: list) -> str:
    """Table of crossings, one line per operator; empty if no operator was measured at several lengths."""
    crossings = crossings_of(rows)
    labels = {curve_of(row.entry, row.case): row.label for row in rows}
    lines = [[labels[line], DIRECTIONS[line.direction], line.dtype, f"{line.b}xNx{line.c}", crossing.words] for line, crossing in crossings.items()]
    if not lines:
        return ""
    heading = ["operator", "direction", "dtype", "B x N x C", "begins to win against softmax, streaming (causal against causal)"]
    return table([heading] + lines, left_columns=5)
