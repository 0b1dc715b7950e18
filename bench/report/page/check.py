# SPDX-License-Identifier: Apache-2.0
"""Whether the page does what it should, in headless Chromium, with made-up results: python3 -m report.page.check. Each check must
also notice a fault that is planted for it. Without Chromium and its driver it says that it was skipped."""
import csv
import io
import json
import sys
import tempfile
from pathlib import Path

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.keys import Keys

from ..arena_table import rows_of
from . import layout, made_up
from .browser import Browser, chromium
from .rows import collected, page_of

# What an element's text and what is behind it look like; the first text that is hard to read, if any.
HARD_TO_READ = """(() => {
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
    b.ask(RADIO.format(side, value) + ".click()")
    b.settle()


def check_content(b: Browser, data: dict) -> None:
    assert b.ask("document.querySelectorAll('h1').length") == 1
    assert b.ask("performance.getEntriesByType('resource').length") == 0, "the page needs other files"
    assert b.ask("document.querySelectorAll('#planted').length") == 0, "text of the results became markup"
    noise = b.ask("document.getElementById('noise').textContent")
    assert made_up.HOSTILE in noise, noise
    text = b.ask("document.body.innerText")
    for wanted in ("OOM", "OpenBLAS 0.3.21, Haswell kernels; they leave this processor's AVX-512 unused", "g++ 12.2.0", "0000000", "bit for bit", "reference", "yours", "unchecked", "higher is better"):
        assert wanted in text, f"the page does not say {wanted}"
    rows = list(csv.reader(io.StringIO(b.ask("csv()"))))
    names = [dict(zip(rows[0], row))["case"] for row in rows[1:]]
    assert names == [row["case"] for row in data["rows"]], "the CSV lacks rows"
    assert json.loads(b.ask("JSON.stringify(results)")) == data


def check_sticky(b: Browser, data: dict) -> None:
    b.ask("document.body.style.maxWidth = '4000px'")  # so wide that the table needs no box, whatever the fonts
    b.window(2400, 420)
    b.ask("scrollTo(0, document.querySelector('tbody tr:nth-child(5)').getBoundingClientRect().top + scrollY)")
    b.settle()
    tops = b.ask("[...document.querySelectorAll('thead th, thead td')].map(h => h.getBoundingClientRect().top)")
    first = b.ask("document.querySelector('tbody tr').getBoundingClientRect().top")
    assert first < -50, f"the table did not scroll: {first}"
    assert all(abs(top) <= 1 for top in tops), f"the headings do not stick: {tops}"


def check_crossings(b: Browser, data: dict) -> None:
    """A causal operator is measured against causal softmax attention; forward is shown."""
    pick(b, "direction", "forward")
    column = b.ask("[...document.querySelectorAll('thead th')].findIndex(h => h.textContent === 'wins from')")
    said = dict(b.ask(f"[...document.querySelectorAll('tbody tr')].map(r => [r.cells[0].textContent, r.cells[{column} + 1].textContent])"))
    wanted = {"Linear Transformer": "1024\u20132048", "Linear Transformer, causal": "2048\u20134096", "slicing-sort": "\u2264 1024",
              "softmax, materialized (OpenBLAS)": "> 4096", "softmax, streaming": ""}
    assert {name: said.get(name) for name in wanted} == wanted, said


def check_slower(b: Browser, data: dict) -> None:
    """Every operator that is shown and slower than softmax attention says why; torch's forms do not."""
    pick(b, "n", "1024")
    said = b.ask("document.getElementById('slower').innerText")
    slow = [data["rows"][i] for i in b.ask(SHOWN) if data["rows"][i]["verdict"] == "slower" and not data["rows"][i]["case"].startswith("baseline")]
    assert slow, "no made-up row is slower"
    for row in slow:
        assert f"{data['series'][row['series']]['label']} is slower: " in said, f"it is not said why: {row['case']}"


