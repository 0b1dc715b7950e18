#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws linear_attention_map.svg: the maps of softmax attention and of linear attention with several features. The
weights are what examples/linear_attention_map.cpp prints, which a test compares with the comment at its end, read here.
Needs nothing but Python; --check only compares."""
import re

from draw_attention import COLOURS, EXAMPLES, HERE, matrices_svg, weight_cells, write_or_check

CELL, COLUMNS = 15, 3
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
    largest = max(max(max(row) for row in found[name]) for name in ORDER if "causal" not in name)

    def cells(number, name):
        color = COLOURS[number // COLUMNS % len(COLOURS)]
        return weight_cells(found[name], CELL, largest, lambda _: color)
    panels = [(TITLES[name], NOTES[name], cells(number, name)) for number, name in enumerate(ORDER)]
    return matrices_svg("The weights of twelve queries and keys, by softmax attention and by linear attention with several features",
                        panels, len(found[ORDER[0]]), CELL, 40, COLUMNS)


write_or_check({HERE / "linear_attention_map.svg": svg(maps())})
