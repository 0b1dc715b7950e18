# SPDX-License-Identifier: Apache-2.0
"""Tests the pictures with synthetic results: python3 -m report.pictures.check. Pictures must have no large empty bands and no
overlapping texts, label every operator, have the background of their theme, and use only the fonts of matplotlib. Faulty pictures
test the checks themselves."""
import io
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy
from matplotlib import font_manager
from matplotlib.text import Text

from ..arena_table import Row, load_rows
from ..colors import PAPER, luminance
from ..entries import ENTRIES
from ..page import synthetic
from . import arena
from .style import plt, use_theme

MAX_BORDER, MAX_INNER = 0.04, 0.06  # empty bands, relative to the width or height


def measure_bands(image: numpy.ndarray) -> tuple[float, float]:
    """Returns the widest empty border and the widest empty band inside, relative to the width or height."""
    filled = (abs(image[:, :, :3] - image[0, 0, :3]) > 0.02).any(axis=2)
    borders, inner = [], []
    for axis in (0, 1):
        occupied = numpy.flatnonzero(filled.any(axis=axis))
        size = filled.shape[1 - axis]
        borders += [occupied[0] / size, (size - 1 - occupied[-1]) / size]
        inner.append((numpy.diff(occupied).max() - 1) / size)
    return max(borders), max(inner)


def find_overlapping_texts(figure) -> list[tuple[str, str]]:
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = [(text.get_text(), Text.get_window_extent(text, renderer).padded(-2)) for text in figure.findobj(Text)
             if text.get_visible() and text.get_text().strip() and is_drawn(text)]
    return [(first, second) for i, (first, box) in enumerate(boxes) for second, other in boxes[:i] if box.overlaps(other)]


def is_drawn(text: Text) -> bool:
    """False for labels of ticks beyond the ends of an axis."""
    axes = text.axes
    if axes is None or not any(text in (tick.label1, tick.label2) for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()):
        return True
    return any(text is tick.label1 for axis in (axes.xaxis, axes.yaxis) for tick in axis._update_ticks())


def check_measurements() -> None:
    image = numpy.ones((200, 100, 3))
    image[4:-4, 3:-3] = 0
    assert max(measure_bands(image)) < MAX_BORDER
    banded = image.copy()
    banded[80:104] = 1
    assert measure_bands(banded)[1] > MAX_INNER, "a band of 12 % is not found"
    figure, axis = plt.subplots()
    axis.text(0.5, 0.5, "first")
    axis.text(0.52, 0.51, "second")
    assert find_overlapping_texts(figure) == [("second", "first")], "two overlapping texts are not found"
    plt.close(figure)
    image[:20] = 1
    assert measure_bands(image)[0] > MAX_BORDER, "a border of 10 % is not found"


def check_fonts(figure) -> None:
    used = {Path(font_manager.findfont(text.get_fontproperties())).name for text in figure.findobj(Text)}
    assert used <= {"DejaVuSans.ttf", "DejaVuSans-Bold.ttf"}, f"fonts that another machine may lack: {used}"
    out = io.StringIO()
    figure.savefig(out, format="svg")
    assert "<text" not in out.getvalue(), "the SVG needs a font"


def check_texts(figure, stem: str, rows: list[Row]) -> None:
    overlaps = find_overlapping_texts(figure)
    assert not overlaps, f"{stem}: texts overlap: {overlaps}"
    texts = {text.get_text() for text in figure.findobj(Text)}
    missing = {row.entry.label for row in rows} - texts
    assert not missing, f"{stem}: {missing} have no labels"
    assert any("is better" in text for text in texts), f"{stem} does not say which values are better"


def check_pictures_of_other_rows(rows: list[Row]) -> None:
    """Checks that texts do not overlap with a single length, nor with names twice as long."""
    one_length = [row for row in rows if row.case.n == synthetic.LENGTHS[1] and (row.entry.is_custom or row.entry.is_default)]
    longer = {entry: replace(entry, label=" ".join(2 * [entry.label])) for entry in ENTRIES}
    with mock.patch.object(arena, "ENTRIES", ENTRIES + [*longer.values()]), use_theme("light"):
        for shown in (one_length, [replace(row, entry=longer[row.entry]) for row in rows]):
            for stem, (function, picture_rows) in arena.pictures_of(shown).items():
                figure = function(picture_rows, "origin of the numbers", "light")
                check_texts(figure, stem, picture_rows)
                plt.close(figure)


def main() -> int:
    check_measurements()
    with tempfile.TemporaryDirectory() as folder:
        rows = load_rows(str(synthetic.write(Path(folder))[0][0]))[1]
    pictures = arena.pictures_of(rows)
    assert set(pictures) == {"speedup", "memory", "roofline", "circles"}, set(pictures)
    for stem, (function, picture_rows) in pictures.items():
        for theme in PAPER:
            with use_theme(theme):
                figure = function(picture_rows, "origin of the numbers", theme)
                out = io.BytesIO()
                figure.savefig(out, format="png")
                out.seek(0)
                image = plt.imread(out)
                border, inner = measure_bands(image)
                assert border <= MAX_BORDER and inner <= MAX_INNER, f"{stem}, {theme}: an empty border of {border:.1%}, a band of {inner:.1%}"
                paper = "#" + "".join(f"{round(255 * float(v)):02x}" for v in image[0, 0, :3])
                assert paper == PAPER[theme], f"{stem}: {theme} paper is {paper}"
                check_fonts(figure)
                check_texts(figure, stem, picture_rows)
                plt.close(figure)
    check_pictures_of_other_rows(rows)
    assert luminance(PAPER["dark"]) < 0.05 < 0.95 < luminance(PAPER["light"])
    print(f"{len(pictures)} pictures, light and dark: no empty bands, no overlapping texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
