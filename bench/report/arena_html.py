# SPDX-License-Identifier: Apache-2.0
"""The arena as one page that needs no other file."""
import html
import re
from pathlib import Path

from .arena_table import HEADING, Row, cells, legend, machine_of

PICTURES = ("time", "memory", "roofline", "circles")
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; margin: 2rem auto; max-width: 1280px; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p.facts { color: #555; margin: .2rem 0; } code { background: #f3f3f3; padding: .1em .3em; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #e6e6e6; text-align: right; white-space: nowrap; }
th:nth-child(-n+4), td:nth-child(-n+4) { text-align: left; }
th { position: sticky; top: 0; background: #fff; cursor: pointer; border-bottom: 2px solid #999; user-select: none; vertical-align: bottom; white-space: normal; }
th[data-sorted="1"]::after { content: " \\25B2"; } th[data-sorted="-1"]::after { content: " \\25BC"; }
tr:hover td { background: #f7fafc; }
td.faster { color: #20701f; font-weight: 600; } td.slower { color: #a3261b; font-weight: 600; }
svg { max-width: 100%; height: auto; } .picture { margin-top: 2.5rem; } .wide { overflow-x: auto; }
"""
SORT = """
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const way = head.dataset.sorted === "1" ? -1 : 1;
    heads.forEach(other => delete other.dataset.sorted);
    head.dataset.sorted = way;
    const key = row => row.cells[column].dataset.key;
    const rows = [...body.rows].sort((a, b) => {
      const x = key(a), y = key(b);
      if (x === "" || y === "") return (x === "") - (y === "");  // what is missing stays below
      const numbers = !isNaN(x) && !isNaN(y);
      return way * (numbers ? x - y : x.localeCompare(y));
    });
    body.append(...rows);
  }));
}
"""


def keys(row: Row) -> list[str]:
    """What a column is sorted by."""
    case = row.case

    def known(value) -> str:
        return f"{value:.9g}" if value is not None else ""
    seconds = None if case.failed else case.seconds
    return [row.who.label, row.direction, case.dtype, str(case.elements), known(seconds), known(seconds and case.b * case.n / seconds),
            known(case.value("saved_bytes")), known(case.value("peak_bytes")), known(case.value("max_error")),
            row.against.verdict if row.against else "", known(row.against.middle if row.against else None),
            known(row.share[0] if case.value("share_of_copy") else None)]


def table_of(rows: list[Row]) -> str:
    head = "".join(f"<th>{html.escape(title)}</th>" for title in HEADING)
    body = []
    for row in rows:
        verdict = row.against.verdict if row.against else ""
        columns = []
        for title, cell, key in zip(HEADING, cells(row), keys(row)):
            kind = f' class="{verdict}"' if title == "verdict" and verdict else ""
            columns.append(f'<td{kind} data-key="{html.escape(key)}">{html.escape(cell)}</td>')
        body.append("<tr>" + "".join(columns) + "</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n' + "\n".join(body) + "\n</tbody></table></div>"


def picture(path: Path) -> str:
    """The SVG itself, with names of its own: several share the page."""
    text = path.read_text(encoding="utf-8")
    text = text[text.index("<svg"):]
    mark = re.sub(r"\W", "", f"{path.parent.name}{path.stem}")
    text = re.sub(r'\bid="', f'id="{mark}-', text)
    text = re.sub(r'url\(#', f'url(#{mark}-', text)
    return re.sub(r'href="#', f'href="#{mark}-', text)


def part_of(context: dict, rows: list[Row], pictures: Path) -> str:
    text = [f"<h2>{html.escape(context.get('gpu') or context.get('cpu', 'results'))}</h2>",
            f'<p class="facts">{html.escape(machine_of(context))}</p>', table_of(rows)]
    text += [f'<p class="facts">{html.escape(line)}</p>' for line in ["Click a heading to sort by it."] + legend(context, rows)]
    svgs = [pictures / f"{stem}.svg" for stem in PICTURES]
    text += [f'<div class="picture">{picture(svg)}</div>' for svg in svgs if svg.exists()]
    return "\n".join(text)


def write_page(page: Path, parts: list[tuple[Path, dict, list[Row]]]) -> None:
    """Of results, each with its context, its rows and the folder of its pictures."""
    context = parts[0][1]
    facts = (f"{context.get('date', 'date unknown')}, commit {context.get('commit', 'unknown')}, "
             f"<code>{html.escape(context.get('command', ''))}</code>")
    page.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>slicesort: the arena</title>\n<style>{STYLE}</style></head>\n'
        f'<body><h1>The arena: every operator beside softmax attention</h1>\n<p class="facts">{facts}</p>\n' +
        "\n".join(part_of(context, rows, pictures) for pictures, context, rows in parts) + f"\n<script>{SORT}</script></body></html>\n",
        encoding="utf-8")
    print(f"  {page}")
