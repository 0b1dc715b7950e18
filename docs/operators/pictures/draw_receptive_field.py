#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws sparse_mix_field.svg: which rows of x one row has got something of after every factor, CHORD beside CDIL. The
numbers are what examples/sparse_mix.cpp prints, which a test compares with the comment at its end, read here. Needs
nothing but Python; --check only compares."""
import math
import re

from draw_attention import COLOURS, EXAMPLES, HERE, MARGIN, STYLE, write_or_check

CELL, STEP, LABEL, COUNT, BETWEEN, TOP = 19, 34, 74, 58, 24, 92
PANELS = (("chord", "CHORD", "links 0, +1, +2, +4, +8 in every factor"),
          ("cdil", "CDIL", "links 0, ±1; then 0, ±2; 0, ±4; 0, ±8"))


def fields():
    """{topology: (row, [numbers of ways after 0, 1, .. factors])}"""
    comment = (EXAMPLES / "sparse_mix.cpp").read_text(encoding="utf-8").split("// output:\n")[1]
    found = {}
    for name, row, lines in re.findall(r"// (\w+), ways to row (\d+)\n((?://   .*\n?)+)", comment):
        found[name] = int(row), [[0 if v == "." else int(v) for v in line[2:].split()] for line in lines.splitlines()]
    return found


def panel(origin, row, strips, color):
    out = []
    side = CELL * len(strips[0])
    x = origin + LABEL
    for factors, ways in enumerate(strips):
        y = TOP + factors * STEP
        label = "x" if factors == 0 else f"{factors} factor{'s' if factors > 1 else ''}"
        out.append(f'<text x="{x - 10}" y="{y + 14}" text-anchor="end">{label}</text>')
        for j, count in enumerate(ways):
            box = f'x="{x + j * CELL + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" rx="3"'
            out.append(f'<rect class="cell" {box}/>')
            if count > 0:
                shade = 0.3 + 0.7 * math.log2(count) / math.log2(max(ways)) if max(ways) > 1 else 1
                out.append(f'<rect fill="{color}" opacity="{shade:.2f}" {box}/>')
        reached = sum(count > 0 for count in ways)
        out.append(f'<text class="note" x="{x + side + 8}" y="{y + 14}">{reached} of {len(ways)}</text>')
    out.append(f'<path d="M{x + row * CELL + CELL / 2:g} {TOP - 3}l-4 -7h8z" class="grey"/>')
    out.append(f'<text class="axis" x="{x + row * CELL + CELL / 2:g}" y="{TOP - 14}" text-anchor="middle">row {row}</text>')
    return out


def svg(found):
    strips = found["chord"][1]
    step = LABEL + CELL * len(strips[0]) + COUNT + BETWEEN
    width, height = 2 * MARGIN + len(PANELS) * step - BETWEEN, TOP + len(strips) * STEP + 8
    body = [f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>']
    for i, (name, heading, links) in enumerate(PANELS):
        origin = MARGIN + i * step
        body.append(f'<text class="title" x="{origin}" y="34">{heading}</text>')
        body.append(f'<text class="note" x="{origin}" y="54">{links}</text>')
        body += panel(origin, *found[name], COLOURS[i])
    return "\n".join(["<!-- SPDX-License-" "Identifier: Apache-2.0 -->",
                      f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img">',
                      "<title>The rows that one row mixes after 1, 2, 3 and 4 factors of CHORD and of CDIL</title>",
                      STYLE, *body, "</svg>", ""])


write_or_check({HERE / "sparse_mix_field.svg": svg(fields())})
