# SPDX-License-Identifier: Apache-2.0
"""Table of the arena's results."""
from dataclasses import dataclass

from .crossover import Crossing, crossings_of, curve_of
from .entries import DIRECTIONS, ENTRIES, Entry, entry_of, label_of, reference_of, weak_baseline_warning
from .ratios import Ratio, speedup
from .results import Case, format_bytes, format_seconds, format_table, load, roofs_of


@dataclass
class Row:
    """One case of the arena."""
    case: Case
    entry: Entry
    label: str
    speedup: Ratio | None = None  # time of softmax attention / time of the case
    crossing: Crossing | None = None  # if several lengths were measured
    slower_because: str = ""  # if it is slower than softmax attention

    @property
    def direction(self) -> str:
        return DIRECTIONS[self.case.direction]

    @property
    def share(self) -> tuple[float, str]:
        """Share of the nearer roof, and the name of that roof."""
        copy_share, peak_share = self.case.value("share_of_copy") or 0.0, self.case.value("share_of_peak") or 0.0
        return (peak_share, "arithmetic") if peak_share > copy_share else (copy_share, "copy")


def load_rows(path: str) -> tuple[dict, list[Row]]:
    """Loads a run. Returns its context and its rows, in the order of the table."""
    context, cases = load(path)
    rows = []
    has_several_heads = len({case.heads for case in cases.values() if case.heads}) > 1
    for case in cases.values():
        entry = entry_of(case)
        if entry is None or case.direction not in DIRECTIONS:
            continue
        reference = reference_of(case, cases)
        is_compared = reference is not None and reference is not case and not reference.failure and not case.failure
        label = label_of(entry, context) + (f", {case.heads} heads" if has_several_heads and case.heads else "")
        row = Row(case, entry, label, speedup(reference, case) if is_compared else None)
        if row.speedup and row.speedup.outcome == "slower":
            row.slower_because = reason_of(row, reference)
        rows.append(row)
    crossings = crossings_of(rows)
    for row in rows:
        row.crossing = crossings.get(curve_of(row.entry, row.case))
    dtypes, directions = ("f32", "f64", "bf16", "f16"), list(DIRECTIONS)
    rows.sort(key=lambda r: (dtypes.index(r.case.dtype), directions.index(r.case.direction), r.case.n, r.case.c, r.case.input, ENTRIES.index(r.entry)))
    return context, rows


def reason_of(row: Row, reference: Case) -> str:
    """Explains by operations and rates why a row is slower than the reference."""
    if row.case.operations and reference.operations:
        operations_ratio = row.case.operations / reference.operations
        reason = (f"{'as many' if abs(operations_ratio - 1) < 0.05 else f'{operations_ratio:.2g} times the'} operations, at {row.case.value('share_of_peak'):.0%} of the speed of "
                  f"computing where softmax attention reaches {reference.value('share_of_peak'):.0%}")
    else:
        share, roof = row.share
        reason = f"it reaches {share:.0%} of this machine's speed of {'computing' if roof == 'arithmetic' else 'copying'}"
    return reason + (f"; {row.entry.hint}" if row.entry.hint else "")


def format_rate(rate: float) -> str:
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= scale:
            return f"{rate / scale:.3g} {unit}" if rate < 1000 * scale else f"{rate / scale:.0f} {unit}"
    return f"{rate:.3g}"


HEADING = ("operator", "direction", "dtype", "B x N x C", "time", "tokens/s", "kept", "peak", "max error", "outcome",
           "times as fast as softmax, streaming", "of the nearer roof")


def format_cells(row: Row) -> list[str]:
    case = row.case
    front = [row.label, row.direction, case.dtype, case.shape + ("" if case.input == "text" else f" {case.input}")]
    if case.failure:
        return front + [case.failure_label] + [""] * 7
    peak, error = case.value("peak_bytes"), case.value("max_error")
    return front + [
        format_seconds(case.seconds), format_rate(case.b * case.n / case.seconds), format_bytes(case.median("saved_bytes")),
        format_bytes(peak) if peak is not None else "not known", f"{error:.2g}" if error is not None else "unchecked",
        row.speedup.outcome if row.speedup else "", str(row.speedup) if row.speedup else "",
        "{:.0%} {}".format(*row.share) if case.value("share_of_copy") else ""]


def describe_machine(context: dict) -> str:
    parts = [context[key] for key in ("cpu", "gpu", "architecture", "instruction_set", "compiler", "flags", "cuda", "blas") if context.get(key)]
    return ", ".join(parts) + f"; commit {context.get('commit', 'unknown')}, {context.get('date', '')[:10]}"


def describe_columns(context: dict, rows: list[Row]) -> list[str]:
    """Returns lines that explain the columns and give the machine's roofs, and failures."""
    timed_cases = [row.case for row in rows if not row.case.failure]
    inputs = ", ".join(dict.fromkeys({"text": "Text", "repeated_text": "the text repeated"}.get(case.input, case.input) for case in timed_cases))
    lines = [f"{inputs or 'Text'}, {context.get('rounds', '?')} rounds, each of which times every case of a length once; medians. "
             "kept: bytes that forward saves for backward (nothing in forward alone).",
             "peak: measured memory of data and call together. max error: against an oracle in double; 0: bit for bit; unchecked: no oracle.",
             "outcome: from the 95 % interval of the ratio, in brackets; same: within 3 %; ambiguous: wider, and includes 1."]
    copy, peaks = roofs_of(timed_cases)
    if copy:
        lines.append(f"Roofs, measured here: copy {copy:.1f} GB/s read and written; multiply-add {peaks}.")
    return lines + failures_of(rows)


def failures_of(rows: list[Row]) -> list[str]:
    return [f"FAILED: {row.case.name}: {row.case.failure}" for row in rows if row.case.failure and row.case.failure != "out of memory"]


def notices_of(context: dict, rows: list[Row]) -> list[str]:
    """Returns warnings about the machine: a weak BLAS, and noise."""
    warning = weak_baseline_warning(context, [row.case for row in rows if not row.case.failure])
    return [warning] * bool(warning) + [f"NOISE: {notice}" for notice in context.get("noise", [])]


def print_table(context: dict, rows: list[Row]) -> None:
    print(format_table([list(HEADING)] + [format_cells(row) for row in rows], left_columns=4))
    print("\n" + describe_machine(context))
    print("\n".join(describe_columns(context, rows)))
