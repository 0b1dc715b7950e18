#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws slicing_sort_attention.svg (softmax attention beside slicing-sort, both as the matrices that multiply
the sequence), variants_attention.svg and csp_attention.svg. The permutations are what the examples print: a test compares their
output with the comments at their ends, which are read here. Needs nothing but Python; --check only compares."""
import math
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent.parent / "examples"
CELL, BAR, GAP, BETWEEN, MARGIN, TOP = 18, 44, 6, 38, 24, 54
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart with any color vision

STYLE = """<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 } .note { fill: #57606a } .axis { font-style: italic; fill: #57606a }
  .card { fill: #ffffff; stroke: #d0d7de } .cell { fill: #f3f4f6 } .grey { fill: #30363d }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .note, .axis { fill: #9198a1 }
    .card { fill: #0d1117; stroke: #30363d } .cell { fill: #1c2128 } .grey { fill: #e6edf3 }
  }
</style>"""


def channels():
    """[(x, matrix)] of every channel, from the example's output."""
    comment = (EXAMPLES / "attention_map.cpp").read_text(encoding="utf-8").split("// output:\n")[1]
    found = []
    for line in comment.splitlines():
        if head := re.match(r"// channel \d+: x (.*)", line):
            found.append(([int(v) for v in head[1].split()], []))
        else:
            found[-1][1].append([int(v) for v in line.split("y")[0][3:].split()])
    return found


def softmax_map(columns):
    """softmax(Q K' / sqrt(C)) with queries and keys both the standardised input."""
    n = len(columns[0])
    mean = [sum(c) / n for c in columns]
    scale = [math.sqrt(sum((v - m) ** 2 for v in c) / n) for c, m in zip(columns, mean)]
    rows = [[(c[i] - m) / s for c, m, s in zip(columns, mean, scale)] for i in range(n)]
    out = []
    for q in rows:
        score = [math.exp(sum(a * b for a, b in zip(q, k)) / math.sqrt(len(columns))) for k in rows]
        out.append([s / sum(score) for s in score])
    return out


def panel(origin, matrix, x, color, under, grey=False, group=None):
    n, biggest = len(x), max(x)
    y = [sum(p * v for p, v in zip(row, x)) for row in matrix]
    top, side = TOP + BAR + GAP, CELL * n
    out = []
    for m, v in enumerate(x):  # the input, above its column
        h = BAR * v / biggest
        out.append(f'<rect x="{origin + m * CELL + 3}" y="{TOP + BAR - h:.1f}" width="{CELL - 6}" height="{h:.1f}" '
                   f'rx="2" fill="{color}" opacity="0.55"/>')
    peak = max(max(row) for row in matrix)
    for r, row in enumerate(matrix):
        for m, p in enumerate(row):
            box = f'x="{origin + m * CELL + 1}" y="{top + r * CELL + 1}" width="{CELL - 2}" height="{CELL - 2}" rx="3"'
            out.append(f'<rect class="cell" {box}/>')
            if p > 0:
                fill = f'class="grey" opacity="{p / peak:.2f}"' if grey else f'fill="{color}" opacity="{p / peak:.2f}"'
                out.append(f"<rect {fill} {box}/>")
    for edge in range(group or n, n, group or n):  # between groups
        out.append(f'<path d="M{origin - 4} {top + edge * CELL}H{origin + side + GAP + BAR}" stroke="#8c959f" '
                   'stroke-dasharray="3 3"/>')
    for r, v in enumerate(y):  # the output, beside its row
        out.append(f'<rect x="{origin + side + GAP}" y="{top + r * CELL + 3}" width="{BAR * v / biggest:.1f}" '
                   f'height="{CELL - 6}" rx="2" fill="{color}"/>')
    out.append(f'<text class="axis" x="{origin - 14}" y="{TOP + BAR - 1}">x</text>')
    out.append(f'<text class="axis" x="{origin + side + GAP + 2}" y="{TOP + BAR - 1}">y</text>')
    out.append(f'<text class="note" x="{origin}" y="{top + side + 22}">{under}</text>')
    return out


def svg(title, panels):
    """The panels side by side on a card. A panel: (heading, what `panel` takes after `origin`)."""
    n = len(panels[0][1][0])
    step = CELL * n + GAP + BAR + BETWEEN
    width, height = 2 * MARGIN + len(panels) * step - BETWEEN + 8, TOP + BAR + GAP + CELL * n + 44
    body = [f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>']
    for i, (heading, arguments) in enumerate(panels):
        origin = MARGIN + 8 + i * step
        body.append(f'<text class="title" x="{origin}" y="34">{heading}</text>')
        body += panel(origin, *arguments)
    return document(title, width, height, body)


def document(title, width, height, body):
    return "\n".join(["<!-- SPDX-License-" "Identifier: Apache-2.0 -->",
                      f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img">', f"<title>{title}</title>", STYLE, *body, "</svg>", ""])


def matrices_svg(title, panels, rows, cell, between, in_row, axes=("keys", "queries")):
    """Square matrices, `in_row` side by side, on a card. A panel: (heading, note, what draws its cells at an origin). `axes`:
    what columns and rows are."""
    side, step, lines = rows * cell, 82, -(-len(panels) // in_row)
    width = 2 * MARGIN + in_row * (side + between) - between + 12
    height = TOP + (lines - 1) * (side + step) + side + 30
    body = [f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>']
    for number, (heading, note, draw_cells) in enumerate(panels):
        origin, top = MARGIN + 12 + number % in_row * (side + between), TOP + number // in_row * (side + step)
        body.append(f'<text class="title" x="{origin}" y="{top - 26}">{heading}</text>')
        body.append(f'<text class="note" x="{origin}" y="{top - 9}">{note}</text>')
        body += draw_cells(origin, top)
        body.append(f'<text class="axis" x="{origin + side - 1}" y="{top + side + 14}" text-anchor="end">{axes[0]}</text>')
        body.append(f'<text class="axis" x="{origin - 5}" y="{top + side}" transform="rotate(-90 {origin - 5} {top + side})">'
                    f"{axes[1]}</text>")
    return document(title, width, height, body)


def square(x, y, cell):
    return f"M{x} {y}h{cell - 1}v{cell - 1}h{1 - cell}z"


def weight_cells(matrix, cell, largest, color_of):
    """Returns what draws weights: `largest` is opaque, 0 is empty, and color_of(weight) is the color."""
    def draw(origin, top):
        squares = {}
        for i, row in enumerate(matrix):
            for j, weight in enumerate(row):
                squares.setdefault(weight, []).append(square(origin + j * cell, top + i * cell, cell))
        return [f'<path class="cell" d="{"".join(sum(squares.values(), []))}"/>'] + [
            f'<path fill="{color_of(weight)}" opacity="{min(1, abs(weight) / largest):.2f}" d="{"".join(squares[weight])}"/>'
            for weight in sorted(squares) if weight]
    return draw


def percents(example, names):
    """{name: rows of percents}, in the order of an example's output: lines of numbers below each name."""
    comment = (EXAMPLES / example).read_text(encoding="utf-8").split("// output:\n")[1]
    found, rows = {}, []
    for line in comment.splitlines():
        text = line[3:].strip()
        if text in names:
            rows = found[text] = []
        else:
            rows.append([int(weight) for weight in text.split()])
    return found


def slicing_sort(columns):
    panels = [("Softmax attention", (softmax_map([x for x, _ in columns]), columns[0][0], COLOURS[0],
                                     "one dense map for all channels", True))]
    for i, (x, matrix) in enumerate(columns):
        panels.append(("" if i else "Slicing-sort", (matrix, x, COLOURS[i], f"channel {i}: its own matrix")))
    return svg("Softmax attention averages all rows; slicing-sort permutes them, channel by channel", panels)


def variants(columns):
    x, sort = columns[0]
    n = len(x)
    square = [[sum(sort[i][k] * sort[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    average = [[(a + b) / 2 for a, b in zip(*rows)] for rows in zip(sort, square)]
    m = x.index(max(x))
    swap = {0: m, m: 0}
    exchange = [[int(swap.get(i, i) == j) for j in range(n)] for i in range(n)]
    rows = re.search(r"shared_by_channels\n//   channel 0: (.*)", (EXAMPLES / "shuffle.cpp").read_text(encoding="utf-8"))[1].split()
    shuffle = [[int(int(r) == j) for j in range(n)] for r in rows]
    return svg("The variants of slicing-sort as matrices", [
        ("Multi-permutation", (average, x, COLOURS[0], "two terms: (P + P²) / 2")),
        ("Max-exchange", (exchange, x, COLOURS[0], "the maximum goes to row 0")),
        ("Shuffle", (shuffle, x, COLOURS[0], "one seed, no look at x"))])


def csp(columns):
    """Three operators of csp.cpp on one channel, and the channel that groups follow in the second."""
    blocks = dict(re.findall(r"// ([a-z ]+), groups of \d+\n((?://   channel .*\n?)+)", (EXAMPLES / "csp.cpp").read_text(encoding="utf-8")))

    def one(name, channel):
        shift, y, rows = re.search(rf"channel {channel}, shift (\d+): y (.*)  from (.*)", blocks[name]).groups()
        x = columns[channel][0]
        assert [x[int(r)] for r in rows.split()] == [int(v) for v in y.split()], "the examples have different x"
        return [[int(int(r) == j) for j in range(len(x))] for r in rows.split()], x, COLOURS[channel], shift

    def drawn(heading, name, channel, under, group=None):
        matrix, x, color, shift = one(name, channel)
        return heading, (matrix, x, color, under.format(shift), False, group)

    return svg("Channel-wise sample permutation: a shift, and a permutation within every group of four rows", [
        drawn("Shift only", "shift only", 1, "channel 1, down by {}"),
        drawn("Reference", "reference", 0, "channel 0 stays as it is", 4),
        drawn("", "reference", 1, "channel 1 takes its order", 4),
        drawn("Ascending", "ascending", 1, "channel 1, groups sorted", 4)])


def write_or_check(pictures):
    """The main program of a drawing script: writes the pictures, {path: text}. With --check, compares them with the files and
    fails if one differs."""
    script = Path(sys.argv[0]).resolve().relative_to(EXAMPLES.parent)
    stale = []
    for target, text in pictures.items():
        if sys.argv[1:] != ["--check"]:
            target.write_text(text, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != text:
            stale.append(f"{target.name} is out of date: run {script}")
    sys.exit("\n".join(stale) or 0)


def main():
    columns = channels()
    write_or_check({HERE / "slicing_sort_attention.svg": slicing_sort(columns), HERE / "variants_attention.svg": variants(columns),
                    HERE / "csp_attention.svg": csp(columns)})


if __name__ == "__main__":
    main()
