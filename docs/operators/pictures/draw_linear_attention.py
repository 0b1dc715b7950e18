#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws linear_attention_map.svg: the maps of softmax attention and of linear attention with several features. The
weights are what examples/linear_attention_map.cpp prints, which a test compares with the comment at its end, read here.
Needs nothing but Python; --check only compares."""
import re
import sys

from draw_attention import COLOURS, EXAMPLES, HERE, MARGIN, STYLE

CELL, BETWEEN, TOP, STEP, COLUMNS = 15, 40, 54, 82, 3
TITLES = {"softmax attention": "Softmax attention", "elu_plus_one": "Linear Transformer",
          "cosine_reweighted": "cosFormer", "elu_plus_one, causal": "Linear, causal",
          "random_exp, 16 features": "Performer, 16 features", "random_exp, 1024 features": "Performer, 1024"}
NOTES = {"softmax attention": "exp of scaled products", "elu_plus_one": "elu(x) + 1: nearly flat",
         "cosine_reweighted": "relu, near rows favored", "elu_plus_one, causal": "keys up to the query",
         "random_exp, 16 features": "a rough estimate of it", "random_exp, 1024 features": "a better one"}
ORDER = ("softmax attention", "random_exp, 1024 features", "random_exp, 16 features", "elu_plus_one",
         "elu_plus_one, causal", "cosine_reweighted")


def maps():
    """{name: rows of percents}, from the example's output."""
    comment = (EXAMPLES / "linear_attention_map.cpp").read_text(encoding="utf-8").split("// output:\n")[1]
    found, names = {}, []
    for line in comment.splitlines():
        numbers = line[3:].split()
        if all(word.isdigit() for word in numbers):
            half = len(numbers) // 2
            for name, part in zip(names, (numbers[:half], numbers[half:])):
                found[name].append([int(n) for n in part])
        elif "weights are off" not in line:
            names = re.split(r" {2,}", line[3:].strip())
            found |= {name: [] for name in names}
    return found


def svg(found):
    rows = len(found[ORDER[0]])
    side, lines = rows * CELL, -(-len(ORDER) // COLUMNS)
    width = 2 * MARGIN + COLUMNS * (side + BETWEEN) - BETWEEN + 12
    height = TOP + (lines - 1) * (side + STEP) + side + 30
    largest = max(max(max(row) for row in found[name]) for name in ORDER if "causal" not in name)
    body = [f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>']
    for number, name in enumerate(ORDER):
        origin = MARGIN + 12 + number % COLUMNS * (side + BETWEEN)
        top = TOP + number // COLUMNS * (side + STEP)
        color = COLOURS[number // COLUMNS % len(COLOURS)]
        body.append(f'<text class="title" x="{origin}" y="{top - 26}">{TITLES[name]}</text>')
        body.append(f'<text class="note" x="{origin}" y="{top - 9}">{NOTES[name]}</text>')
        squares = {}
        for i, row in enumerate(found[name]):
            for j, weight in enumerate(row):
                squares.setdefault(weight, []).append(f"M{origin + j * CELL} {top + i * CELL}h{CELL - 1}v{CELL - 1}h{1 - CELL}z")
        body.append(f'<path class="cell" d="{"".join(sum(squares.values(), []))}"/>')
        body += [f'<path fill="{color}" opacity="{min(1, weight / largest):.2f}" d="{"".join(squares[weight])}"/>'
                 for weight in sorted(squares) if weight]
        body.append(f'<text class="axis" x="{origin + side - 1}" y="{top + side + 14}" text-anchor="end">keys</text>')
        body.append(f'<text class="axis" x="{origin - 5}" y="{top + side}" transform="rotate(-90 {origin - 5} {top + side})">'
                    "queries</text>")
    return "\n".join(["<!-- SPDX-License-" "Identifier: Apache-2.0 -->",
                      f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img">',
                      "<title>The weights of twelve queries and keys, by softmax attention and by linear attention with "
                      "several features</title>", STYLE, *body, "</svg>", ""])


def main():
    target, text = HERE / "linear_attention_map.svg", svg(maps())
    if sys.argv[1:] != ["--check"]:
        target.write_text(text, encoding="utf-8")
    elif not target.exists() or target.read_text(encoding="utf-8") != text:
        sys.exit(f"{target.name} is out of date: run docs/operators/pictures/draw_linear_attention.py")


main()
