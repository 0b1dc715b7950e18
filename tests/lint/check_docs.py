#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code in the documentation is taken from programs. A ```cpp block after `<!-- from examples/NAME.cpp -->` must be the region
of that file between `// [snippet]` and `// [/snippet]` (in a CMakeLists.txt after `#`); `<!-- from examples/NAME.cpp: WORD -->`
selects `// [snippet WORD]`. A `text` block after `<!-- output of examples/NAME.cpp -->` must be the program's output. Links to
files of the repository must exist. Prose wraps at 120 columns, except for tables, code, HTML comments and separate links."""
import re
import textwrap
from pathlib import Path

from common import ROOT, files, finish, relative_name

BLOCK = re.compile(r"<!-- (from|output of) (\S+?)(?:: (\w+))? -->\n+```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"<!-- (?:from|output of) ")
FENCED = re.compile(r"```.*?^```$", re.DOTALL | re.MULTILINE)
COLUMNS = 120
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def read_snippet(path: Path, word: str | None) -> str | None:
    label = "snippet" + (f" {word}" if word else "")
    found = re.search(rf"^[ \t]*(?://|#) \[{label}\]\n(.*?)^[ \t]*(?://|#) \[/{label}\]$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return textwrap.dedent(found[1]) if found else None


def read_output(path: Path) -> str | None:
    found = re.search(r"^// output:\n((?://.*\n?)*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return "".join(line[2:].removeprefix(" ") + "\n" for line in found[1].splitlines()) if found else None


def wide_lines(page: Path, text: str) -> list[str]:
    prose = FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)
    return [f"{relative_name(page)}:{number}: {len(line)} columns, at most {COLUMNS}"
            for number, line in enumerate(prose.splitlines(), 1)
            if len(line) > COLUMNS and " " in line.strip() and not line.lstrip().startswith(("|", "![", "<!--"))]


def check(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    errors = wide_lines(page, text)
    blocks = list(BLOCK.finditer(text))
    if len(blocks) != len(MARK.findall(text)):
        errors.append(f"{relative_name(page)}: a 'from' or 'output of' comment without a code block under it")
    for block in blocks:
        kind, source, word, _, code = block.groups()
        place = f"{relative_name(page)}:{text.count(chr(10), 0, block.start()) + 1}"
        path = ROOT / source
        if not path.exists():
            errors.append(f"{place}: {source} does not exist")
            continue
        expected = read_snippet(path, word) if kind == "from" else read_output(path)
        if expected is None:
            errors.append(f"{place}: {source} has no such region")
        elif expected.rstrip() != code.rstrip():
            errors.append(f"{place}: differs from {source}, which says:\n{expected}")
    for link in LINK.finditer(FENCED.sub("", text)):
        if "://" not in link[1] and not link[1].startswith("mailto:") and not (page.parent / link[1]).exists():
            errors.append(f"{relative_name(page)}: link to {link[1]}, which does not exist")
    return errors


finish("docs", [line for page in files(".md") for line in check(page)])
