#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws attention_masks.svg: which of 16 keys each of 16 queries looks at, by each mask. The patterns are what
examples/attention_masks.cpp prints, which a test compares with the comment at its end, read here. Needs nothing but
Python; --check only compares."""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "operators/pictures"))
from draw_attention import COLOURS, EXAMPLES, matrices_svg, square  # noqa: E402

CELL, COLUMNS = 11, 3
NOTES = {"causal": "keys up to the query", "window{2, 2}": "two keys to either side", "block_local{4}": "blocks of four",
         "strided{4, 2}": "distance 0, 1, 4, 8, 12", "dilated_window{2, 1, 3}": "every third key",
         "fixed{4, 1}": "own block, last columns", "chunk_back{4, true, 16}": "own chunk, the one before",
         "block_pairs": "blocks by a table of bits", "bigbird, blocks of 2": "window, ends, one drawn",
         "either window, globals": "a window, a global token", "both causal, fixed": "fixed{4, 1}, causal",
         "both causal, same_document": "three documents, causal"}
TITLES = {"either window, globals": "either{a, b}", "both causal, fixed": "both{a, b}",
          "both causal, same_document": "a mask of your own"}


def patterns():
    """[(name, [rows])] in the order of the output."""
    comment = (EXAMPLES / "attention_masks.cpp").read_text(encoding="utf-8").split("// output:\n")[1]
    found, names = [], []
    for line in comment.splitlines():
        cells = line[3:].split()
        if cells and all(re.fullmatch(r"[#.]{16}", cell) for cell in cells):
            for (_, rows), cell in zip(found[-len(cells):], cells):
                rows.append(cell)
        else:
            names = re.split(r" {2,}", line[3:].strip())
            if all(name in NOTES for name in names):
                found += [(name, []) for name in names]
    return found


def svg(found):
    def cells(number, rows):
        color = COLOURS[number // COLUMNS % len(COLOURS)]

        def draw(origin, top):
            for mark, paint in (("#", f'fill="{color}"'), (".", 'class="cell"')):
                squares = "".join(square(origin + j * CELL, top + i * CELL, CELL)
                                  for i, row in enumerate(rows) for j, cell in enumerate(row) if cell == mark)
                yield f'<path {paint} d="{squares}"/>'
        return draw
    panels = [(TITLES.get(name, name), NOTES[name], cells(number, rows)) for number, (name, rows) in enumerate(found)]
    return matrices_svg("The keys that each query looks at, for twelve masks", panels, 16, CELL, 40, COLUMNS)


def main():
    target, text = HERE / "attention_masks.svg", svg(patterns())
    if sys.argv[1:] != ["--check"]:
        target.write_text(text, encoding="utf-8")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        sys.exit(f"{target.name} is out of date: run docs/masks/draw_masks.py")


main()
