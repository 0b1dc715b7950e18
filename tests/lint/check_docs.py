#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code in the documentation is code that runs: a ```cpp block after `<!-- from examples/NAME.cpp -->` must
be the region of that file between `// [snippet]` and `// [/snippet]`; `<!-- from examples/NAME.cpp: WORD -->`
takes `// [snippet WORD]`. A `text` block after `<!-- output of examples/NAME.cpp -->` must be its output.
Links to files of the repository must lead somewhere."""
import re
import textwrap
from pathlib import Path

from common import ROOT, files, finish, name

BLOCK = re.compile(r"<!-- (from|output of) (\S+?)(?:: (\w+))? -->\n+```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"<!-- (?:from|output of) ")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def snippet(path: Path, word: str | None) -> str | None:
    label = "snippet" + (f" {word}" if word else "")
    found = re.search(rf"^[ \t]*// \[{label}\]\n(.*?)^[ \t]*// \[/{label}\]$", path.read_text(), re.DOTALL | re.MULTILINE)
    return textwrap.dedent(found[1]) if found else None


def output(path: Path) -> str | None:
    found = re.search(r"^// output:\n((?://.*\n?)*)", path.read_text(), re.MULTILINE)
    return "".join(line[2:].removeprefix(" ") + "\n" for line in found[1].splitlines()) if found else None


def check(page: Path) -> list[str]:
    text = page.read_text()
    complaints = []
    blocks = list(BLOCK.finditer(text))
    if len(blocks) != len(MARK.findall(text)):
        complaints.append(f"{name(page)}: a 'from' or 'output of' comment without a code block under it")
    for block in blocks:
        kind, source, word, _, code = block.groups()
        where = f"{name(page)}:{text.count(chr(10), 0, block.start()) + 1}"
        path = ROOT / source
        if not path.exists():
            complaints.append(f"{where}: {source} does not exist")
            continue
        want = snippet(path, word) if kind == "from" else output(path)
        if want is None:
            complaints.append(f"{where}: {source} has no such region")
        elif want.rstrip() != code.rstrip():
            complaints.append(f"{where}: differs from {source}, which says:\n{want}")
    for link in LINK.finditer(re.sub(r"```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)):
        if "://" not in link[1] and not link[1].startswith("mailto:") and not (page.parent / link[1]).exists():
            complaints.append(f"{name(page)}: link to {link[1]}, which does not exist")
    return complaints


finish("docs", [line for page in files(".md") for line in check(page)])
