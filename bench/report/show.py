# SPDX-License-Identifier: Apache-2.0
"""Reports a finished run of the arena again: python3 -m report.show RESULTS.json [GPU.json]. For another run, draws the time of csp
against the group size, if it measured that."""
import argparse
import importlib.util
import sys
import textwrap
from pathlib import Path

from .arena_table import describe_machine, failures_of, load_rows, notices_of, print_table
from .crossover import crossover_table
from .in_torch.timer import print_torch_table
from .page.rows import write_page
from .results import load, run_main
from .summary import NOTE, WIDTH, format_summary, has_one_shape, reasons_for_slower


def can_draw() -> bool:
    found = importlib.util.find_spec("matplotlib") is not None
    if not found:
        print("  no pictures: this python3 has no matplotlib", flush=True)
    return found


def report_arena(results: list[Path], torch: Path, page: Path, with_pictures: bool = True) -> list[str]:
    """Prints the tables, the summary last. Writes the page, and the pictures to a folder named like the results. Returns notices about
    the machine."""
    if not results:
        return []
    runs = [(path.with_suffix(""), *load_rows(str(path))) for path in results]
    for i, (_, context, rows) in enumerate(runs):
        if has_one_shape(rows):
            continue  # the summary is complete
        print("\n" * (i > 0), end="")
        print_table(context, rows)
        if crossover_table(rows):
            print("\n" + crossover_table(rows))
    if torch.exists():
        print()
        print_torch_table([row for _, _, rows in runs for row in rows], str(torch))
    print("\n" + "\n".join(f"  {path}" for path in results))
    if with_pictures and can_draw():
        from .pictures import arena as pictures
        for folder, context, rows in runs:
            pictures.draw(rows, describe_machine(context), folder)
    write_page(page, [(path, context, rows) for path, (_, context, rows) in zip(results, runs)], torch)
    for _, context, rows in runs:
        print(f"\n{format_summary(rows)}\n")
        for line in (*reasons_for_slower(rows), *failures_of(rows), describe_machine(context)):
            print(textwrap.fill(line, WIDTH))
    print("\n" + textwrap.fill(NOTE, WIDTH))
    return [notice for _, context, rows in runs for notice in notices_of(context, rows)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    results = parser.parse_args().results
    first = results[0]
    if "rounds" in load(str(first))[0]:
        print("\n".join(report_arena(results, first.with_name(first.stem + "-torch.json"), first.with_suffix(".html"))), file=sys.stderr)
    elif can_draw():
        from .pictures import csp_groups
        csp_groups.draw(first)
    return 0


if __name__ == "__main__":
    run_main(main)
