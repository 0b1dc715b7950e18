# SPDX-License-Identifier: Apache-2.0
"""Tests the page in headless Chromium with synthetic results: python3 -m report.page.check. Each check must also find faults that are
injected into the page. Skipped without Chromium and its driver."""
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
from .browser import Browser, find_chromium
from .rows import collect_page_data, render_page

# Finds texts whose contrast with their background is too low.
FIND_LOW_CONTRAST = """(() => {
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
SHOWN_ROWS = "[...document.querySelectorAll('tbody tr[data-id]')].map(row => Number(row.dataset.id))"
RADIO = "document.querySelector('fieldset[data-side=\"{}\"] input[value=\"{}\"]')"


def choose(browser: Browser, side: str, value: str) -> None:
    browser.evaluate(RADIO.format(side, value) + ".click()")
    browser.settle()


def check_content(browser: Browser, data: dict) -> None:
    assert browser.evaluate("document.querySelectorAll('h1').length") == 1
    assert browser.evaluate("performance.getEntriesByType('resource').length") == 0, "the page needs other files"
    assert browser.evaluate("document.querySelectorAll('#injected').length") == 0, "text of the results became markup"
    noise = browser.evaluate("document.getElementById('noise').textContent")
    assert synthetic.MARKUP in noise, noise
    text = browser.evaluate("document.body.innerText")
    for expected in ("OOM", "OpenBLAS 0.3.21, Haswell kernels; they leave this processor's AVX-512 unused", "g++ 12.2.0", "0000000", "bit for bit", "reference", "custom", "unchecked", "higher is better"):
        assert expected in text, f"the page does not say {expected}"
    rows = list(csv.reader(io.StringIO(browser.evaluate("csv()"))))
    names = [dict(zip(rows[0], row))["case"] for row in rows[1:]]
    assert names == [row["case"] for row in data["rows"]], "the CSV lacks rows"
    assert json.loads(browser.evaluate("JSON.stringify(results)")) == data


def check_sticky(browser: Browser, data: dict) -> None:
    browser.evaluate("document.body.style.maxWidth = '4000px'")  # wide enough for the table with all fonts
    browser.set_window(2400, 420)
    browser.evaluate("scrollTo(0, document.querySelector('tbody tr:nth-child(5)').getBoundingClientRect().top + scrollY)")
    browser.settle()
    tops = browser.evaluate("[...document.querySelectorAll('thead th, thead td')].map(h => h.getBoundingClientRect().top)")
    first = browser.evaluate("document.querySelector('tbody tr').getBoundingClientRect().top")
    assert first < -50, f"the table did not scroll: {first}"
    assert all(abs(top) <= 1 for top in tops), f"the headings do not stick: {tops}"


def check_crossings(browser: Browser, data: dict) -> None:
    """Checks that causal operators are compared with causal softmax attention."""
    choose(browser, "direction", "forward")
    column = browser.evaluate("[...document.querySelectorAll('thead th')].findIndex(h => h.textContent === 'wins from')")
    shown = dict(browser.evaluate(f"[...document.querySelectorAll('tbody tr[data-id]')].map(r => [r.cells[0].textContent, r.cells[{column} + 1].textContent])"))
    expected = {"Linear Transformer": "1024\u20132048", "Linear Transformer, causal": "2048\u20134096", "slicing-sort": "\u2264 1024",
                "softmax, materialized (OpenBLAS)": "> 4096", "softmax, streaming": ""}
    assert {name: shown.get(name) for name in expected} == expected, shown


def check_slower(browser: Browser, data: dict) -> None:
    """Checks that every shown operator that is slower than softmax attention has a reason, except torch implementations."""
    choose(browser, "n", "1024")
    text = browser.evaluate("document.getElementById('slower').innerText")
    slow = [data["rows"][i] for i in browser.evaluate(SHOWN_ROWS) if data["rows"][i]["outcome"] == "slower" and not data["rows"][i]["case"].startswith("baseline")]
    assert slow, "no synthetic row is slower"
    for row in slow:
        assert f"{data['series'][row['series']]['label']} is slower: " in text, f"no reason for {row['case']}"


def check_phone(browser: Browser, data: dict) -> None:
    browser.set_window(390, 480, phone=True)
    browser.settle()
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390, "the page is wider than a phone"
    browser.evaluate("document.getElementById('scroll').scrollIntoView(), document.getElementById('scroll').scrollTo(300, 120)")
    browser.settle()
    box, head, name = browser.evaluate("['#scroll', 'thead th:nth-child(4)', 'tbody tr:nth-child(6) th'].map(s => document.querySelector(s).getBoundingClientRect())"
                                       ".map(r => [r.left, r.top])")
    assert browser.evaluate("document.getElementById('scroll').scrollLeft") > 100, "the table does not scroll sideways"
    assert browser.evaluate("document.getElementById('scroll').scrollTop") > 50, "the table does not scroll in its box"
    assert abs(head[1] - box[1]) <= 2, f"the headings do not stick on a phone: {head} in {box}"
    assert abs(name[0] - box[0]) <= 2, f"the names do not stick on a phone: {name} in {box}"


def check_chips(browser: Browser, data: dict) -> None:
    sides = browser.evaluate("[...document.querySelectorAll('fieldset')].map(f => [f.dataset.side, [...f.querySelectorAll('input')].map(i => i.value)])")
    assert {side for side, _ in sides} == {"machine", "direction", "dtype", "c", "n", "metric"}, sides
    for side, values in sides:
        earlier = []
        for value in values:
            choose(browser, side, value)
            assert browser.evaluate(RADIO.format(side, value) + ".checked"), f"{side} {value} is not chosen"
            shown = browser.evaluate(SHOWN_ROWS)
            assert shown and (side == "metric" or all(str(data["rows"][i][side]) == value for i in shown)), f"{side} {value}: wrong rows"
            content = browser.evaluate("document.getElementById('chart').textContent") if side == "metric" else shown
            assert content not in earlier, f"{side} {value} changes nothing"
            earlier.append(content)
            lines = browser.evaluate("[...document.querySelectorAll('.series')].map(g => Number(g.dataset.series))")
            assert len(lines) >= 3 and len(set(lines)) == len(lines), lines
    browser.evaluate(RADIO.format("direction", "forward") + ".focus()")
    choose(browser, "direction", "forward")
    browser.press(Keys.ARROW_RIGHT)
    assert browser.evaluate(RADIO.format("direction", "forward + backward") + ".checked"), "the arrow keys do not choose"
    assert browser.evaluate("document.activeElement.value") == "forward + backward", "the focus is lost"


def check_sorting(browser: Browser, data: dict) -> None:
    keys = ["label", "ratio", "low", "wins", "seconds", "tokens", "kept", "peak", "error", "share"]
    for column, key in enumerate(keys):
        for _ in range(2):
            browser.evaluate(f"document.querySelectorAll('th button')[{column}].focus()")
            browser.press(Keys.ENTER)
            order = browser.evaluate(f"document.querySelectorAll('thead th')[{column}].getAttribute('aria-sort')")
            assert order in ("ascending", "descending") and browser.evaluate("document.querySelectorAll('[aria-sort]').length") == 1, order
            rows = [data["rows"][i] for i in browser.evaluate(SHOWN_ROWS)]
            for family in dict.fromkeys(data["series"][row["series"]]["family"] for row in rows):
                found = [data["series"][row["series"]]["label"] if key == "label" else row[key] for row in rows if data["series"][row["series"]]["family"] == family]
                present = [value for value in found if value is not None]
                assert found[len(present):] == [None] * (len(found) - len(present)), f"{key}: missing values are not last"
                ordered = browser.evaluate(f"{json.dumps(present)}.sort((a, b) => a.localeCompare(b))") if key == "label" else sorted(present)
                assert present == (ordered if order == "ascending" else ordered[::-1]), f"not sorted by {key}, {order}: {present}"
        assert order == ("descending" if key in ("label", "seconds") else "ascending"), f"{key} is sorted {order} at the second click"


def check_families(browser: Browser, data: dict) -> None:
    """Checks that the rows below a heading are those of its family, and that families keep the order of the entries."""
    shown = browser.evaluate("[...document.querySelectorAll('tbody tr')].map(row => row.dataset.id ? Number(row.dataset.id) : row.innerText.trim())")
    headings = [row for row in shown if isinstance(row, str)]
    used = {data["series"][data["rows"][row]["series"]]["family"] for row in shown if not isinstance(row, str)}
    assert headings == [family for family in dict.fromkeys(entry["family"] for entry in data["series"]) if family in used], headings
    family = ""
    for row in shown:
        family = row if isinstance(row, str) else family
        assert isinstance(row, str) or data["series"][data["rows"][row]["series"]]["family"] == family, f"{data['rows'][row]['case']} is below {family}"


def check_themes(browser: Browser, data: dict) -> None:
    for name, dark in (("light", False), ("dark", True)):
        browser.set_window(1280, 900, dark=dark)
        browser.settle()
        paper = [int(v) for v in browser.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")]
        assert (max(paper) < 60) == dark, f"the page is not {name}: {paper}"
        low_contrast = browser.evaluate(FIND_LOW_CONTRAST)
        assert not low_contrast, f"hard to read, {name}: {low_contrast[:5]}"
        assert browser.evaluate("document.documentElement.style.getPropertyValue('--s0')") == data["series"][0][name]
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate("document.documentElement.dataset.theme") == "light", "the button changes nothing"
    browser.evaluate("localStorage.clear()")


def check_explanations(browser: Browser, data: dict) -> None:
    for i in range(browser.evaluate("document.querySelectorAll('th button').length")):
        browser.evaluate(f"document.querySelectorAll('th button')[{i}].dispatchEvent(new MouseEvent('mouseover', {{bubbles: true}}))")
        text = browser.evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
        assert len(text) > 30, f"column {i} is not explained: {text}"
    browser.evaluate("document.getElementById('chart').scrollIntoView()")
    x, y = browser.evaluate("(r => [r.left + r.width / 2, r.top + r.height / 2])(document.querySelector('.series circle').getBoundingClientRect())")
    browser.call_devtools("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    browser.settle()
    assert "N = " in browser.evaluate("document.getElementById('tip').textContent"), "a point is not explained"


def check_print(browser: Browser, data: dict) -> None:
    browser.call_devtools("Emulation.setEmulatedMedia", {"media": "print"})
    are_hidden = browser.evaluate("['#theme', '.links'].every(s => !document.querySelector(s).checkVisibility())")
    heading_position = browser.evaluate("getComputedStyle(document.querySelector('thead th')).position")
    browser.set_window(718, 1000)  # A4 between its margins
    browser.call_devtools("Emulation.setEmulatedMedia", {"media": "print"})
    browser.settle()
    page_width = browser.evaluate("document.documentElement.scrollWidth")
    browser.call_devtools("Emulation.setEmulatedMedia", {"media": ""})
    assert are_hidden and heading_position == "static", f"buttons or moving headings on paper: {are_hidden} {heading_position}"
    assert page_width <= 718, f"wider than paper: {page_width}"


def check_small(browser: Browser, data: dict) -> None:
    """Checks results of one length and one type, with too few rounds for intervals."""
    assert len(browser.evaluate(SHOWN_ROWS)) == len([row for row in data["rows"] if row["direction"] == "forward + backward"])
    assert "too few rounds" in browser.evaluate("document.body.innerText")
    assert "wins from" not in browser.evaluate("document.getElementById('table').textContent"), "an empty column"
    for key in ("ratio", "seconds", "peak", "kept"):
        choose(browser, "metric", key)
        assert browser.evaluate("document.querySelectorAll('.series').length") > 3, f"no picture of {key}"


def check_alone(browser: Browser, data: dict) -> None:
    """Checks one user-defined operator without a reference."""
    assert browser.evaluate("document.querySelectorAll('.series').length") == len(data["series"]), "no picture of an operator alone"
    assert browser.evaluate("document.querySelector('input[name=metric]:checked').value") == "seconds"


# The checks, each with the faults that it must find, as replacements in the page.
CHECKS = {
    check_content: [("\\u003c", "<"), ('"OOM"', '""'), ("bit for bit", "roughly")],
    check_sticky: [(".over {", ".scroll { overflow-x: auto; }\n.over {"), ("position: sticky; top: 0;", "")],
    check_crossings: [("[r.wins_from]", "[r.wins]")],
    check_slower: [("is slower: ", "is: "), ("filter(r => r.slower_because)", "slice(0, 1)")],
    check_phone: [("overflow: auto; max-height: 88vh;", "overflow: visible;"), ("overflow: auto; max-height: 88vh;", "overflow: auto;"),
                  ('name="viewport"', 'name="nothing"'), ("left: 0; z-index: 1;", "")],
    check_chips: [("sides.every(", "sides.some("), ("shown[side.key] = requested[side.key];", ""), ("metric = k; draw();", "")],
    check_sorting: [("return sorted.way *", "return"), ("(x === null) - (y === null)", "(y === null) - (x === null)")],
    check_families: [("if (a.entry.family !== b.entry.family)", "if (false)"), ("list[i - 1]?.entry", "list[0].entry")],
    check_themes: [('[data-theme="dark"] {', '[data-theme="none"] {'), ("--soft: #57606a", "--soft: #a0a8b0")],
    check_explanations: [('addEventListener("mouseover", explain)', 'addEventListener("none", explain)')],
    check_small: [("lengths.length < 2", "lengths.length < 0"), ("if (row.low === null) return", "if (false) return"),
                  ('column.key !== "wins"', 'column.key !== "none"')],
    check_alone: [('metric = "seconds"', "metric")],
    check_print: [("thead th, thead td, tbody th { position: static; }", ""), ("html { font-size: 10.5px; }", "html { font-size: 24px; }")],
    **layout.CHECKS,
}
FONT_CHECKS = (check_sticky, check_phone, check_print, *layout.CHECKS)  # checks that depend on fonts


def make_synthetic_data(folder: Path) -> dict:
    files, torch = synthetic.write(folder)
    return collect_page_data([(path, *load_rows(str(path))) for path in files], torch)


def keep_one_length(data: dict) -> dict:
    rows = [row for row in data["rows"] if (row["machine"], row["dtype"], row["n"]) == (0, "float", 1024) and not row["failed"]]
    missing = {**dict.fromkeys(("low", "high", "seconds_low", "seconds_high", "wins")), "wins_from": ""}
    return {**data, "machines": data["machines"][:1], "rows": [{**row, **missing} for row in rows]}


def keep_custom_operator(data: dict) -> dict:
    custom = next(i for i, entry in enumerate(data["series"]) if entry["custom"])
    missing = {**dict.fromkeys(("ratio", "low", "high", "wins")), "wins_from": ""}
    rows = [{**row, **missing, "series": 0} for row in data["rows"] if (row["machine"], row["series"]) == (0, custom)]
    return {**data, "machines": data["machines"][:1], "series": [data["series"][custom]], "rows": rows}


def run_check(browser: Browser, page: Path, text: str, check, data: dict) -> str:
    """Runs a check on a page. Returns the error; empty if the check passes."""
    page.write_text(text, encoding="utf-8")
    browser.take_messages()
    browser.set_window(1280, 900)
    browser.open(page)
    try:
        check(browser, data)
    except (AssertionError, WebDriverException) as error:
        return f"{check.__name__}: {error}"
    messages = browser.take_messages()
    return f"{check.__name__}: messages in the console: {messages}" if messages else ""


def find_first_error(browser: Browser, page: Path, results: dict, checks, *, style: str = "", inject_faults: bool = False) -> str:
    """Returns the first error. Empty if all checks pass and, with `inject_faults`, find the injected faults."""
    data_changes = {check_small: keep_one_length, check_alone: keep_custom_operator, layout.check_long_names: layout.lengthen_names}
    for check in checks:
        data = data_changes.get(check, lambda data: data)(results)
        text = render_page(data).replace("</style>", style + "</style>", 1)
        if error := run_check(browser, page, text, check, data):
            return error
        for old, new in CHECKS[check] if inject_faults else ():
            assert old in text, f"{check.__name__}: the page lacks {old}"
            found = run_check(browser, page, text.replace(old, new), check, data)
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
        data, page = make_synthetic_data(scratch), scratch / "arena.html"
        with Browser(program) as browser:
            errors = {"": find_first_error(browser, page, data, CHECKS, inject_faults=True)}
            for letters, style in layout.LETTER_STYLES.items():
                errors[letters] = find_first_error(browser, page, data, layout.CHECKS, style=style)
        for fonts in layout.find_font_folders():
            with Browser(program, layout.write_font_config(fonts, scratch)) as browser:
                errors[f"only the fonts of {fonts}"] = find_first_error(browser, page, data, FONT_CHECKS)
    for setting, error in errors.items():
        if error:
            print(f"{error}{setting and f', with {setting}'}", file=sys.stderr)
    if any(errors.values()):
        return 1
    print(f"the page: {len(CHECKS)} checks pass and find {sum(map(len, CHECKS.values()))} injected faults; also with {', '.join(filter(None, errors))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