def check_phone(b: Browser, data: dict) -> None:
    b.window(390, 480, phone=True)
    b.settle()
    assert b.ask("document.documentElement.scrollWidth") <= 390, "the page is wider than a phone"
    b.ask("document.getElementById('scroll').scrollIntoView(), document.getElementById('scroll').scrollTo(300, 120)")
    b.settle()
    box, head, name = b.ask("['#scroll', 'thead th:nth-child(4)', 'tbody tr:nth-child(6) th'].map(s => document.querySelector(s).getBoundingClientRect())"
                            ".map(r => [r.left, r.top])")
    assert b.ask("document.getElementById('scroll').scrollLeft") > 100, "the table does not scroll sideways"
    assert b.ask("document.getElementById('scroll').scrollTop") > 50, "the table does not scroll in its box"
    assert abs(head[1] - box[1]) <= 2, f"the headings do not stick on a phone: {head} in {box}"
    assert abs(name[0] - box[0]) <= 2, f"the names do not stick on a phone: {name} in {box}"


def check_chips(b: Browser, data: dict) -> None:
    sides = b.ask("[...document.querySelectorAll('fieldset')].map(f => [f.dataset.side, [...f.querySelectorAll('input')].map(i => i.value)])")
    assert {side for side, _ in sides} == {"machine", "direction", "dtype", "c", "n", "metric"}, sides
    for side, values in sides:
        seen = []
        for value in values:
            pick(b, side, value)
            assert b.ask(RADIO.format(side, value) + ".checked"), f"{side} {value} is not chosen"
            shown = b.ask(SHOWN)
            assert shown and (side == "metric" or all(str(data["rows"][i][side]) == value for i in shown)), f"{side} {value}: wrong rows"
            what = b.ask("document.getElementById('chart').textContent") if side == "metric" else shown
            assert what not in seen, f"{side} {value} changes nothing"
            seen.append(what)
            lines = b.ask("[...document.querySelectorAll('.series')].map(g => Number(g.dataset.series))")
            assert len(lines) >= 3 and len(set(lines)) == len(lines), lines
    b.ask(RADIO.format("direction", "forward") + ".focus()")
    pick(b, "direction", "forward")
    b.press(Keys.ARROW_RIGHT)
    assert b.ask(RADIO.format("direction", "forward + backward") + ".checked"), "the arrow keys do not choose"
    assert b.ask("document.activeElement.value") == "forward + backward", "the focus is lost"


def check_sorting(b: Browser, data: dict) -> None:
    keys = ["label", "ratio", "low", "wins", "seconds", "tokens", "kept", "peak", "error", "share"]
    for column, key in enumerate(keys):
        for _ in range(2):
            b.ask(f"document.querySelectorAll('th button')[{column}].focus()")
            b.press(Keys.ENTER)
            way = b.ask(f"document.querySelectorAll('thead th')[{column}].getAttribute('aria-sort')")
            assert way in ("ascending", "descending") and b.ask("document.querySelectorAll('[aria-sort]').length") == 1, way
            rows = [data["rows"][i] for i in b.ask(SHOWN)]
            found = [data["series"][row["series"]]["label"] if key == "label" else row[key] for row in rows]
            there = [value for value in found if value is not None]
            assert found[len(there):] == [None] * (len(found) - len(there)), f"{key}: what is missing is not below"
            ordered = b.ask(f"{json.dumps(there)}.sort((a, b) => a.localeCompare(b))") if key == "label" else sorted(there)
            assert there == (ordered if way == "ascending" else ordered[::-1]), f"not sorted by {key}, {way}: {there}"
        assert way == ("descending" if key in ("label", "seconds") else "ascending"), f"{key} is sorted {way} at the second click"


