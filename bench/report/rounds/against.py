# SPDX-License-Identifier: Apache-2.0
"""What changed since another commit, whose program took turns with this one's in the same rounds: python3 -m report.rounds.against
OTHER.json THIS.json."""
import sys
from pathlib import Path

from ..compare import beside_time, change
from ..results import load, run_main, table, time_of
from ..verdicts import paired


def print_changes(other: Path, this: Path) -> None:
    (old_context, old), (_, new) = load(str(other)), load(str(this))
    rows, counts = [["case", "before", "now", "change", "times as fast (95 %)", "besides"]], dict.fromkeys(("faster", "slower", "same", "ambiguous"), 0)
    for name, after in new.items():
        before = old.get(name)
        if before is None or before.failed or after.failed:
            continue
        ratio = paired(before.times(), after.times())
        counts[change(ratio)] += 1
        rows.append([name, time_of(before.seconds), time_of(after.seconds), change(ratio), str(ratio), beside_time(before, after)])
    print(f"\nagainst {old_context.get('commit', '?')}, round by round")
    print(table(rows))
    print(f"of {len(rows) - 1} cases " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    for names, what in ((old.keys() - new.keys(), "only there"), (new.keys() - old.keys(), "only here")):
        if names:
            print(f"{what}: {len(names)} cases, such as {min(names)}")


def main() -> int:
    print_changes(Path(sys.argv[1]), Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    run_main(main)
