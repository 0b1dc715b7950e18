# SPDX-License-Identifier: Apache-2.0
"""The arena's answer, one shape in a table that fits a terminal: a row for each operator, by family, with its ratios of
forward and of forward + backward."""
from .arena_table import Row
from .contestants import DIRECTIONS, REFERENCE
from .results import TYPES, size, table, time_of

WIDTH = 100  # columns of a terminal that the table fits
BARE = ("These are bare operators, without the projections and MLPs of a model. A training step of a whole model with slicing-sort in "
        "place of softmax attention was 1.9, 2.6 and 3.8 times as fast at 1000, 2000 and 4000 rows; docs/learning has these, and what "
        "such models learn.")


def shape_of(row: Row) -> tuple:
    return row.case.dtype, row.case.n, row.case.c, row.case.b, row.case.input


def has_one_shape(rows: list[Row]) -> bool:
    return len({shape_of(row) for row in rows}) == 1 and len({row.case.heads for row in rows if row.case.heads}) <= 1


def rows_of_answer(rows: list[Row]) -> list[Row]:
    """The rows of the longest sequences, in float if there are any, with the first number of heads."""
    dtypes, heads = [row.case.dtype for row in rows], [row.case.heads for row in rows if row.case.heads]
    rows = [row for row in rows if row.case.dtype == ("f32" if "f32" in dtypes else dtypes[0]) and row.case.heads in (0, *heads[:1])]
    longest = max(row.case.n for row in rows)
    shape = next(shape_of(row) for row in rows if row.case.n == longest)
    return [row for row in rows if shape_of(row) == shape]


def ratio_of(row: Row | None, interval: bool = False) -> str:
    if row is None:
        return ""
    if row.case.failed:
        return "OOM" if row.case.failed == "out of memory" else "FAILED"
    if row.who == REFERENCE:
        return "1"
    if row.against is None:
        return ""
    return str(row.against) if interval else str(row.against).partition(" ")[0]


def verified(row: Row) -> str:
    error = row.case.value("max_error")
    return "" if row.case.failed else "unchecked" if error is None else "bit for bit" if error == 0 else f"to {error:.0e}"


def shortened(name: str, width: int) -> str:
    return name if len(name) <= width else name[:width - 2] + ".."


def answer(rows: list[Row]) -> str:
    """Empty where nothing was measured."""
    if not rows:
        return ""
    rows = rows_of_answer(rows)
    by_operator: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_operator.setdefault(row.label, {})[row.case.direction] = row
    lines, families = [["operator", "forward", "forward + backward", "time", "memory", "verified"]], []
    for label, passes in by_operator.items():
        whole = passes.get("training") or passes["forward_values"]
        families.append(whole.who.family)
        peak = whole.case.value("peak_bytes")
        lines.append(["  " + label.removeprefix("softmax, "), ratio_of(passes.get("forward_values")), ratio_of(passes.get("training"), interval=True),
                      "" if whole.case.failed else time_of(whole.case.seconds), size(peak) if peak is not None else "", verified(whole)])
    others = sum(2 + max(len(line[i]) for line in lines) for i in range(1, len(lines[0])))
    for line in lines:
        line[0] = shortened(line[0], WIDTH - others)
    heading, rule, *body = table(lines).split("\n")
    said = [title_of(rows), "", heading, rule]
    for i, line in enumerate(body):
        said += [families[i]] * (i == 0 or families[i] != families[i - 1]) + [line]
    return "\n".join(said)


def title_of(rows: list[Row]) -> str:
    case = rows[0].case
    heads = next((f", {row.case.heads} heads" for row in rows if row.case.heads), "")
    where = "a GPU" if case.backend == "cuda" else "one thread"
    return (f"How many times as fast as softmax attention, at {case.n} rows\n"
            f"{case.b} samples, {case.c} channels{heads}, {TYPES[case.dtype]}, {where}; in brackets a 95 % interval;\n"
            f"time and memory (peak, measured) of {DIRECTIONS['training']}")


def slower(rows: list[Row]) -> list[str]:
    """Why some rows of the answer are slower than softmax attention."""
    reasons = {row.label: row.why for row in rows_of_answer(rows) if row.why} if rows else {}
    return [f"{label} is slower: {why}." for label, why in reasons.items()]
