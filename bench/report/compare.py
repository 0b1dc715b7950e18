# SPDX-License-Identifier: Apache-2.0
"""Prints significant changes between two runs: python3 -m report.compare OLD.json NEW.json. Compares times by ranks and ignores
changes within 3 %. The exit status does not depend on the changes."""
import argparse
import math
from pathlib import Path

from .ratios import SAME_TOLERANCE, Ratio, speedup, unpaired_ratio
from .results import Case, format_bytes, format_seconds, format_table, load, run_main

COMPARED_CONTEXT = ("cpu", "gpu", "instruction_set", "compiler", "flags", "blas", "text", "batch")

MAX_PRINTED_NAMES = 5  # of cases that only one of the runs has


def outcome_of_change(ratio: Ratio) -> str:
    """Returns the outcome of a ratio; "same" if the change is small."""
    is_small = 1 / (1 + SAME_TOLERANCE) <= ratio.middle <= 1 + SAME_TOLERANCE
    return "same" if is_small and ratio.outcome in ("faster", "slower") else ratio.outcome


def load_successful(path: str) -> tuple[dict, dict[str, Case]]:
    context, cases = load(path)
    return context, {name: case for name, case in cases.items() if not case.failure}


def describe_other_changes(old: Case, new: Case) -> str:
    """Describes changes of memory and errors, which have little noise."""
    changes = []
    for counter, label, text in (("saved_bytes", "kept", format_bytes), ("peak_bytes", "peak", format_bytes), ("max_error", "max error", "{:.2g}".format)):
        before, after = old.value(counter), new.value(counter)
        if before is None or after is None:
            continue
        is_similar = abs(after - before) <= 0.05 * max(before, after) + (2e6 if counter == "peak_bytes" else 0)
        if not is_similar:
            changes.append(f"{label} {text(before)} -> {text(after)}")
    return ", ".join(changes)


Change = tuple[Ratio, Case, Case]


def print_changes(changes: list[Change]) -> None:
    rows = [["case", "before", "now", "change", "times as fast (95 %)", "besides"]]
    rows += [[new.name, format_seconds(old.seconds), format_seconds(new.seconds), outcome_of_change(ratio), str(ratio), describe_other_changes(old, new)] for ratio, old, new in changes]
    if changes:
        print(format_table(rows))


def format_outcome_counts(changes: list[Change]) -> str:
    found = [outcome_of_change(ratio) for ratio, _, _ in changes]
    return f"of {len(found)} cases " + ", ".join(f"{found.count(outcome)} {outcome}" for outcome in ("faster", "slower", "same", "ambiguous"))


def compare(old_path: str, new_path: str) -> int:
    (old_context, old), (new_context, new) = load_successful(old_path), load_successful(new_path)
    if Path(old_path).read_bytes() == Path(new_path).read_bytes():
        print(f"note: {old_path} and {new_path} are equal byte for byte: a run is compared with itself")
    for key in COMPARED_CONTEXT:
        before, after = old_context.get(key), new_context.get(key)
        if before != after:
            print(f"note: {key} was {before}, is {after}")
    changes = [(unpaired_ratio(old[name].times(), new[name].times()), old[name], new[name]) for name in old.keys() & new.keys()]
    changes.sort(key=lambda c: (outcome_of_change(c[0]) not in ("slower", "faster"), -abs(math.log(c[0].middle)), c[2].name))
    shown_changes = [c for c in changes if outcome_of_change(c[0]) not in ("same", "ambiguous") or describe_other_changes(c[1], c[2])]
    print_changes(shown_changes)
    for names, label in ((old.keys() - new.keys(), "gone"), (new.keys() - old.keys(), "new")):
        for name in sorted(names)[:MAX_PRINTED_NAMES]:
            print(f"{label}: {name}")
        if len(names) > MAX_PRINTED_NAMES:
            print(f"{label}: {len(names) - MAX_PRINTED_NAMES} more")
    print(f"{old_context.get('commit', '?')} -> {new_context.get('commit', '?')}: {format_outcome_counts(changes)}; "
          f"{len(changes) - len(shown_changes)} without a change are not shown")
    return 0


def compare_rounds(base: Path, current: Path) -> None:
    """Prints changes since the base commit, whose program was interleaved with the current one in the same rounds."""
    (old_context, old), (_, new) = load(str(base)), load(str(current))
    changes = [(speedup(old[name], after), old[name], after) for name, after in new.items()
               if name in old and not old[name].failure and not after.failure]
    print(f"\nagainst {old_context.get('commit', '?')}, round by round")
    print_changes(changes)
    print(format_outcome_counts(changes))
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
