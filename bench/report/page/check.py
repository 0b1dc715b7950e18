# SPDX-License-Identifier: Apache-2.0
"""Tests the page in headless Chromium with synthetic results: python3 -m report.page.check. Each check must also find faults injected
into the page. Skipped without Chromium and its driver."""
import csv
import io
import json
import sys
import tempfile
from pathlib import Path

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.keys import Keys

from ..arena_table import load_rows
from . import layout, synthetic
from .browser import Browser, chromium
from .rows import collected, render_page

# Texts whose contrast with their background is too low.
LOW_CONTRAST = """(() => {
  const numbers = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = color => numbers(color).slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = node => { for (; node; node = node.parentElement) { const c = getComputedStyle(node).backgroundColor; if (numbers(c)[3] !== 0) return c; } return "rgb(255,255,255)"; };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    if (!node.checkVisibility() || ![...node.childNodes].some(c => c.nodeType === 3 && c.textContent.trim())) continue;
    if (["SCRIPT", "NOSCRIPT"].includes(node.tagName)) continue;
    const style = getComputedStyle(node), ink = node.namespaceURI.endsWith("svg") ? style.fill : style.color;
    const [a, b] = [luminance(ink), luminance(behind(node))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) found.push(node.textContent.slice(0, 40) + " " + ink + " on " + behind(node));
  }
  return found;
})()"""
SHOWN = "[...document.querySelectorAll('tbody tr')].map(row => Number(row.dataset.id))"
RADIO = "document.querySelector('fieldset[data-side=\"{}\"] input[value=\"{}\"]')"


def pick(b: Browser, side: str, value: str) -> None:
    b.evaluate(RADIO.format(side, value) + ".click()")
    b.settle()


def check_content(b: Browser, data: dict) -> None:
    assert b.evaluate("document.querySelectorAll('h1').length") == 1
    assert b.evaluate("performance.getEntriesByType('resource').length") == 0, "the page needs other files"
    assert b.evaluate("document.querySelectorAll('#injected').length") == 0, "text of the results became markup"
    noise = b.evaluate("document.getElementById('noise').textContent")
    assert synthetic.MARKUP in noise, noise
    text = b.evaluate("document.body.innerText")
    for expected in ("OOM", "OpenBLAS 0.3.21, Haswell kernels; they leave this processor's AVX-512 unused", "g++ 12.2.0", "0000000", "bit for bit", "reference", "custom", "unchecked", "higher is better"):
        assert expected in text, f"the page does not say {expected}"
    rows = list(csv.reader(io.StringIO(b.evaluate("csv()"))))
    names = [dict(zip(rows[0], row))["case"] for row in rows[1:]]
    assert names == [row["case"] for row in data["rows"]], "the CSV lacks rows"
    assert json.loads(b.evaluate("JSON.stringify(results)")) == data


def check_sticky(b: Browser, data: dict) -> None:
    b.evaluate("document.body.style.maxWidth = '4000px'")  # wide enough for the table with all fonts
    b.window(2400, 420)
    b.evaluate("scrollTo(0, document.querySelector('tbody tr:nth-child(5)').getBoundingClientRect().top + scrollY)")
    b.settle()
    tops = b.evaluate("[...document.querySelectorAll('thead th, thead td')].map(h => h.getBoundingClientRect().top)")
    first = b.evaluate("document.querySelector('tbody tr').getBoundingClientRect().top")
    assert first < -50, f"the table did not scroll: {first}"
    assert all(abs(top) <= 1 for top in tops), f"the headings do not stick: {tops}"


def check_crossings(b: Browser, data: dict) -> None:
    """Causal operators are compared with causal softmax attention."""
    pick(b, "direction", "forward")
    column = b.evaluate("[...document.querySelectorAll('thead th')].findIndex(h => h.textContent === 'wins from')")
    shown = dict(b.evaluate(f"[...document.querySelectorAll('tbody tr')].map(r => [r.cells[0].textContent, r.cells[{column} + 1].textContent])"))
    expected = {"Linear Transformer": "1024\u20132048", "Linear Transformer, causal": "2048\u20134096", "slicing-sort": "\u2264 1024",
              "softmax, materialized (OpenBLAS)": "> 4096", "softmax, streaming": ""}
    assert {name: shown.get(name) for name in expected} == expected, shown


