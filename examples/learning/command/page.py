# SPDX-License-Identifier: Apache-2.0
"""Writes all tables and pictures of a result folder to one self-contained HTML page."""
import html
import re
from pathlib import Path

from report.results import replace_file

LOOKS = {"what it is": "long", "published": "soft", "by whom": "soft long"}  # CSS classes of columns; published numbers are grey
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #57606a; --line: #e3e6ea; }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1318; --ink: #e8ebef; --soft: #9aa5b1; --line: #2a313a; } .light { display: none; } }
@media (prefers-color-scheme: light) { .dark { display: none; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 Inter, system-ui, "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; background: var(--paper); color: var(--ink);
  max-width: 1080px; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.15; letter-spacing: -.02em; } h2 { font-size: 1.25rem; margin: 2.4rem 0 .4rem; }
p { color: var(--soft); max-width: 46rem; margin: .3rem 0; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .86rem; margin-top: .8rem; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; } th { color: var(--soft); font-weight: 500; }
td:nth-child(n+2) { white-space: nowrap; } td.long { white-space: normal !important; min-width: 11rem; } .soft { color: var(--soft); }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); min-width: 8.5rem; }
svg { width: 100%; min-width: 36rem; height: auto; max-width: 52rem; display: block; margin-top: 1.6rem; }
"""


def html_from_markdown(text: str) -> str:
    """Converts the output of `Table.markdown`, a heading, sentences and a table, to HTML."""
    parts, rows, looks = [], [], []
    for line in text.splitlines():
        if line.startswith("# "):
            parts.append(f"<h2>{html.escape(line[2:])}</h2>")
        elif line.startswith("|"):
            if not re.fullmatch(r"\|(-+\|)+", line):
                cells = [html.escape(cell.strip()) for cell in line[1:-1].split("|")]
                if rows:
                    cells = [f"<td{look}>{cell}</td>" for look, cell in zip(looks, cells)]
                else:
                    looks = [f' class="{LOOKS[cell]}"' if cell in LOOKS else "" for cell in cells]
                    cells = [f"<th>{cell}</th>" for cell in cells]
                rows.append("<tr>" + "".join(cells) + "</tr>")
        elif line:
            parts.append(f"<p>{html.escape(line)}</p>")
    return "\n".join(parts) + '\n<div class="wide"><table>' + "".join(rows) + "</table></div>"


def embed_svg(svg: Path, theme: str) -> str:
    """Returns the SVG, with identifiers that are unique on the page."""
    text = svg.read_text(encoding="utf-8")
    text = text[text.index("<svg"):]
    prefix = re.sub(r"\W", "-", svg.stem)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
    return f'<div class="wide {theme}">{text}</div>'


def write_page(results: Path, origin: str) -> Path:
    parts = [html_from_markdown(table.read_text(encoding="utf-8")) for table in sorted(results.glob("*.md"))]
    for light in sorted(results.glob("*-light.svg")):
        dark = light.with_name(light.name.replace("-light.", "-dark."))
        parts.append(embed_svg(light, "light") + (embed_svg(dark, "dark") if dark.exists() else ""))
    page = results / "index.html"
    replace_file(page, f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
                       f"<title>Models that sort, mix and attend</title><style>{STYLE}</style>\n<h1>Models that sort, mix and attend</h1>\n"
                       f"<p>{html.escape(origin)}</p>\n" + "\n".join(parts) + "</html>\n")
    return page
