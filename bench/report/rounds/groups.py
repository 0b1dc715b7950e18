# SPDX-License-Identifier: Apache-2.0
"""Cases that are timed in the same rounds: of one shape, direction, element type and input."""
from dataclasses import dataclass

from ..command.shapes import Shapes
from ..contestants import DIRECTIONS, REFERENCE, Contestant, contestant_of
from ..results import Case, case_named

ORDER = ("f32", "f64", "bf16", "f16")


@dataclass
class Group:
    part: str
    direction: str
    dtype: str
    input: str
    n: int
    c: int
    cases: list[Case]

    @property
    def title(self) -> str:
        return f"{self.part} {DIRECTIONS[self.direction]} {self.dtype} N={self.n} C={self.c}"

    @property
    def id(self) -> str:
        return f"{self.part}/{self.direction}/{self.dtype}/{self.input}/{self.n}/{self.c}"

    @property
    def names(self) -> list[str]:
        return [case.name for case in self.cases]

    @property
    def weight(self) -> float:
        """How long it takes beside others, roughly: attention grows with the square."""
        thousands = self.n / 1024
        work = (thousands**2 + thousands) * (3.5 if self.direction == "training" else 1) * self.c / 256
        return work * (0.4 if self.dtype in ("bf16", "f16") else 1) / (20 if self.part == "cuda" else 1)


def takes_part(case: Case, who: Contestant, shapes: Shapes) -> bool:
    if case.direction not in DIRECTIONS or case.t != 1 or case.b != shapes.batch:
        return False
    if case.n not in shapes.lengths or case.c not in shapes.channels or case.input != shapes.input_of(case.n):
        return False
    if case.heads and case.heads not in shapes.heads_of(case.c):
        return False
    if not (who.own or who == REFERENCE if shapes.asked.only else who.own or who.main or shapes.asked.all):
        return False
    if shapes.dtypes:
        return case.dtype in shapes.dtypes
    return case.dtype == "f32" or shapes.asked.all and case.dtype == "bf16" and who.in_16_bits


def groups_of(part: str, names: list[str], shapes: Shapes) -> list[Group]:
    found: dict[str, Group] = {}
    for case in filter(None, map(case_named, names)):
        who = contestant_of(case)
        if who is not None and takes_part(case, who, shapes):
            group = Group(part, case.direction, case.dtype, case.input, case.n, case.c, [])
            found.setdefault(group.id, group).cases.append(case)
    return sorted(found.values(), key=lambda g: (ORDER.index(g.dtype), g.n, g.c, g.direction))
