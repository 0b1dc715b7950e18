#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws pointwise_attention_map.svg: the weights of softmax attention and of two score functions as matrices. The weights
are what examples/pointwise_attention_map.cpp prints, which a test compares with the comment at its end, read here. Needs
nothing but Python; --check only compares."""
from draw_attention import COLOURS, HERE, matrices_svg, percents, weight_cells, write_or_check

CELL = 11
TITLES = {"softmax": ("Softmax", "each row sums to 100 %"),
          "laplace": ("Laplace", "at most 100 % each"),
          "squared_relu": ("Squared ReLU", "0 for scores up to 0")}


def svg():
    maps = percents("pointwise_attention_map.cpp", TITLES)
    panels = [(*TITLES[name], weight_cells(rows, CELL, max(map(max, rows)), lambda _, number=number: COLOURS[number]))
              for number, (name, rows) in enumerate(maps.items())]
    return matrices_svg("The weights of sixteen queries and keys with the same scores: softmax, Laplace function, squared ReLU", panels, 16, CELL, 46, 3)


write_or_check({HERE / "pointwise_attention_map.svg": svg()})
