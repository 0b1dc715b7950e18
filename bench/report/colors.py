# SPDX-License-Identifier: Apache-2.0
"""Colors of lines on light and dark backgrounds, for the page and the pictures."""
from pathlib import Path

PAPER = {"light": "#ffffff", "dark": "#0f1318"}  # as in page/page.css
CONTRAST = {"light": 3.2, "dark": 4.5}  # minimum contrast of lines; WCAG requires 3 for graphics


def parse_channels(color: str) -> list[float]:
    return [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]


def luminance(color: str) -> float:
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055)**2.4 for v in parse_channels(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def mix(color: str, other: str, share: float) -> str:
    return "#" + "".join(f"{round(255 * (a + (b - a) * share)):02x}" for a, b in zip(parse_channels(color), parse_channels(other)))


def on_paper(color: str, theme: str) -> str:
    """Moves a color towards black or white until its contrast suffices."""
    ink = "#000000" if theme == "light" else "#ffffff"
    found = (mix(color, ink, step / 50) for step in range(51))
    return next(c for c in found if contrast(c, PAPER[theme]) >= CONTRAST[theme])


def reduce_colors(png: Path) -> None:
    """Reduces a picture to 256 colors, which takes a third of the size. Does nothing without PIL."""
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(png) as image:
        small = image.convert("RGB").quantize(256, kmeans=1, dither=Image.Dither.NONE)
    small.save(png, optimize=True)
