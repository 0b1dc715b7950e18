# SPDX-License-Identifier: Apache-2.0
"""Pictures of a page in Chromium: python3 -m report.page.screenshots bench-results/arena.html FOLDER. Light, dark and on a
phone, from the top to the end of the table. Without the font Inter (Debian: fonts-inter) the page looks as it does where it is missing."""
import argparse
import sys
from pathlib import Path

from ..colors import fewer_colors
from .browser import Browser, chromium

SHOTS = {"light": (1280, 1.25, False, False), "dark": (1280, 1.25, True, False), "phone": (390, 2.0, False, True)}  # width, scale, dark, phone


def shoot(page: Path, folder: Path, program: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    with Browser(program) as browser:
        for name, (width, scale, dark, phone) in SHOTS.items():
            browser.window(width, 844, scale, dark, phone)
            browser.open(page)
            end = browser.ask("document.querySelector('.links').getBoundingClientRect().bottom")
            browser.window(width, round(end) + 24, scale, dark, phone)
            browser.settle()
            found.append(folder / f"page_{name}.png")
            browser.screenshot(found[-1])
            fewer_colors(found[-1])
        if browser.complaints:
            raise RuntimeError("; ".join(browser.complaints))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    program = chromium()
    if program is None:
        print("no screenshots: there is no chromium", file=sys.stderr)
        return 1
    for path in shoot(arguments.page, arguments.folder, program):
        print(f"  {path} ({path.stat().st_size // 1000} kB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
