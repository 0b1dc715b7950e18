# SPDX-License-Identifier: Apache-2.0
"""--csv: a row for each case of a run, with the names of the page's own CSV."""
import csv
from pathlib import Path

from ..arena_table import rows_of
from ..page.rows import fields_of
from ..results import load

FIRST = ["case", "operator", "backend"]


def write_csv(path: Path, results: list[Path]) -> None:
    rows = []
    for file in (str(result) for result in results if result.exists()):
        shown = {row.case.name: row for row in rows_of(file)[1]}
        for name, case in load(file)[1].items():
            row = shown.get(name)
            fields = fields_of(case, row.against if row else None, row.share if row and not case.failed else (0.0, ""),
                               row.crossing if row else None)
            fields.pop("reference", None)
            rows.append({"case": name, "operator": row.label if row else case.subject, "backend": case.backend, **fields})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIRST + [key for key in (rows[0] if rows else {}) if key not in FIRST])
        writer.writeheader()
        writer.writerows(rows)
