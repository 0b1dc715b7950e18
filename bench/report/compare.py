# SPDX-License-Identifier: Apache-2.0
"""What changed between two runs beyond noise: python3 -m report.compare OLD.json NEW.json. Times of one run are compared with those
of the other by ranks; a change within 3 % is none. The exit status says nothing about the changes."""
import argparse
import math
from pathlib import Path

from .results import Case, load, run_main, size, table, time_of
from .verdicts import ALIKE, Ratio, unpaired

MATTERS = ("cpu", "gpu", "instruction_set", "compiler", "flags", "blas", "text", "batch")

SHOWN = 5  # names of cases that are in one of the runs only


def change(ratio: Ratio) -> str:
    """Its verdict, but for a change that is too small to speak of."""
    small = 1 / (1 + ALIKE) <= ratio.middle <= 1 + ALIKE
    return "same" if small and ratio.verdict in ("faster", "slower") else ratio.verdict


def measured(path: str) -> tuple[dict, dict[str, Case]]:
    context, cases = load(path)
    return context, {name: case for name, case in cases.items() if not case.failed}


def beside_time(old: Case, new: Case) -> str:
    """Memory and errors have no noise worth a statistic."""
    said = []
    for counter, what, say in (("saved_bytes", "kept", size), ("peak_bytes", "peak", size), ("max_error", "max error", "{:.2g}".format)):
        before, after = old.value(counter), new.value(counter)
        if before is None or after is None:
            continue
        alike = abs(after - before) <= 0.05 * max(before, after) + (2e6 if counter == "peak_bytes" else 0)
        if not alike:
            said.append(f"{what} {say(before)} -> {say(after)}")
    return ", ".join(said)


def compare(of_old: str, of_new: str) -> int:
    (old_context, old), (new_context, new) = measured(of_old), measured(of_new)
    if Path(of_old).read_bytes() == Path(of_new).read_bytes():
        print(f"note: {of_old} and {of_new} are the same file, byte for byte: one run is compared with itself")
    for key in MATTERS:
        before, after = old_context.get(key), new_context.get(key)
        if before != after:
            print(f"note: {key} was {before}, is {after}")
    changes: list[tuple[Ratio, Case, Case]] = []
    for name in old.keys() & new.keys():
        changes.append((unpaired(old[name].times(), new[name].times()), old[name], new[name]))
    changes.sort(key=lambda c: (change(c[0]) not in ("slower", "faster"), -abs(math.log(c[0].middle)), c[2].name))
    rows, quiet = [["case", "before", "now", "change", "times as fast (95 %)", "besides"]], 0
    for ratio, before, after in changes:
        besides = beside_time(before, after)
        if change(ratio) in ("same", "ambiguous") and not besides:
            quiet += 1
            continue
        rows.append([after.name, time_of(before.seconds), time_of(after.seconds), change(ratio), str(ratio), besides])
    counts = {verdict: sum(change(ratio) == verdict for ratio, _, _ in changes) for verdict in ("faster", "slower", "same", "ambiguous")}
    if len(rows) > 1:
        print(table(rows))
    for names, what in ((old.keys() - new.keys(), "gone"), (new.keys() - old.keys(), "new")):
        for name in sorted(names)[:SHOWN]:
            print(f"{what}: {name}")
        if len(names) > SHOWN:
            print(f"{what}: {len(names) - SHOWN} more")
    print(f"{old_context.get('commit', '?')} -> {new_context.get('commit', '?')}: of {len(changes)} cases " +
          ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f"; {quiet} without a change are not shown")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    arguments = parser.parse_args()
    return compare(arguments.old, arguments.new)


if __name__ == "__main__":
    run_main(main)