def check_themes(b: Browser, data: dict) -> None:
    for name, dark in (("light", False), ("dark", True)):
        b.window(1280, 900, dark=dark)
        b.settle()
        paper = [int(v) for v in b.ask("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")]
        assert (max(paper) < 60) == dark, f"the page is not {name}: {paper}"
        hard = b.ask(HARD_TO_READ)
        assert not hard, f"hard to read, {name}: {hard[:5]}"
        assert b.ask(f"document.documentElement.style.getPropertyValue('--s0')") == data["series"][0][name]
    b.ask("document.getElementById('theme').click()")
    assert b.ask("document.documentElement.dataset.theme") == "light", "the button changes nothing"
    b.ask("localStorage.clear()")


def check_explanations(b: Browser, data: dict) -> None:
    for i in range(b.ask("document.querySelectorAll('th button').length")):
        b.ask(f"document.querySelectorAll('th button')[{i}].dispatchEvent(new MouseEvent('mouseover', {{bubbles: true}}))")
        said = b.ask("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
        assert len(said) > 30, f"column {i} is not explained: {said}"
    b.ask("document.getElementById('chart').scrollIntoView()")
    x, y = b.ask("(r => [r.left + r.width / 2, r.top + r.height / 2])(document.querySelector('.series circle').getBoundingClientRect())")
    b.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})
    b.settle()
    assert "N = " in b.ask("document.getElementById('tip').textContent"), "a point is not explained"


