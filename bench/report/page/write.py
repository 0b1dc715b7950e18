# SPDX-License-Identifier: Apache-2.0
"""The arena as one page that needs no other file: a template, with style, scripts and the results as JSON put into it."""
import json
from pathlib import Path

from ..arena_table import Row
from .rows import Page

HERE = Path(__file__).parent


def as_island(results: dict) -> str:
    """JSON that may stand in HTML: no character of it can end the element or begin a comment."""
    return json.dumps(results, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def page_of(results: dict) -> str:
    text = (HERE / "template.html").read_text(encoding="utf-8")
    for part in ("page.css", "chart.js", "page.js"):
        text = text.replace("{{" + part + "}}", (HERE / part).read_text(encoding="utf-8"))
    return text.replace("{{results}}", as_island(results))


def collected(parts: list[tuple[Path, dict, list[Row]]], torch: Path | None) -> dict:
    """What the page carries, of files of results, each with its context and its rows; and of torch's, if there are any."""
    found = Page()
    for _, context, rows in parts:
        found.add(context, rows)
    files = [path.name for path, _, _ in parts]
    if torch is not None and torch.exists():
        files.append(torch.name)
        for machine, (_, _, rows) in enumerate(parts):
            found.add_torch(machine, rows, torch)
    return {"files": files, "machines": found.machines, "series": found.series, "rows": found.rows}


def write_page(page: Path, parts: list[tuple[Path, dict, list[Row]]], torch: Path | None = None) -> None:
    page.write_text(page_of(collected(parts, torch)), encoding="utf-8")
    print(f"  {page}")
