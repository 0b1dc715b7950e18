#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws decaying_sum_map.svg: recurrences as matrices that multiply the rows. The weights are what
examples/decaying_sum_map.cpp prints, which a test compares with the comment at its end, read here. Needs nothing but
Python; --check only compares."""
from draw_attention import COLOURS, HERE, matrices_svg, percents, weight_cells, write_or_check

CELL = 11
TITLES = {"one state": ("One state", "a = 0.8, constant"),
          "three states": ("Three states", "a = 0.3, 0.75, 0.97"),
          "reverse": ("Reverse", "a = 0.8"),
          "both": ("Both directions", "0.8 forward, 0.5 back"),
          "complex": ("A complex state", "0.85 exp(0.7 i), orange: &lt; 0"),
          "per row": ("A decay per row", "0.85, and 0 at rows 6 and 11")}


def svg():
    panels = [(*TITLES[name], weight_cells(rows, CELL, 100, lambda weight: COLOURS[weight < 0]))
              for name, rows in percents("decaying_sum_map.cpp", TITLES).items()]
    return matrices_svg("Six recurrences as matrices: how much each row of x counts in each row of y", panels, 16, CELL, 46, 3,
                        axes=("rows of x", "rows of y"))


write_or_check({HERE / "decaying_sum_map.svg": svg()})
