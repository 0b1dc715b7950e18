# SPDX-License-Identifier: Apache-2.0
"""Summary of the arena for one shape, as a table that fits a terminal: one row per operator, grouped by family."""
from .arena_table import Row
from .entries import DIRECTIONS, REFERENCE
from .results import TYPES, format_bytes, format_seconds, format_table

WIDTH = 100  # columns of the terminal
NOTE = ("These are bare operators, without the projections and MLPs of a model. A training step of a whole model with slicing-sort in "
        "place of softmax attention was 1.9, 2.6 and 3.8 times as fast at 1000, 2000 and 4000 rows; docs/learning has these, and what "
        "such models learn.")


def shape_of(row: Row) -> tuple:
    return row.case.dtype, row.case.n, row.case.c, row.case.b, row.case.input


def has_one_shape(rows: list[Row]) -> bool:
    return len({shape_of(row) for row in rows}) == 1 and len({row.case.heads for row in rows if row.case.heads}) <= 1


def select_rows(rows: list[Row]) -> list[Row]:
    """Selects the rows of the longest sequences, in float if available, with the first head count."""
    dtypes, heads = [row.case.dtype for row in rows], [row.case.heads for row in rows if row.case.heads]
    rows = [row for row in rows if row.case.dtype == ("f32" if "f32" in dtypes else dtypes[0]) and row.case.heads in (0, *heads[:1])]
    longest = max(row.case.n for row in rows)
    shape = next(shape_of(row) for row in rows if row.case.n == longest)
    return [row for row in rows if shape_of(row) == shape]


def format_speedup(row: Row | None, interval: bool = False) -> str:
    if row is None:
        return ""
    if row.case.failure:
        return row.case.failure_label
    if row.entry == REFERENCE:
        return "1"
    if row.speedup is None:
        return ""
    return str(row.speedup) if interval else str(row.speedup).partition(" ")[0]


def format_verification(row: Row) -> str:
    error = row.case.value("max_error")
    return "" if row.case.failure else "unchecked" if error is None else "bit for bit" if error == 0 else f"to {error:.0e}"


def shorten(name: str, width: int) -> str:
    return name if len(name) <= width else name[:width - 2] + ".."


def format_summary(rows: list[Row]) -> str:
    """Formats the table with its title. Empty if there are no rows."""
    if not rows:
        return ""
    rows = select_rows(rows)
    by_operator: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_operator.setdefault(row.label, {})[row.case.direction] = row
    lines, families = [["operator", "forward", "forward + backward", "time", "memory", "verified"]], []
    for label, passes in by_operator.items():
        whole = passes.get("training") or passes["forward_values"]
        families.append(whole.entry.family)
        peak = whole.case.value("peak_bytes")
        lines.append(["  " + label.removeprefix("softmax, "), format_speedup(passes.get("forward_values")), format_speedup(passes.get("training"), interval=True),
                      "" if whole.case.failure else format_seconds(whole.case.seconds), format_bytes(peak) if peak is not None else "", format_verification(whole)])
    other_columns = sum(2 + max(len(line[i]) for line in lines) for i in range(1, len(lines[0])))
    for line in lines:
        line[0] = shorten(line[0], WIDTH - other_columns)
    heading, rule, *body = format_table(lines).split("\n")
    output = [format_title(rows), "", heading, rule]
    for i, line in enumerate(body):
        output += [families[i]] * (i == 0 or families[i] != families[i - 1]) + [line]
    return "\n".join(output)


def format_title(rows: list[Row]) -> str:
    case = rows[0].case
    heads = next((f", {row.case.heads} heads" for row in rows if row.case.heads), "")
    processor = "a GPU" if case.backend == "cuda" else "one thread"
    return (f"How many times as fast as softmax attention, at {case.n} rows\n"
            f"{case.b} samples, {case.c} channels{heads}, {TYPES[case.dtype]}, {processor}; in brackets a 95 % interval;\n"
            f"time and memory (peak, measured) of {DIRECTIONS['training']}")


def reasons_for_slower(rows: list[Row]) -> list[str]:
    """Explains which rows of the summary are slower than softmax attention, and why."""
    reasons = {row.label: row.slower_because for row in select_rows(rows) if row.slower_because} if rows else {}
    return [f"{label} is slower: {why}." for label, why in reasons.items()]
