# SPDX-License-Identifier: Apache-2.0
"""Checks that no texts of the page overlap or are cut off, as drawn by a browser, at any width, with long names and with any fonts.
`check.py` runs these checks."""
import re
import shutil
import subprocess
from pathlib import Path

from .browser import Browser

WIDTHS = (390, 768, 1024, 1280, 1440, 1920)
MAX_FONT_FOLDERS = 6  # each starts a browser
CHOOSE_METRIC = "document.querySelector('fieldset[data-side=\"metric\"] input[value=\"{}\"]').click()"

# Finds overlapping and cut off texts by the visible rectangles of their lines. Lines may overlap slightly, because a font's line
# is higher than its letters.
FIND_TEXTS = """(() => {
  const texts = [], cut = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const clipped = (rect, node) => {
    let { left, right, top, bottom } = rect;
    for (; node && node !== document.body; node = node.parentElement) {
      if (getComputedStyle(node).overflow === "visible" || node.tagName === "svg") continue;
      const box = node.getBoundingClientRect();
      if (getComputedStyle(node).overflow !== "auto" && (left < box.left - 1 || right > box.right + 1)) return null;
      [left, right, top, bottom] = [Math.max(left, box.left), Math.min(right, box.right), Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    return { left, right, top, bottom };
  };
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement, text = node.textContent.trim();
    if (!text || parent.closest("script, noscript, title, .hidden, #tip, [hidden]") || !parent.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const shown = clipped(rect, parent);
      if (!shown || shown.left < -1 || shown.right > innerWidth + 1) cut.push(text);
      else if (shown.right > shown.left && shown.bottom > shown.top) texts.push({ node, text, ...shown });
    }
  }
  const overlaps = [];
  texts.forEach((a, i) => texts.slice(0, i).forEach(b => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (a.node !== b.node && across > 1 && down > 0.27 * Math.min(a.bottom - a.top, b.bottom - b.top)) overlaps.push([a.text, b.text]);
  }));
  return { count: texts.length, overlaps, cut };
})()"""


def check_overlaps(browser: Browser, setting: str) -> None:
    browser.settle()
    found = browser.evaluate(FIND_TEXTS)
    assert found["count"] > 100, f"few texts are drawn: {found}"
    assert not found["overlaps"], f"texts overlap, {setting}: {found['overlaps'][:3]}"
    assert not found["cut"], f"texts are cut off, {setting}: {found['cut'][:3]}"


def check_texts(browser: Browser, data: dict, metrics: tuple[str, ...] = ("seconds", "peak", "kept", "ratio")) -> None:
    for width in WIDTHS:
        browser.set_window(width, 900, phone=width < 640)
        for metric in metrics:
            browser.evaluate(CHOOSE_METRIC.format(metric))
            check_overlaps(browser, f"{width} wide, {metric}")


def check_bars(browser: Browser, data: dict) -> None:
    """Checks that a short axis of the bars shows only numbers that fit."""
    browser.evaluate("document.head.append(el('style', {}, 'td.bar { width: 56px; min-width: 56px; padding: 0; }')), drawTable()")
    check_overlaps(browser, "short bars")
    assert browser.evaluate("[...document.querySelectorAll('.axis span')].filter(s => s.checkVisibility()).map(s => s.textContent)").count("1\u00d7") == 1


def check_long_names(browser: Browser, data: dict) -> None:
    check_texts(browser, data, ("ratio",))
    browser.set_window(390, 900, phone=True)
    browser.settle()
    names = browser.evaluate("[...document.querySelectorAll('#chart .series text:first-of-type')].map(t => t.querySelector('title')?.textContent ?? t.textContent)")
    assert set(names) <= {entry["short"] for entry in data["series"]}, f"shortened names have no title with the full name: {names}"


def check_wide(browser: Browser, data: dict) -> None:
    """Checks that the page is never wider than its window, and that a wider table scrolls in a box, up to its last column."""
    for width in WIDTHS[1:]:
        browser.set_window(width, 844)
        browser.settle()
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, f"the page is wider than a window of {width}"
        boxed, table, room = browser.evaluate("(s => [s.classList.contains('boxed'), s.firstElementChild.offsetWidth, s.clientWidth])(document.getElementById('scroll'))")
        assert boxed == (table > room), f"a table of {table} in {room} is {'' if boxed else 'not '}in a box"
        last = browser.evaluate("(s => { s.scrollTo(9999, 0); return s.getBoundingClientRect().right - document.querySelector('thead th:last-child').getBoundingClientRect().right; })"
                                "(document.getElementById('scroll'))")
        assert last >= -1, f"the last column is cut off by {-last}, {width} wide"


CHECKS = {
    check_texts: [("  spreadApart(labels,", "  void (labels,"), ("const room = width", "const room = width + 60"), (".boxed { overflow: auto;", ".boxed { overflow: hidden;")],
    check_bars: [("number.hidden = taken.some", "number.hidden = false && taken.some")],
    check_long_names: [("room - left - 0.4 * width", "Infinity"), ('[svg("title"', '[] && [svg("b"')],
    check_wide: [("box.scrollWidth > box.clientWidth", "false"), ("box.scrollWidth > box.clientWidth", "true")],
}


def lengthen_names(data: dict) -> dict:
    """Returns the data with names three times as long."""
    return {**data, "series": [{**entry, "label": " ".join(3 * [entry["label"]]), "short": " ".join(3 * [entry["short"]])} for entry in data["series"]]}


# Styles that emulate fonts of other widths.
LETTER_STYLES = {"wide letters": "* { letter-spacing: .09em; }", "narrow letters": "* { letter-spacing: -.05em; }",
                 "letters of one width": "* { font-family: monospace !important; }", "high lines": "* { font-family: serif !important; font-size-adjust: .6; }"}


def find_font_folders() -> list[Path]:
    """Finds folders of this machine with Latin fonts. Each is a set of fonts that another machine might have."""
    if shutil.which("fc-list") is None:
        return []
    text = subprocess.run(["fc-list", ":lang=en:outline=true", "file"], capture_output=True, text=True, encoding="utf-8", check=False).stdout
    return sorted({Path(found[1]).parent for found in re.finditer(r"^(.+?):?\s*$", text, re.MULTILINE)})[:MAX_FONT_FOLDERS]


def write_font_config(folder: Path, scratch: Path) -> Path:
    """Writes a fontconfig configuration with only the fonts of one folder and returns its path."""
    path = scratch / f"{folder.name}.conf"
    path.write_text(f'<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>{folder}</dir>'
                    f"<include ignore_missing=\"yes\">/etc/fonts/conf.d</include><cachedir>{scratch / 'fonts'}</cachedir></fontconfig>", encoding="utf-8")
    return path
