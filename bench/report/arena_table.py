# SPDX-License-Identifier: Apache-2.0
"""The arena's results as one table."""
from dataclasses import dataclass

from .contestants import CONTESTANTS, DIRECTIONS, Contestant, contestant_of, label_of, reference_of, weak_opponent
from .crossover import Crossing, crossings_of, line_of
from .results import Case, load, size, table, time_of
from .verdicts import Ratio, paired


@dataclass
class Row:
    """One case of the arena."""
    case: Case
    who: Contestant
    label: str  # what this run calls it
    against: Ratio | None = None  # softmax attention's time / its time
    crossing: Crossing | None = None  # where lengths were measured that tell
    why: str = ""  # it is slower than softmax attention

    @property
    def direction(self) -> str:
        return DIRECTIONS[self.case.direction]

    @property
    def share(self) -> tuple[float, str]:
        """The share of the nearer roof, and which one that is."""
        of_copy, of_peak = self.case.value("share_of_copy") or 0.0, self.case.value("share_of_peak") or 0.0
        return (of_peak, "arithmetic") if of_peak > of_copy else (of_copy, "copy")


def rows_of(path: str) -> tuple[dict, list[Row]]:
    """The context of a run and its rows, in the order of the table."""
    context, cases = load(path)
    found = []
    several = len({case.heads for case in cases.values() if case.heads}) > 1
    for case in cases.values():
        who = contestant_of(case)
        if who is None or case.direction not in DIRECTIONS:
            continue
        reference = reference_of(case, cases)
        compared = reference is not None and reference is not case and not reference.failed and not case.failed
        label = label_of(who, context) + (f", {case.heads} heads" if several and case.heads else "")
        row = Row(case, who, label, paired(reference.times(), case.times()) if compared else None)
        if row.against and row.against.verdict == "slower":
            row.why = reason_of(row, reference)
        found.append(row)
    crossings = crossings_of(found)
    for row in found:
        row.crossing = crossings.get(line_of(row.who, row.case))
    dtypes, directions = ("f32", "f64", "bf16", "f16"), list(DIRECTIONS)
    found.sort(key=lambda r: (dtypes.index(r.case.dtype), directions.index(r.case.direction), r.case.n, r.case.c, r.case.input, CONTESTANTS.index(r.who)))
    return context, found


def reason_of(row: Row, reference: Case) -> str:
    """Why a row is slower than the reference, by what was counted."""
    if row.case.operations and reference.operations:
        work = row.case.operations / reference.operations
        said = (f"{'as many' if abs(work - 1) < 0.05 else f'{work:.2g} times the'} operations, at {row.case.value('share_of_peak'):.0%} of the speed of "
                f"computing where softmax attention reaches {reference.value('share_of_peak'):.0%}")
    else:
        share, roof = row.share
        said = f"it reaches {share:.0%} of this machine's speed of {'computing' if roof == 'arithmetic' else 'copying'}"
    return said + (f"; {row.who.hint}" if row.who.hint else "")


def rate_of(rate: float) -> str:
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= scale:
            return f"{rate / scale:.3g} {unit}" if rate < 1000 * scale else f"{rate / scale:.0f} {unit}"
    return f"{rate:.3g}"


HEADING = ("operator", "direction", "dtype", "B x N x C", "time", "tokens/s", "kept", "peak", "max error", "verdict",
           "times as fast as softmax, streaming", "of the nearer roof")


def cells(row: Row) -> list[str]:
    case = row.case
    # The input is the text, or named.
    front = [row.label, row.direction, case.dtype, case.shape + ("" if case.input == "text" else f" {case.input}")]
    if case.failed:
        # A failure that is not about memory is told below the table.
        return front + [("OOM" if case.failed == "out of memory" else "FAILED")] + [""] * 7
    peak, error = case.value("peak_bytes"), case.value("max_error")
    return front + [
        time_of(case.seconds), rate_of(case.b * case.n / case.seconds), size(case.median("saved_bytes")),
        size(peak) if peak is not None else "not known", f"{error:.2g}" if error is not None else "unchecked",
        row.against.verdict if row.against else "", str(row.against) if row.against else "",
        "{:.0%} {}".format(*row.share) if case.value("share_of_copy") else ""]


def machine_of(context: dict) -> str:
    parts = [context[key] for key in ("cpu", "gpu", "architecture", "instruction_set", "compiler", "flags", "cuda", "blas") if context.get(key)]
    return ", ".join(parts) + f"; commit {context.get('commit', 'unknown')}, {context.get('date', '')[:10]}"


def legend(context: dict, rows: list[Row]) -> list[str]:
    """What the columns mean, and the machine's roofs."""
    timed = [row.case for row in rows if not row.case.failed]
    inputs = ", ".join(dict.fromkeys({"text": "Text", "repeated_text": "the text repeated"}.get(case.input, case.input) for case in timed))
    lines = [f"{inputs or 'Text'}, {context.get('rounds', '?')} rounds, each of which times every case of a length once; medians. "
             "forward keeps nothing; forward + backward keeps what backward needs (kept).",
             "peak: memory of data and call together, measured. max error: against an oracle in double; 0 is bit for bit; unchecked: there is none.",
             "verdict: from a 95 % interval of the ratio, in brackets; same: all of it within 3 %; ambiguous: it holds 1 and is wider."]
    copies = [case.value("copy_bytes_per_second") for case in timed if case.value("copy_bytes_per_second")]
    peaks = {case.dtype: case.value("peak_flops_per_second") for case in timed if case.value("peak_flops_per_second")}
    if copies:
        roofs = ", ".join(f"{dtype} {peak / 1e9:.0f} GFLOP/s" for dtype, peak in peaks.items())
        lines.append(f"Roofs, measured here: copy {max(copies) / 1e9:.1f} GB/s read and written; multiply-add {roofs}.")
    return lines + failures_of(rows)


def failures_of(rows: list[Row]) -> list[str]:
    return [f"FAILED: {row.case.name}: {row.case.failed}" for row in rows if row.case.failed and row.case.failed != "out of memory"]


def notices_of(context: dict, rows: list[Row]) -> list[str]:
    """What the reader must know of the machine."""
    warning = weak_opponent(context, [row.case for row in rows if not row.case.failed])
    return [warning] * bool(warning) + [f"NOISE: {said}" for said in context.get("noise", [])]


def print_table(context: dict, rows: list[Row]) -> None:
    print(table([list(HEADING)] + [cells(row) for row in rows], left=4))
    print("\n" + machine_of(context))
    print("\n".join(legend(context, rows)))
