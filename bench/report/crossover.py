# SPDX-License-Identifier: Apache-2.0
"""The length from which on an operator is faster than streaming softmax attention of its own direction, as far as the measured
lengths tell."""
from collections import defaultdict
from dataclasses import dataclass

from .contestants import DIRECTIONS, Contestant, softmax_of
from .results import Case, table
from .verdicts import paired


@dataclass(frozen=True)
class Crossing:
    """What was found at each measured length, which ascend: faster, slower, same or ambiguous."""
    verdicts: tuple[tuple[int, str], ...]

    @property
    def wins(self) -> int | None:
        """The shortest measured length from which on it is faster at every one."""
        found = None
        for n, verdict in reversed(self.verdicts):
            if verdict != "faster":
                break
            found = n
        return found

    @property
    def loses(self) -> int | None:
        """The longest measured length below that at which it is slower."""
        return max((n for n, verdict in self.verdicts if verdict == "slower" and (self.wins is None or n < self.wins)), default=None)

    @property
    def decided(self) -> bool:
        return any(verdict in ("faster", "slower") for _, verdict in self.verdicts)

    @property
    def short(self) -> str:
        """Two measured lengths that it lies between, or the end of what was measured."""
        if not self.decided:
            return "undecided"
        if self.wins is None:
            return f"> {self.verdicts[-1][0]}"
        return f"\u2264 {self.wins}" if self.loses is None else f"{self.loses}\u2013{self.wins}"

    @property
    def words(self) -> str:
        """With what a bracket hides: lengths at which nothing can be said, and wins before a loss."""
        first, last = self.verdicts[0][0], self.verdicts[-1][0]
        if self.wins is None:
            said = f"not up to {last}" if self.decided else "not known"
        elif self.wins == first:
            said = f"at {first} already, the shortest measured"
        else:
            said = f"between {self.loses} and {self.wins}" if self.loses else f"at {self.wins} or before"
        undecided = [n for n, verdict in self.verdicts if verdict in ("same", "ambiguous") and n > (self.loses or 0)]
        early = [n for n, verdict in self.verdicts if verdict == "faster" and n < (self.wins or last + 1)]
        for what, lengths in (("undecided at", undecided), ("faster at", early)):
            if lengths:
                said += f"; {what} {', '.join(map(str, lengths))}"
        return said


@dataclass(frozen=True)
class Line:
    """Cases that differ in their length alone."""
    who: Contestant
    direction: str
    dtype: str
    input: str
    b: int
    c: int
    t: int
    heads: int


def line_of(who: Contestant, case: Case) -> Line:
    # A text that is too short for a length is repeated: it stays the same text.
    return Line(who, case.direction, case.dtype, case.input.removeprefix("repeated_"), case.b, case.c, case.t, case.heads)


def opponent_of(case: Case, cases: dict[str, Case]) -> Case | None:
    return softmax_of(case, cases, "causal" if "causal" in case.policy else "full")


def crossings_of(rows: list) -> dict[Line, Crossing]:
    """Of every row of the arena's table that has an opponent at several lengths."""
    cases = {row.case.name: row.case for row in rows}
    found = defaultdict(dict)
    for row in rows:
        opponent = opponent_of(row.case, cases)
        if opponent is None or opponent is row.case or opponent.failed or row.case.failed:
            continue
        found[line_of(row.who, row.case)][row.case.n] = paired(opponent.times(), row.case.times()).verdict
    return {line: Crossing(tuple(sorted(verdicts.items()))) for line, verdicts in found.items() if len(verdicts) > 1}


def crossover_table(rows: list) -> str:
    """A line for each operator; empty where nothing was measured at several lengths."""
    crossings = crossings_of(rows)
    labels = {line_of(row.who, row.case): row.label for row in rows}
    lines = [[labels[line], DIRECTIONS[line.direction], line.dtype, f"{line.b}xNx{line.c}", crossing.words] for line, crossing in crossings.items()]
    if not lines:
        return ""
    heading = ["operator", "direction", "dtype", "B x N x C", "begins to win against softmax, streaming (causal against causal)"]
    return table([heading] + lines, left=5)
