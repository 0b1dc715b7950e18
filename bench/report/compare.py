# SPDX-License-Identifier: Apache-2.0
"""What changed between two runs beyond noise: python3 -m report.compare OLD.json NEW.json. Times of one run are compared with those
of the other by ranks; a change within 3 % is none. The exit status says nothing about the changes."""
import argparse
import math
from pathlib import Path

from .results import Case, load, run_main, size, table, time_of
from .verdicts import ALIKE, Ratio, paired, unpaired

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


Change = tuple[Ratio, Case, Case]


def print_changes(changes: list[Change]) -> None:
    rows = [["case", "before", "now", "change", "times as fast (95 %)", "besides"]]
    rows += [[new.name, time_of(old.seconds), time_of(new.seconds), change(ratio), str(ratio), beside_time(old, new)] for ratio, old, new in changes]
    if changes:
        print(table(rows))


def counted(changes: list[Change]) -> str:
    found = [change(ratio) for ratio, _, _ in changes]
    return f"of {len(found)} cases " + ", ".join(f"{found.count(verdict)} {verdict}" for verdict in ("faster", "slower", "same", "ambiguous"))


def compare(of_old: str, of_new: str) -> int:
    (old_context, old), (new_context, new) = measured(of_old), measured(of_new)
    if Path(of_old).read_bytes() == Path(of_new).read_bytes():
        print(f"note: {of_old} and {of_new} are the same file, byte for byte: one run is compared with itself")
    for key in MATTERS:
        before, after = old_context.get(key), new_context.get(key)
        if before != after:
            print(f"note: {key} was {before}, is {after}")
    changes = [(unpaired(old[name].times(), new[name].times()), old[name], new[name]) for name in old.keys() & new.keys()]
    changes.sort(key=lambda c: (change(c[0]) not in ("slower", "faster"), -abs(math.log(c[0].middle)), c[2].name))
    shown = [c for c in changes if change(c[0]) not in ("same", "ambiguous") or beside_time(c[1], c[2])]
    print_changes(shown)
    for names, what in ((old.keys() - new.keys(), "gone"), (new.keys() - old.keys(), "new")):
        for name in sorted(names)[:SHOWN]:
            print(f"{what}: {name}")
        if len(names) > SHOWN:
            print(f"{what}: {len(names) - SHOWN} more")
    print(f"{old_context.get('commit', '?')} -> {new_context.get('commit', '?')}: {counted(changes)}; "
          f"{len(changes) - len(shown)} without a change are not shown")
    return 0


def compare_rounds(other: Path, this: Path) -> None:
    """Prints what changed since another commit, whose program took turns with this one's in the same rounds."""
    (old_context, old), (_, new) = load(str(other)), load(str(this))
    changes = [(paired(old[name].times(), after.times()), old[name], after) for name, after in new.items()
               if name in old and not old[name].failed and not after.failed]
    print(f"\nagainst {old_context.get('commit', '?')}, round by round")
    print_changes(changes)
    print(counted(changes))
    for names, what in ((old.keys() - new.keys(), "only there"), (new.keys() - old.keys(), "only here")):
        if names:
            print(f"{what}: {len(names)} cases, such as {min(names)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    arguments = parser.parse_args()
    return compare(arguments.old, arguments.new)


if __name__ == "__main__":
    run_main(main)
