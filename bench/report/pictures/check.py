# SPDX-License-Identifier: Apache-2.0
"""Whether the pictures are as they should be, of made-up results: python3 -m report.pictures.check. No band of a picture is
empty, at its borders or within; no two texts lie on each other; every operator is named at its line; a dark picture is dark;
and the letters are those that matplotlib brings, whatever fonts the machine has. The measures are checked on faulty pictures."""
import io
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy
from matplotlib import font_manager
from matplotlib.text import Text

from ..arena_table import Row, rows_of
from ..colors import PAPER, luminance
from ..contestants import CONTESTANTS
from ..page import made_up
from . import arena
from .style import plt, themed

BORDER = 0.04  # of the width or height
WITHIN = 0.06


def bands_of(image: numpy.ndarray) -> tuple[float, float]:
    """Shares of the height or width: the widest empty border, and the widest empty band within."""
    filled = (abs(image[:, :, :3] - image[0, 0, :3]) > 0.02).any(axis=2)
    borders, within = [], []
    for axis in (0, 1):
        there = numpy.flatnonzero(filled.any(axis=axis))
        size = filled.shape[1 - axis]
        borders += [there[0] / size, (size - 1 - there[-1]) / size]
        within.append((numpy.diff(there).max() - 1) / size)
    return max(borders), max(within)


def texts_on_each_other(figure) -> list[tuple[str, str]]:
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    boxes = [(text.get_text(), Text.get_window_extent(text, renderer).padded(-2)) for text in figure.findobj(Text)
             if text.get_visible() and text.get_text().strip() and shown(text)]
    return [(first, second) for i, (first, box) in enumerate(boxes) for second, other in boxes[:i] if box.overlaps(other)]


def shown(text: Text) -> bool:
    """Ticks beyond the ends of an axis are objects, too, but are not drawn."""
    axes = text.axes
    if axes is None or not any(text in (tick.label1, tick.label2) for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()):
        return True
    return any(text is tick.label1 for axis in (axes.xaxis, axes.yaxis) for tick in axis._update_ticks())


def check_measure() -> None:
    image = numpy.ones((200, 100, 3))
    image[4:-4, 3:-3] = 0
    assert max(bands_of(image)) < BORDER
    within = image.copy()
    within[80:104] = 1
    assert bands_of(within)[1] > WITHIN, "a band of 12 % is not found"
    figure, axis = plt.subplots()
    axis.text(0.5, 0.5, "first")
    axis.text(0.52, 0.51, "second")
    assert texts_on_each_other(figure) == [("second", "first")], "two texts on each other are not found"
    plt.close(figure)
    image[:20] = 1
    assert bands_of(image)[0] > BORDER, "a border of 10 % is not found"


def check_letters(figure) -> None:
    used = {Path(font_manager.findfont(text.get_fontproperties())).name for text in figure.findobj(Text)}
    assert used <= {"DejaVuSans.ttf", "DejaVuSans-Bold.ttf"}, f"fonts that another machine may lack: {used}"
    out = io.StringIO()
    figure.savefig(out, format="svg")
    assert "<text" not in out.getvalue(), "the SVG needs a font"


def check_texts(figure, stem: str, rows: list[Row]) -> None:
    clash = texts_on_each_other(figure)
    assert not clash, f"{stem}: texts lie on each other: {clash}"
    said = {text.get_text() for text in figure.findobj(Text)}
    missing = {row.who.label for row in rows} - said
    assert not missing, f"{stem}: {missing} are not named"
    assert any("is better" in text for text in said), f"{stem} does not say which way is better"


def check_pictures_of_other_rows(rows: list[Row]) -> None:
    """Texts of one length alone, and of names twice as long."""
    one_length = [row for row in rows if row.case.n == made_up.LENGTHS[1] and (row.who.own or row.who.main)]
    longer = {who: replace(who, label=" ".join(2 * [who.label])) for who in CONTESTANTS}
    with mock.patch.object(arena, "CONTESTANTS", CONTESTANTS + [*longer.values()]), themed("light"):
        for shown in (one_length, [replace(row, who=longer[row.who]) for row in rows]):
            for stem, (how, of) in arena.pictures_of(shown).items():
                figure = how(of, "where the numbers come from", "light")
                check_texts(figure, stem, of)
                plt.close(figure)


def main() -> int:
    check_measure()
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of(str(made_up.write(Path(folder))[0][0]))[1]
    pictures = arena.pictures_of(rows)
    assert set(pictures) == {"speedup", "memory", "roofline", "circles"}, set(pictures)
    for stem, (how, of) in pictures.items():
        for theme in PAPER:
            with themed(theme):
                figure = how(of, "where the numbers come from", theme)
                out = io.BytesIO()
                figure.savefig(out, format="png")
                out.seek(0)
                image = plt.imread(out)
                border, within = bands_of(image)
                assert border <= BORDER and within <= WITHIN, f"{stem}, {theme}: an empty border of {border:.1%}, a band of {within:.1%}"
                paper = "#" + "".join(f"{round(255 * float(v)):02x}" for v in image[0, 0, :3])
                assert paper == PAPER[theme], f"{stem}: {theme} paper is {paper}"
                check_letters(figure)
                check_texts(figure, stem, of)
                plt.close(figure)
    check_pictures_of_other_rows(rows)
    assert luminance(PAPER["dark"]) < 0.05 < 0.95 < luminance(PAPER["light"])
    print(f"{len(pictures)} pictures, light and dark: no empty band, no text on another")
    return 0


if __name__ == "__main__":
    sys.exit(main())