def check_print(b: Browser, data: dict) -> None:
    b.call("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = b.ask("['#theme', '.links'].every(s => !document.querySelector(s).checkVisibility())")
    still = b.ask("getComputedStyle(document.querySelector('thead th')).position")
    b.window(718, 1000)  # A4 between its margins
    b.call("Emulation.setEmulatedMedia", {"media": "print"})
    b.settle()
    wide = b.ask("document.documentElement.scrollWidth")
    b.call("Emulation.setEmulatedMedia", {"media": ""})
    assert hidden and still == "static", f"buttons or moving headings on paper: {hidden} {still}"
    assert wide <= 718, f"wider than paper: {wide}"


def check_small(b: Browser, data: dict) -> None:
    """Of one length, one type and too few rounds for intervals."""
    assert len(b.ask(SHOWN)) == len([row for row in data["rows"] if row["direction"] == "forward + backward"])
    assert "too few rounds" in b.ask("document.body.innerText")
    assert "wins from" not in b.ask("document.getElementById('table').textContent"), "a column of nothing"
    for key in ("ratio", "seconds", "peak", "kept"):
        pick(b, "metric", key)
        assert b.ask("document.querySelectorAll('.series').length") > 3, f"no picture of {key}"


def check_alone(b: Browser, data: dict) -> None:
    """Without a reference: one operator, of a program of somebody's own."""
    assert b.ask("document.querySelectorAll('.series').length") == len(data["series"]), "no picture of an operator alone"
    assert b.ask("document.querySelector('input[name=metric]:checked').value") == "seconds"


# Each check, and changes of the page that it must notice.
CHECKS = {
    check_content: [("\\u003c", "<"), ('"OOM"', '""'), ("bit for bit", "roughly")],
    check_sticky: [(".over {", ".scroll { overflow-x: auto; }\n.over {"), ("position: sticky; top: 0;", "")],
    check_crossings: [("[r.wins_from]", "[r.wins]")],
    check_slower: [("is slower: ", "is: "), ("filter(r => r.why)", "slice(0, 1)")],
    check_phone: [("overflow: auto; max-height: 88vh;", "overflow: visible;"), ("overflow: auto; max-height: 88vh;", "overflow: auto;"),
                  ('name="viewport"', 'name="nothing"'), ("left: 0; z-index: 1;", "")],
    check_chips: [("sides.every(", "sides.some("), ("shown[side.key] = wanted[side.key];", ""), ("metric = k; draw();", "")],
    check_sorting: [("return sorted.way *", "return"), ("(x === null) - (y === null)", "(y === null) - (x === null)")],
    check_themes: [('[data-theme="dark"] {', '[data-theme="none"] {'), ("--soft: #57606a", "--soft: #a0a8b0")],
    check_explanations: [('addEventListener("mouseover", explain)', 'addEventListener("none", explain)')],
    check_small: [("lengths.length < 2", "lengths.length < 0"), ("if (row.low === null) return", "if (false) return"),
                  ('column.key !== "wins"', 'column.key !== "none"')],
    check_alone: [('metric = "seconds"', "metric")],
    check_print: [("thead th, thead td, tbody th { position: static; }", ""), ("html { font-size: 10.5px; }", "html { font-size: 24px; }")],
    **layout.CHECKS,
}
ON_FONTS = (check_sticky, check_phone, check_print, *layout.CHECKS)  # what they show depends on fonts


def results(folder: Path) -> dict:
    files, torch = made_up.write(folder)
    return collected([(path, *rows_of(str(path))) for path in files], torch)


def small(data: dict) -> dict:
    kept = [row for row in data["rows"] if (row["machine"], row["dtype"], row["n"]) == (0, "float", 1024) and not row["failed"]]
    nothing = {**dict.fromkeys(("low", "high", "seconds_low", "seconds_high", "wins")), "wins_from": ""}
    return {**data, "machines": data["machines"][:1], "rows": [{**row, **nothing} for row in kept]}


def alone(data: dict) -> dict:
    own = next(i for i, who in enumerate(data["series"]) if who["own"])
    nothing = {**dict.fromkeys(("ratio", "low", "high", "wins")), "wins_from": ""}
    kept = [{**row, **nothing, "series": 0} for row in data["rows"] if (row["machine"], row["series"]) == (0, own)]
    return {**data, "machines": data["machines"][:1], "series": [data["series"][own]], "rows": kept}


def visit(browser: Browser, page: Path, text: str, check, data: dict) -> str:
    """What is wrong; nothing if the check holds."""
    page.write_text(text, encoding="utf-8")
    browser.complaints()
    browser.window(1280, 900)
    browser.open(page)
    try:
        check(browser, data)
    except (AssertionError, WebDriverException) as wrong:
        return f"{check.__name__}: {wrong}"
    complaints = browser.complaints()
    return f"{check.__name__}: the console complains: {complaints}" if complaints else ""


def all_hold(browser: Browser, page: Path, made: dict, checks, *, style: str = "", faults: bool = False) -> str:
    """The first that is wrong; nothing if all checks hold and, with `faults`, notice what is planted for them."""
    changed = {check_small: small, check_alone: alone, layout.check_long_names: layout.with_long_names}
    for check in checks:
        data = changed.get(check, lambda whole: whole)(made)
        whole = page_of(data).replace("</style>", style + "</style>", 1)
        if wrong := visit(browser, page, whole, check, data):
            return wrong
        for old, new in CHECKS[check] if faults else ():
            assert old in whole, f"{check.__name__}: nothing to plant a fault in: {old}"
            found = visit(browser, page, whole.replace(old, new), check, data)
            if not found:
                return f"{check.__name__} does not notice that '{old}' became '{new}'"
            print(f"noticed: {found[:150]}")
    return ""


def main() -> int:
    program = chromium()
    if program is None:
        print("skipped: there is no chromium with its driver")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        made, page = results(scratch), scratch / "arena.html"
        with Browser(program) as browser:
            wrong = {"": all_hold(browser, page, made, CHECKS, faults=True)}
            for letters, style in layout.OTHER_LETTERS.items():
                wrong[letters] = all_hold(browser, page, made, layout.CHECKS, style=style)
        for fonts in layout.font_folders():
            with Browser(program, layout.only(fonts, scratch)) as browser:
                wrong[f"the fonts of {fonts} alone"] = all_hold(browser, page, made, ON_FONTS)
    for where, found in wrong.items():
        if found:
            print(f"{found}{where and f', with {where}'}", file=sys.stderr)
    if any(wrong.values()):
        return 1
    print(f"the page: {len(CHECKS)} checks hold, and notice {sum(map(len, CHECKS.values()))} planted faults; also with {', '.join(filter(None, wrong))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
