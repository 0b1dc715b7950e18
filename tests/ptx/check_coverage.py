#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the PTX machine ran every kernel of the library: compares the sm_90 kernels of tests/compile/kernels/golden/
with the logs of the test programs (SLICESORT_PTX_LOG).

usage: check_coverage.py [--summary] FOLDER     --summary only prints the totals"""
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "compile"))
from check_kernels import read_golden, short  # noqa: E402

# The library only queries its attributes.
NEVER_LAUNCHED = {"empty_kernel"}


@dataclass
class Total:
    symbols: set[str] = field(default_factory=set)
    launches: int = 0
    instructions: int = 0
    seconds: float = 0


def read_logs(folder: Path) -> dict[str, Total]:
    """Returns totals by device, such as "sm_90"."""
    totals: dict[str, Total] = {}
    for path in sorted(folder.glob("*.tsv")):
        header, *table = path.read_text(encoding="utf-8").splitlines()
        device = re.fullmatch(r"# device (sm_\d+)", header)
        if not device:
            continue  # skips the table of instructions
        total = totals.setdefault(device[1], Total())
        names = table[0].split("\t")
        for line in table[1:]:
            row = dict(zip(names, line.split("\t")))
            total.symbols.add(row["kernel"])
            total.launches += int(row["launches"])
            total.instructions += int(row["warp_instructions"])
            total.seconds += float(row["seconds"])
    return totals


def main() -> int:
    only_summary = sys.argv[1:2] == ["--summary"]
    folder = Path(sys.argv[-1])
    totals = read_logs(folder)
    library_kernels = {kernel for kernel, arch in read_golden()[1] if arch == "sm_90"} - NEVER_LAUNCHED
    for device, total in sorted(totals.items()):
        ran = {short(symbol) for symbol in total.symbols}
        print(f"PTX machine, {device}: {len(library_kernels & ran)} of {len(library_kernels)} kernels of the library and {len(ran - library_kernels)} others, "
              f"{total.launches} launches, {total.instructions / 1e6:.0f} million instructions of warps, {total.seconds:.0f} s")
    if only_summary:
        return 0
    never_run = sorted(library_kernels - {short(symbol) for symbol in totals.get("sm_90", Total()).symbols})
    for kernel in never_run:
        print(f"never run: {kernel}")
    return 1 if never_run else 0


if __name__ == "__main__":
    sys.exit(main())
