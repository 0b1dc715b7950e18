#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the arena's results as one table: arena_table.py RESULTS.json [GPU.json ...]"""
import argparse
from dataclasses import dataclass

from .contestants import CONTESTANTS, DIRECTIONS, Contestant, contestant_of, reference_of
from .results import Case, case_named, read, run_main, size, table
from .verdicts import Ratio, paired


@dataclass
class Row:
    """One case of the arena. Where it failed only `failed` says something."""
    case: Case
    who: Contestant
    seconds: float = 0.0
    against: Ratio | None = None  # softmax attention's time / its time
    failed: str = ""

    def value(self, counter: str) -> float | None:
        return self.case.median(counter) if self.case.runs and counter in self.case.runs[0] else None

    @property
    def direction(self) -> str:
        return DIRECTIONS[self.case.direction]

    @property
    def share(self) -> tuple[float, str]:
        """The share of the nearer roof, and which one that is."""
        of_copy, of_peak = self.value("share_of_copy") or 0.0, self.value("share_of_peak") or 0.0
        return (of_peak, "arithmetic") if of_peak > of_copy else (of_copy, "copy")


def rows_of(path: str) -> tuple[dict, list[Row]]:
    """The context of a run and its rows, in the order of the table."""
    context, raw = read(path)
    cases: dict[str, Case] = {}
    failures: dict[str, str] = {}
    for run in raw:
        case = case_named(run["name"])
        if case and run.get("error_occurred"):
            failures[case.name] = run.get("error_message", "failed")
            cases.setdefault(case.name, case)
        elif case:
            cases.setdefault(case.name, case).runs.append(run)
    found = []
    for case in cases.values():
        who = contestant_of(case)
        if who is None or case.direction not in DIRECTIONS:
            continue
        if case.name in failures:
            found.append(Row(case, who, failed=failures[case.name]))
            continue
        reference = reference_of(case, cases)
        against = paired(reference.times(), case.times()) if reference and reference.runs and reference is not case else None
        found.append(Row(case, who, case.median("ns_per_element") * case.elements * 1e-9, against))
    dtypes, directions = ("f32", "f64", "bf16", "f16"), list(DIRECTIONS)
    found.sort(key=lambda r: (dtypes.index(r.case.dtype), directions.index(r.case.direction), r.case.n, CONTESTANTS.index(r.who)))
    return context, found


def time_of(seconds: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 1000 else f"{seconds * scale:.0f} {unit}"
    return f"{seconds * 1e6:.3g} us"


def rate_of(rate: float) -> str:
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= scale:
            return f"{rate / scale:.3g} {unit}" if rate < 1000 * scale else f"{rate / scale:.0f} {unit}"
    return f"{rate:.3g}"


HEADING = ("operator", "direction", "dtype", "B x N x C", "time", "tokens/s", "kept", "peak", "max error", "verdict",
           "times as fast as softmax, streaming", "of the nearer roof")


def cells(row: Row) -> list[str]:
    case = row.case
    front = [row.who.label, row.direction, case.dtype, f"{case.b}x{case.n}x{case.c}"]
    if row.failed:
        # A failure that is not about memory is told below the table.
        return front + [("OOM" if row.failed == "out of memory" else "FAILED")] + [""] * 7
    peak = row.value("peak_bytes")
    return front + [
        time_of(row.seconds), rate_of(case.b * case.n / row.seconds), size(case.median("saved_bytes")),
        size(peak) if peak is not None else "not known", f"{case.median('max_error'):.2g}",
        row.against.verdict if row.against else "", str(row.against) if row.against else "",
        "{:.0%} {}".format(*row.share) if row.value("share_of_copy") else ""]


def machine_of(context: dict) -> str:
    parts = [context[key] for key in ("cpu", "gpu", "architecture", "instruction_set", "compiler", "flags", "cuda") if context.get(key)]
    if context.get("blas"):
        parts.append(" ".join(context["blas"].split()[:2]))  # of OpenBLAS its name and version
    return ", ".join(parts) + f"; commit {context.get('commit', 'unknown')}, {context.get('date', '')[:10]}"


def legend(context: dict, rows: list[Row]) -> list[str]:
    """What the columns mean, and the machine's roofs."""
    timed = [row for row in rows if row.case.runs]
    lines = [f"Text, {context.get('rounds', '?')} rounds in which every case of a length takes its turn; medians. "
             "forward keeps nothing; forward + backward keeps what backward needs (kept).",
             "peak: memory of data and call together, measured. max error: against an oracle in double; 0 is bit for bit.",
             "verdict: from a 95 % interval of the ratio, in brackets; same: all of it within 3 %; ambiguous: it holds 1 and is wider."]
    copies = [row.value("copy_bytes_per_second") for row in timed if row.value("copy_bytes_per_second")]
    peaks = {row.case.dtype: row.value("peak_flops_per_second") for row in timed if row.value("peak_flops_per_second")}
    if copies:
        roofs = ", ".join(f"{dtype} {peak / 1e9:.0f} GFLOP/s" for dtype, peak in peaks.items())
        lines.append(f"Roofs, measured here: copy {max(copies) / 1e9:.1f} GB/s read and written; multiply-add {roofs}.")
    lines += [f"FAILED: {row.case.name}: {row.failed}" for row in rows if row.failed and row.failed != "out of memory"]
    return lines


def print_tables(results: list[str]) -> None:
    for i, path in enumerate(results):
        context, rows = rows_of(path)
        print("\n" * (i > 0) + table([list(HEADING)] + [cells(row) for row in rows], left=4))
        print("\n" + machine_of(context))
        print("\n".join(legend(context, rows)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+")
    print_tables(parser.parse_args().results)
    return 0


if __name__ == "__main__":
    run_main(main)
