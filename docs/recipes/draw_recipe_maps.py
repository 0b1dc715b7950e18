#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws recipe_maps.svg: the weights of 16 rows by softmax attention and by each recipe. They are what
examples/recipe_maps.cpp prints, which a test compares with the comment at its end, read here. Needs nothing but Python;
--check only compares."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "operators/pictures"))
from draw_attention import COLOURS, EXAMPLES, MARGIN, STYLE  # noqa: E402

CELL, BETWEEN, TOP, STEP, COLUMNS = 11, 36, 54, 82, 4
FULL_COLOR = 35  # percent
NOTES = {"softmax attention": "all pairs",
         "linformer": "four projected keys",
         "nystromformer": "four landmarks, three taps",
         "synthesizer": "the same for all inputs",
         "long_short": "window{2, 2}, three keys",
         "sinkhorn_transformer": "own block, sorted block",
         "reformer": "chunks of four, two rounds",
         "sinkformer": "columns also sum to 1"}


def maps():
    """{name: rows of percents}, in the order of the output."""
    comment = (EXAMPLES / "recipe_maps.cpp").read_text(encoding="utf-8").split("// output:\n")[1]
    found, rows = {}, []
    for line in comment.splitlines():
        text = line[3:].strip()
        if text in NOTES:
            rows = found[text] = []
        else:
            rows.append([int(weight) for weight in text.split()])
    return found


def svg(found):
    side = 16 * CELL
    lines = -(-len(found) // COLUMNS)
    width = 2 * MARGIN + COLUMNS * (side + BETWEEN) - BETWEEN + 12
    height = TOP + (lines - 1) * (side + STEP) + side + 30
    body = [f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>']
    for number, (name, rows) in enumerate(found.items()):
        origin = MARGIN + 12 + number % COLUMNS * (side + BETWEEN)
        top = TOP + number // COLUMNS * (side + STEP)
        body.append(f'<text class="title" x="{origin}" y="{top - 26}">{name}</text>')
        body.append(f'<text class="note" x="{origin}" y="{top - 9}">{NOTES[name]}</text>')
        squares = {}
        for i, row in enumerate(rows):
            for j, weight in enumerate(row):
                squares.setdefault(weight, []).append(f"M{origin + j * CELL} {top + i * CELL}h{CELL - 1}v{CELL - 1}h{1 - CELL}z")
        body.append(f'<path class="cell" d="{"".join(sum(squares.values(), []))}"/>')
        body += [f'<path fill="{COLOURS[weight < 0]}" opacity="{min(1, abs(weight) / FULL_COLOR):.2f}" d="{"".join(squares[weight])}"/>'
                 for weight in sorted(squares) if weight]
        body.append(f'<text class="axis" x="{origin + side - 1}" y="{top + side + 14}" text-anchor="end">keys</text>')
        body.append(f'<text class="axis" x="{origin - 5}" y="{top + side}" transform="rotate(-90 {origin - 5} {top + side})">'
                    "queries</text>")
    return "\n".join(["<!-- SPDX-License-" "Identifier: Apache-2.0 -->",
                      f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img">',
                      "<title>The weights of sixteen queries and keys, by softmax attention and by seven recipes</title>",
                      STYLE, *body, "</svg>", ""])


def main():
    target, text = HERE / "recipe_maps.svg", svg(maps())
    if sys.argv[1:] != ["--check"]:
        target.write_text(text, encoding="utf-8")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        sys.exit(f"{target.name} is out of date: run docs/recipes/draw_recipe_maps.py")


main()