def check_slower(b: Browser, data: dict) -> None:
    """Every shown operator that is slower than softmax attention has a reason, except torch's implementations."""
    pick(b, "n", "1024")
    text = b.evaluate("document.getElementById('slower').innerText")
    slow = [data["rows"][i] for i in b.evaluate(SHOWN) if data["rows"][i]["outcome"] == "slower" and not data["rows"][i]["case"].startswith("baseline")]
    assert slow, "no synthetic row is slower"
    for row in slow:
        assert f"{data['series'][row['series']]['label']} is slower: " in text, f"no reason for {row['case']}"


def check_phone(b: Browser, data: dict) -> None:
    b.window(390, 480, phone=True)
    b.settle()
    assert b.evaluate("document.documentElement.scrollWidth") <= 390, "the page is wider than a phone"
    b.evaluate("document.getElementById('scroll').scrollIntoView(), document.getElementById('scroll').scrollTo(300, 120)")
    b.settle()
    box, head, name = b.evaluate("['#scroll', 'thead th:nth-child(4)', 'tbody tr:nth-child(6) th'].map(s => document.querySelector(s).getBoundingClientRect())"
                            ".map(r => [r.left, r.top])")
    assert b.evaluate("document.getElementById('scroll').scrollLeft") > 100, "the table does not scroll sideways"
    assert b.evaluate("document.getElementById('scroll').scrollTop") > 50, "the table does not scroll in its box"
    assert abs(head[1] - box[1]) <= 2, f"the headings do not stick on a phone: {head} in {box}"
    assert abs(name[0] - box[0]) <= 2, f"the names do not stick on a phone: {name} in {box}"


def check_chips(b: Browser, data: dict) -> None:
    sides = b.evaluate("[...document.querySelectorAll('fieldset')].map(f => [f.dataset.side, [...f.querySelectorAll('input')].map(i => i.value)])")
    assert {side for side, _ in sides} == {"machine", "direction", "dtype", "c", "n", "metric"}, sides
    for side, values in sides:
        earlier = []
        for value in values:
            pick(b, side, value)
            assert b.evaluate(RADIO.format(side, value) + ".checked"), f"{side} {value} is not chosen"
            shown = b.evaluate(SHOWN)
            assert shown and (side == "metric" or all(str(data["rows"][i][side]) == value for i in shown)), f"{side} {value}: wrong rows"
            content = b.evaluate("document.getElementById('chart').textContent") if side == "metric" else shown
            assert content not in earlier, f"{side} {value} changes nothing"
            earlier.append(content)
            lines = b.evaluate("[...document.querySelectorAll('.series')].map(g => Number(g.dataset.series))")
            assert len(lines) >= 3 and len(set(lines)) == len(lines), lines
    b.evaluate(RADIO.format("direction", "forward") + ".focus()")
    pick(b, "direction", "forward")
    b.press(Keys.ARROW_RIGHT)
    assert b.evaluate(RADIO.format("direction", "forward + backward") + ".checked"), "the arrow keys do not choose"
    assert b.evaluate("document.activeElement.value") == "forward + backward", "the focus is lost"


def check_sorting(b: Browser, data: dict) -> None:
    keys = ["label", "ratio", "low", "wins", "seconds", "tokens", "kept", "peak", "error", "share"]
    for column, key in enumerate(keys):
        for _ in range(2):
            b.evaluate(f"document.querySelectorAll('th button')[{column}].focus()")
            b.press(Keys.ENTER)
            order = b.evaluate(f"document.querySelectorAll('thead th')[{column}].getAttribute('aria-sort')")
            assert order in ("ascending", "descending") and b.evaluate("document.querySelectorAll('[aria-sort]').length") == 1, order
            rows = [data["rows"][i] for i in b.evaluate(SHOWN)]
            found = [data["series"][row["series"]]["label"] if key == "label" else row[key] for row in rows]
            present = [value for value in found if value is not None]
            assert found[len(present):] == [None] * (len(found) - len(present)), f"{key}: missing values are not last"
            ordered = b.evaluate(f"{json.dumps(present)}.sort((a, b) => a.localeCompare(b))") if key == "label" else sorted(present)
            assert present == (ordered if order == "ascending" else ordered[::-1]), f"not sorted by {key}, {order}: {present}"
        assert order == ("descending" if key in ("label", "seconds") else "ascending"), f"{key} is sorted {order} at the second click"


