# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of a run that is finished: python3 -m report.show RESULTS.json [GPU.json]. The arena reports so
itself; of other runs this draws csp's time against the size of its groups, where they measured that."""
import argparse
import importlib.util
import sys
from pathlib import Path

from .arena_table import machine_of, print_table, rows_of
from .contestants import weak_opponent
from .crossover import crossover_table
from .in_torch.peers import table_of_peers
from .page.write import write_page
from .results import Case, load, run_main


def can_draw() -> bool:
    found = importlib.util.find_spec("matplotlib") is not None
    print("\npictures:" if found else "\nno pictures: this python3 has no matplotlib", flush=True)
    return found


def report_arena(results: list[Path], torch: Path, page: Path, with_pictures: bool = True) -> None:
    """Table, pictures and page; the pictures lie in a folder beside their results, of the same name."""
    if not results:
        return
    parts = [(path.with_suffix(""), *rows_of(str(path))) for path in results]
    for i, (_, context, rows) in enumerate(parts):
        print("\n" * (i > 0), end="")
        print_table(context, rows)
        if crossover_table(rows):
            print("\n" + crossover_table(rows))
        if warning := weak_opponent(context, [row.case for row in rows]):
            print(warning, file=sys.stderr)
    if torch.exists():
        print()
        table_of_peers([row for _, _, rows in parts for row in rows], str(torch))
    if with_pictures and can_draw():
        from .pictures import arena as pictures
        for folder, context, rows in parts:
            pictures.draw(rows, machine_of(context), folder)
    write_page(page, [(path, context, rows) for path, (_, context, rows) in zip(results, parts)], torch)


def report_groups(path: Path) -> None:
    """csp against the size of its groups, of the shape that has most sizes."""
    context, cases = load(str(path))
    shapes: dict[str, list[Case]] = {}
    for case in cases.values():
        if (case.backend, case.dtype, case.input, case.t) == ("host", "f32", "normal", 1) and case.policy.startswith("linear-"):
            shapes.setdefault(case.shape, []).append(case)
    if shapes and can_draw():
        from .pictures import csp_groups
        most = max(shapes.values(), key=lambda found: len({case.group for case in found}))
        csp_groups.draw(most, machine_of(context), path.with_suffix("") / "csp_group_size")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    results = parser.parse_args().results
    first = results[0]
    if "rounds" in load(str(first))[0]:
        report_arena(results, first.with_name(first.stem + "-torch.json"), first.with_suffix(".html"))
    else:
        report_groups(first)
    return 0


if __name__ == "__main__":
    run_main(main)
