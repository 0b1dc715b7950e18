#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws softmax_numerics.svg from softmax_numerics.txt: behind the line of the licence, what `softmax_numerics 100 1000000`
of the examples printed. Needs nothing but Python; --check only compares."""
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "operators/pictures"))
from draw_attention import COLOURS, MARGIN, STYLE  # noqa: E402

WIDTH, HEIGHT, LEFT, TOP, BETWEEN, BOTTOM = 196, 190, 44, 78, 62, 46
SOFTMAX, SORT = COLOURS[1], COLOURS[0]


def rows():
    """[(N, softmax's std, sum of differences, share of equal, and slicing-sort's)]"""
    lines = (HERE / "softmax_numerics.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(float(v) for v in (line.split()[:1] + line.split()[2:])) for line in lines[3:]]


def power(value):
    return f'10<tspan dy="-5" font-size="9">{"−" if value < 0 else ""}{abs(value)}</tspan><tspan dy="5"> </tspan>'


def panel(number, title, note, low, high, log, series):
    """series: [(name, color, [values])]; the axis goes from low to high, as powers of ten or as they are."""
    origin = MARGIN + LEFT + number * (WIDTH + BETWEEN)
    x_of = lambda n: origin + WIDTH * (math.log10(n) - 1) / 5
    place = lambda v: (math.log10(v) if log else v)
    y_of = lambda v: TOP + HEIGHT * (1 - (place(v) - low) / (high - low))
    out = [f'<text class="title" x="{origin - 30}" y="34">{title}</text>',
           f'<text class="note" x="{origin - 30}" y="53">{note}</text>']
    ticks = range(low, high + 1) if log else [0, 0.25, 0.5, 0.75, 1]
    for tick in ticks:
        y = TOP + HEIGHT * (1 - (tick - low) / (high - low))
        out.append(f'<path d="M{origin} {y:.1f}h{WIDTH}" stroke="#8c959f" stroke-opacity="0.3"/>')
        label = power(tick) if log else f"{100 * tick:g} %"
        out.append(f'<text class="note" x="{origin - 7}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for exponent in range(1, 7):
        x = x_of(10 ** exponent)
        out.append(f'<text class="note" x="{x:.1f}" y="{TOP + HEIGHT + 19}" text-anchor="middle">{power(exponent)}</text>')
    out.append(f'<text class="axis" x="{origin + WIDTH / 2}" y="{TOP + HEIGHT + 36}" text-anchor="middle">length N</text>')
    for name, color, values, label_y in series:
        points = [(x_of(n), y_of(v)) for n, v in values]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        out.append(f'<path d="M{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points]
        out.append(f'<text x="{origin + WIDTH - 4}" y="{label_y}" text-anchor="end" style="fill:{color}">{name}</text>')
    return out


def svg(data):
    width, height = 2 * MARGIN + LEFT + 3 * WIDTH + 2 * BETWEEN, TOP + HEIGHT + BOTTOM
    column = lambda i: [(row[0], row[i]) for row in data]
    body = [f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>']
    body += panel(0, "Standard deviation", "of the output", -6, 1, True,
                  [("slicing-sort", SORT, column(4), TOP + 18), ("softmax", SOFTMAX, column(1), TOP + 110)])
    # A difference of 0 has no place on a logarithmic axis: at its foot.
    low = math.floor(math.log10(min(v for _, v in column(2)))) - 1
    high = math.ceil(math.log10(max(v for _, v in column(2))))
    body += panel(1, "Sum of |y − y′|", "permuted after, and before", low, high, True,
                  [("slicing-sort: 0 exactly", SORT, [(n, max(v, 10.0 ** low)) for n, v in column(5)], TOP + HEIGHT - 10),
                   ("softmax", SOFTMAX, column(2), TOP + 66)])
    body += panel(2, "Equal elements", "y and y′, to the last bit", 0, 1, False,
                  [("slicing-sort", SORT, column(6), TOP + 18), ("softmax", SOFTMAX, column(3), TOP + 100)])
    return "\n".join(["<!-- SPDX-License-" "Identifier: Apache-2.0 -->",
                      f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img">',
                      "<title>Softmax and slicing-sort under a permutation, for lengths from 10 to a million</title>",
                      STYLE, *body, "</svg>", ""])


def main():
    target, text = HERE / "softmax_numerics.svg", svg(rows())
    if sys.argv[1:] != ["--check"]:
        target.write_text(text, encoding="utf-8")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        sys.exit(f"{target.name} is out of date: run docs/softmax_numerics/draw_softmax_numerics.py")


main()
