# SPDX-License-Identifier: Apache-2.0
"""Prints significant changes between two runs: python3 -m report.compare OLD.json NEW.json. Compares times by ranks and ignores
changes within 3 %. The exit status does not depend on the changes."""
import argparse
import math
from pathlib import Path

from .ratios import SAME_TOLERANCE, Ratio, paired_ratio, unpaired_ratio
from .results import Case, load, run_main, format_bytes, format_table, format_seconds

COMPARED_CONTEXT = ("cpu", "gpu", "instruction_set", "compiler", "flags", "blas", "text", "batch")

SHOWN = 5  # limit of printed names that only one run has


def change(ratio: Ratio) -> str:
    """The outcome; "same" if the change is small."""
    small = 1 / (1 + SAME_TOLERANCE) <= ratio.middle <= 1 + SAME_TOLERANCE
    return "same" if small and ratio.outcome in ("faster", "slower") else ratio.outcome


def measured(path: str) -> tuple[dict, dict[str, Case]]:
    context, cases = load(path)
    return context, {name: case for name, case in cases.items() if not case.failure}


def describe_other_changes(old: Case, new: Case) -> str:
    """Changes of memory and errors, which have little noise."""
    changes = []
    for counter, label, text in (("saved_bytes", "kept", format_bytes), ("peak_bytes", "peak", format_bytes), ("max_error", "max error", "{:.2g}".format)):
        before, after = old.value(counter), new.value(counter)
        if before is None or after is None:
            continue
        alike = abs(after - before) <= 0.05 * max(before, after) + (2e6 if counter == "peak_bytes" else 0)
        if not alike:
            changes.append(f"{label} {text(before)} -> {text(after)}")
    return ", ".join(changes)


Change = tuple[Ratio, Case, Case]


def print_changes(changes: list[Change]) -> None:
    rows = [["case", "before", "now", "change", "times as fast (95 %)", "besides"]]
    rows += [[new.name, format_seconds(old.seconds), format_seconds(new.seconds), change(ratio), str(ratio), describe_other_changes(old, new)] for ratio, old, new in changes]
    if changes:
        print(format_table(rows))


def counted(changes: list[Change]) -> str:
    found = [change(ratio) for ratio, _, _ in changes]
    return f"of {len(found)} cases " + ", ".join(f"{found.count(outcome)} {outcome}" for outcome in ("faster", "slower", "same", "ambiguous"))


def compare(old_path: str, new_path: str) -> int:
    (old_context, old), (new_context, new) = measured(old_path), measured(new_path)
    if Path(old_path).read_bytes() == Path(new_path).read_bytes():
        print(f"note: {old_path} and {new_path} are equal byte for byte: a run is compared with itself")
    for key in COMPARED_CONTEXT:
        before, after = old_context.get(key), new_context.get(key)
        if before != after:
            print(f"note: {key} was {before}, is {after}")
    changes = [(unpaired_ratio(old[name].times(), new[name].times()), old[name], new[name]) for name in old.keys() & new.keys()]
    changes.sort(key=lambda c: (change(c[0]) not in ("slower", "faster"), -abs(math.log(c[0].middle)), c[2].name))
    shown = [c for c in changes if change(c[0]) not in ("same", "ambiguous") or describe_other_changes(c[1], c[2])]
    print_changes(shown)
    for names, label in ((old.keys() - new.keys(), "gone"), (new.keys() - old.keys(), "new")):
        for name in sorted(names)[:SHOWN]:
            print(f"{label}: {name}")
        if len(names) > SHOWN:
            print(f"{label}: {len(names) - SHOWN} more")
    print(f"{old_context.get('commit', '?')} -> {new_context.get('commit', '?')}: {counted(changes)}; "
          f"{len(changes) - len(shown)} without a change are not shown")
    return 0


def compare_rounds(base: Path, current: Path) -> None:
    """Prints changes since the base commit, whose program was interleaved with the current one in the same rounds."""
    (old_context, old), (_, new) = load(str(base)), load(str(current))
    changes = [(paired_ratio(old[name].times(), after.times()), old[name], after) for name, after in new.items()
               if name in old and not old[name].failure and not after.failure]
    print(f"\nagainst {old_context.get('commit', '?')}, round by round")
    print_changes(changes)
    print(counted(changes))
    for names, label in ((old.keys() - new.keys(), "gone"), (new.keys() - old.keys(), "new")):
        if names:
            print(f"{label}: {len(names)} cases, such as {min(names)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    arguments = parser.parse_args()
    return compare(arguments.old, arguments.new)


if __name__ == "__main__":
    run_main(main)
