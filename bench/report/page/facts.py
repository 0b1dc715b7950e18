# SPDX-License-Identifier: Apache-2.0
"""What the page says in words: of the machine and its noise, and of what was verified."""
import math
import statistics

from ..arena_table import Row
from ..results import Case

WIDE = 0.05  # half of the intervals beyond this: worth a word


def noise_of(context: dict, rows: list[Row]) -> list[str]:
    """What the run noticed of its machine, and what its intervals say."""
    said = list(context.get("noise") or [])
    spread = {row.case.name: math.sqrt(row.against.high / row.against.low) - 1 for row in rows
              if row.against and row.against.low > 0 and math.isfinite(row.against.high)}
    if any(row.against for row in rows) and not spread:
        return said + ["There were too few rounds for intervals, so nothing is said about noise (six is the fewest)."]
    if spread and statistics.median(spread.values()) > WIDE:
        widest = next(row for row in rows if row.case.name == max(spread, key=spread.get))
        said.append(f"Half of the 95 % intervals are wider than ±{100 * statistics.median(spread.values()):.0f} %; the widest is "
                    f"±{100 * max(spread.values()):.0f} % ({widest.who.label}, {widest.direction}, N = {widest.case.n}).")
    return said


def roofs_of(cases: list[Case]) -> str:
    copies = [case.value("copy_bytes_per_second") for case in cases if case.value("copy_bytes_per_second")]
    peaks = {case.dtype: case.value("peak_flops_per_second") for case in cases if case.value("peak_flops_per_second")}
    if not copies or not peaks:
        return ""
    return (f"copies {max(copies) / 1e9:.1f} GB/s (read and written), multiplies and adds "
            + ", ".join(f"{dtype} {peak / 1e9:.0f} GFLOP/s" for dtype, peak in peaks.items()) + ", measured in this run")


def verified_of(rows: list[Row]) -> str:
    errors = [(row.case.median("max_error"), row) for row in rows if row.case.runs and row.case.value("max_error") is not None]
    if not errors:
        return "nothing was measured"
    exact = sum(error == 0 for error, _ in errors)
    said = f"every result, against an oracle in double, before it was timed: {exact} of {len(errors)} cases agree bit for bit"
    error, row = max(errors, key=lambda found: found[0])
    if error > 0:
        said += f", the largest error is {error:.1e} ({row.who.label}, {row.case.dtype}, N = {row.case.n})"
    unchecked = {row.who.label for row in rows if row.case.runs and row.case.value("max_error") is None}
    if unchecked:
        said = said.replace("every result", f"every result but those of {', '.join(sorted(unchecked))}, which came without an oracle", 1)
    return said + ". More than rounding allows would have failed the run"


def facts_of(context: dict, rows: list[Row]) -> list[list[str]]:
    """Name and value of what a measurement depends on."""
    said = context.get
    cases = [row.case for row in rows if not row.case.failed]
    lost = [row for row in rows if row.case.failed]
    clock = f"{said('num_cpus')} processors" if said("num_cpus") else ""
    facts = {
        "machine": ", ".join(filter(None, (said("cpu"), said("architecture"), said("instruction_set"), clock))),
        "GPU": ", ".join(filter(None, (said("gpu"), said("cuda") and f"CUDA {said('cuda')}"))),
        "compiler": said("compiler"), "flags": said("flags"), "BLAS": "; ".join(filter(None, (said("blas") or "none", said("weak_blas")))),
        "commit": said("commit"), "date": str(said("date", ""))[:16].replace("T", " "), "command": said("command"),
        "text": said("text"), "rounds": said("rounds") and f"{said('rounds')}, each of which times every operator once, in a random order",
        "verified": verified_of(rows), "roofs": roofs_of(cases),
        "not measured": "; ".join(f"{row.who.label}, {row.direction}, {row.case.dtype}, {row.case.shape}: {row.case.failed}" for row in lost)}
    return [[name, str(value)] for name, value in facts.items() if value]
