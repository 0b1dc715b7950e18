#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws recipe_maps.svg: the weights of 16 rows by softmax attention and by each recipe. They are what
examples/recipe_maps.cpp prints, which a test compares with the comment at its end, read here. Needs nothing but Python;
--check only compares."""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "operators/pictures"))
from draw_attention import COLOURS, matrices_svg, percents, weight_cells, write_or_check  # noqa: E402

CELL = 11
FULL_COLOR = 35  # percent
NOTES = {"softmax attention": "all pairs",
         "linformer": "four projected keys",
         "nystromformer": "four landmarks, three taps",
         "synthesizer": "the same for all inputs",
         "long_short": "window{2, 2}, three keys",
         "sinkhorn_transformer": "own block, sorted block",
         "reformer": "chunks of four, two rounds",
         "sinkformer": "columns also sum to 1",
         "mega": "nearby rows by a bias",
         "mega in chunks": "chunks of eight",
         "s4d": "the same at each distance",
         "etsmlp": "as s4d, for each channel"}


def svg():
    panels = [(name, NOTES[name], weight_cells(rows, CELL, FULL_COLOR, lambda weight: COLOURS[weight < 0]))
              for name, rows in percents("recipe_maps.cpp", NOTES).items()]
    return matrices_svg("The weights of sixteen queries and keys, by softmax attention and by recipes", panels, 16, CELL, 36, 4)


write_or_check({HERE / "recipe_maps.svg": svg()})
