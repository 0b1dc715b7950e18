#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code in the documentation is taken from programs. A ```cpp block after `<!-- from examples/NAME.cpp -->` must be the region
of that file between `// [snippet]` and `// [/snippet]` (in a CMakeLists.txt after `#`); `<!-- from examples/NAME.cpp: WORD -->`
selects `// [snippet WORD]`. A `text` block after `<!-- output of examples/NAME.cpp -->` must be the program's output. Links to
files of the repository must exist. Prose wraps at 120 columns, except for tables, code, HTML comments and separate links.

Every public name has a comment with `///`, which docs/build shows. An operator's has Shapes, dtypes and Errors. Others have Errors if the
type has validate(), or the function may throw, and give the shapes and types of tensors."""
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from common import ROOT, files, finish, headers, relative_name

BLOCK = re.compile(r"<!-- (from|output of) (\S+?)(?:: (\w+))? -->\n+```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"<!-- (?:from|output of) ")
FENCED = re.compile(r"```.*?^```$", re.DOTALL | re.MULTILINE)
COLUMNS = 120
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
NAME = re.compile(r"(?:class|struct|using) (?:\[\[\w+\]\] )?(\w+)|(operator<<|\w+)[({]")
NOT_DECLARED = re.compile(r"\[\[deprecated|template <>|\w+::\w+::\w+\(|\)\s*->")  # also specializations, definitions, guides
TENSOR = re.compile(r"\b(tensor[134]|tensor_stack)<(?!index_t)|\b(const_)?index_tensor3\b|\b[XY] const& ")


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
        target = page.parent / link[1] if link[1] else page
        if "://" in link[1] or link[1].startswith("mailto:"):
            continue
        if not target.exists():
            errors.append(f"{relative_name(page)}: link to {link[1]}, which does not exist")
        elif link[2] and link[2] not in anchors(target / "README.md" if target.is_dir() else target):
            errors.append(f"{relative_name(page)}: link to #{link[2]}, which {relative_name(target)} does not have")
    return errors


@cache
def anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub gives to the headings of a page."""
    if page.suffix != ".md":
        return set()
    headings = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def public_declarations(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yields the line, the comment and the text of each declaration of a public namespace."""
    public, comment, text = False, "", ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if re.match(r"SLICESORT_\w+_(BEGIN|END)$", line):
            public = line in ("SLICESORT_TYPES_BEGIN", "SLICESORT_OPERATORS_BEGIN")
        elif public and line.startswith("///"):
            comment += line + "\n"
        elif public and (text or re.match(r"(?!namespace)[a-z]|SLICESORT_(HD|ABI)", line)):
            text += line + "\n"
            code = re.sub(r"\"[^\"]*\"|//.*", "", text)
            if code.rstrip().endswith((";", "}")) and all(code.count(a) == code.count(b) for a, b in ("{}", "()")):
                yield number - text.count("\n") + 1, comment, text
                comment = text = ""
        elif not text:
            comment = ""


def check_comments(path: Path) -> list[str]:
    """Overloads share their comments, since docs/build shows them on one page."""
    lines, comments, required = {}, {}, {}
    for number, comment, text in public_declarations(path):
        head = re.sub(r"^template <.*?>\n(?! )", "", text, flags=re.DOTALL).split("{\n")[0]
        if NOT_DECLARED.search(text.split("{\n")[0]) or not (found := NAME.search(head)):
            continue
        name, is_type = found[1] or found[2], bool(found[1]) or "enum" in head
        public = text.split("\n private:")[0]
        if re.search(r"\b(forward|run)\(Exec|public detail::soft_operator", public):
            words = [r"\*\*Shapes", r"\*\*dtypes", r"\*\*Errors"]
        else:
            throws = re.search(r"\bvalidate\(", text) if is_type else re.search(r"\(", head) and not re.search(r"constexpr|noexcept", text)
            fields = re.sub(r"^ *(template|SLICESORT).*?\n(?= |})", "", text, flags=re.M) if is_type else head
            words = ["Errors"] * bool(throws) + [r"`[^`]*\[", r"\btypes?\b|dtype|std::"] * bool(TENSOR.search(fields))
        lines.setdefault(name, number)
        comments[name] = comments.get(name, "") + comment + "".join(re.findall("///.*", text))
        required.setdefault(name, {r"///"}).update(words)
    meaning = {"///": "a comment", r"`[^`]*\[": "a shape", r"\btypes?\b|dtype|std::": "an element type"}
    return [f"{relative_name(path)}:{lines[name]}: {name} needs {meaning.get(word, word.strip(chr(92) + '*'))}"
            for name, words in required.items() for word in words if not re.search(word, comments[name])]


public_headers = [path for path in headers(".hpp", ".cuh") if "/detail/" not in relative_name(path) or path.name == "params.hpp"]
finish("docs", [line for page in files(".md") for line in check(page)] + [line for path in public_headers for line in check_comments(path)])