def check_themes(b: Browser, data: dict) -> None:
    for name, dark in (("light", False), ("dark", True)):
        b.window(1280, 900, dark=dark)
        b.settle()
        paper = [int(v) for v in b.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")]
        assert (max(paper) < 60) == dark, f"the page is not {name}: {paper}"
        hard = b.evaluate(LOW_CONTRAST)
        assert not hard, f"hard to read, {name}: {hard[:5]}"
        assert b.evaluate("document.documentElement.style.getPropertyValue('--s0')") == data["series"][0][name]
    b.evaluate("document.getElementById('theme').click()")
    assert b.evaluate("document.documentElement.dataset.theme") == "light", "the button changes nothing"
    b.evaluate("localStorage.clear()")


def check_explanations(b: Browser, data: dict) -> None:
    for i in range(b.evaluate("document.querySelectorAll('th button').length")):
        b.evaluate(f"document.querySelectorAll('th button')[{i}].dispatchEvent(new MouseEvent('mouseover', {{bubbles: true}}))")
        text = b.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
        assert len(text) > 30, f"column {i} is not explained: {text}"
    b.evaluate("document.getElementById('chart').scrollIntoView()")
    x, y = b.evaluate("(r => [r.left + r.width / 2, r.top + r.height / 2])(document.querySelector('.series circle').getBoundingClientRect())")
    b.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    b.settle()
    assert "N = " in b.evaluate("document.getElementById('tip').textContent"), "a point is not explained"


def check_print(b: Browser, data: dict) -> None:
    b.call("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = b.evaluate("['#theme', '.links'].every(s => !document.querySelector(s).checkVisibility())")
    still = b.evaluate("getComputedStyle(document.querySelector('thead th')).position")
    b.window(718, 1000)  # A4 between its margins
    b.call("Emulation.setEmulatedMedia", {"media": "print"})
    b.settle()
    wide = b.evaluate("document.documentElement.scrollWidth")
    b.call("Emulation.setEmulatedMedia", {"media": ""})
    assert hidden and still == "static", f"buttons or moving headings on paper: {hidden} {still}"
    assert wide <= 718, f"wider than paper: {wide}"


def check_small(b: Browser, data: dict) -> None:
    """Results of one length and one type, with too few rounds for intervals."""
    assert len(b.evaluate(SHOWN)) == len([row for row in data["rows"] if row["direction"] == "forward + backward"])
    assert "too few rounds" in b.evaluate("document.body.innerText")
    assert "wins from" not in b.evaluate("document.getElementById('table').textContent"), "an empty column"
    for key in ("ratio", "seconds", "peak", "kept"):
        pick(b, "metric", key)
        assert b.evaluate("document.querySelectorAll('.series').length") > 3, f"no picture of {key}"


def check_alone(b: Browser, data: dict) -> None:
    """One user-defined operator without a reference."""
    assert b.evaluate("document.querySelectorAll('.series').length") == len(data["series"]), "no picture of an operator alone"
    assert b.evaluate("document.querySelector('input[name=metric]:checked').value") == "seconds"


# Each check with the faults that it must find: replacements in the page.
CHECKS = {
    check_content: [("\\u003c", "<"), ('"OOM"', '""'), ("bit for bit", "roughly")],
    check_sticky: [(".over {", ".scroll { overflow-x: auto; }\n.over {"), ("position: sticky; top: 0;", "")],
    check_crossings: [("[r.wins_from]", "[r.wins]")],
    check_slower: [("is slower: ", "is: "), ("filter(r => r.slower_because)", "slice(0, 1)")],
    check_phone: [("overflow: auto; max-height: 88vh;", "overflow: visible;"), ("overflow: auto; max-height: 88vh;", "overflow: auto;"),
                  ('name="viewport"', 'name="nothing"'), ("left: 0; z-index: 1;", "")],
    check_chips: [("sides.every(", "sides.some("), ("shown[side.key] = requested[side.key];", ""), ("metric = k; draw();", "")],
    check_sorting: [("return sorted.way *", "return"), ("(x === null) - (y === null)", "(y === null) - (x === null)")],
    check_themes: [('[data-theme="dark"] {', '[data-theme="none"] {'), ("--soft: #57606a", "--soft: #a0a8b0")],
    check_explanations: [('addEventListener("mouseover", explain)', 'addEventListener("none", explain)')],
    check_small: [("lengths.length < 2", "lengths.length < 0"), ("if (row.low === null) return", "if (false) return"),
                  ('column.key !== "wins"', 'column.key !== "none"')],
    check_alone: [('metric = "seconds"', "metric")],
    check_print: [("thead th, thead td, tbody th { position: static; }", ""), ("html { font-size: 10.5px; }", "html { font-size: 24px; }")],
    **layout.CHECKS,
}
FONT_CHECKS = (check_sticky, check_phone, check_print, *layout.CHECKS)  # depend on fonts


def synthetic_data(folder: Path) -> dict:
    files, torch = synthetic.write(folder)
    return collected([(path, *load_rows(str(path))) for path in files], torch)


def small(data: dict) -> dict:
    rows = [row for row in data["rows"] if (row["machine"], row["dtype"], row["n"]) == (0, "float", 1024) and not row["failed"]]
    missing = {**dict.fromkeys(("low", "high", "seconds_low", "seconds_high", "wins")), "wins_from": ""}
    return {**data, "machines": data["machines"][:1], "rows": [{**row, **missing} for row in rows]}


def alone(data: dict) -> dict:
    custom = next(i for i, entry in enumerate(data["series"]) if entry["custom"])
    missing = {**dict.fromkeys(("ratio", "low", "high", "wins")), "wins_from": ""}
    rows = [{**row, **missing, "series": 0} for row in data["rows"] if (row["machine"], row["series"]) == (0, custom)]
    return {**data, "machines": data["machines"][:1], "series": [data["series"][custom]], "rows": rows}


def visit(browser: Browser, page: Path, text: str, check, data: dict) -> str:
    """The error; empty if the check passes."""
    page.write_text(text, encoding="utf-8")
    browser.messages()
    browser.window(1280, 900)
    browser.open(page)
    try:
        check(browser, data)
    except (AssertionError, WebDriverException) as error:
        return f"{check.__name__}: {error}"
    messages = browser.messages()
    return f"{check.__name__}: messages in the console: {messages}" if messages else ""


def first_error(browser: Browser, page: Path, results: dict, checks, *, style: str = "", faults: bool = False) -> str:
    """The first error; empty if all checks pass and, with `faults`, find the injected faults."""
    changed = {check_small: small, check_alone: alone, layout.check_long_names: layout.lengthen_names}
    for check in checks:
        data = changed.get(check, lambda unchanged: unchanged)(results)
        text = render_page(data).replace("</style>", style + "</style>", 1)
        if error := visit(browser, page, text, check, data):
            return error
        for old, new in CHECKS[check] if faults else ():
            assert old in text, f"{check.__name__}: the page lacks {old}"
            found = visit(browser, page, text.replace(old, new), check, data)
            if not found:
                return f"{check.__name__} does not find that '{old}' became '{new}'"
            print(f"found: {found[:150]}")
    return ""


def main() -> int:
    program = find_chromium()
    if program is None:
        print("skipped: there is no chromium with its driver")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        data, page = synthetic_data(scratch), scratch / "arena.html"
        with Browser(program) as browser:
            errors = {"": first_error(browser, page, data, CHECKS, faults=True)}
            for letters, style in layout.LETTER_STYLES.items():
                errors[letters] = first_error(browser, page, data, layout.CHECKS, style=style)
        for fonts in layout.find_font_folders():
            with Browser(program, layout.only(fonts, scratch)) as browser:
                errors[f"only the fonts of {fonts}"] = first_error(browser, page, data, FONT_CHECKS)
    for setting, error in errors.items():
        if error:
            print(f"{error}{setting and f', with {setting}'}", file=sys.stderr)
    if any(errors.values()):
        return 1
    print(f"the page: {len(CHECKS)} checks pass and find {sum(map(len, CHECKS.values()))} injected faults; also with {', '.join(filter(None, errors))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
