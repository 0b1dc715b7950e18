#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The walks of docs/design.md are true: every step is a file under include/slicesort that defines the function or
type named, a step's file calls the next one's function or includes its file, and no walk has more than five
hops. Headers that the design's pages name must exist."""
import re

from common import INCLUDE, ROOT, finish, name

STEP = re.compile(r"^(\d+)\. `([^`]+)`: `([^`]+)`", re.MULTILINE)
HEADER = re.compile(r"`([\w./]+/[\w./]+\.(?:hpp|cuh|inl))`")
BACKENDS = ("Host", "CUDA")
OPERATORS = ("slicing_sort", "csp", "sparse_mix", "softmax_attention", "linear_attention")
MOST_HOPS = 5
BASE = INCLUDE / "slicesort"
TEXT = re.compile(r"#define SLICESORT_TARGET_TEXT <([^>]+)>")


def read(path: str) -> str:
    """A header's text, and the text that it compiles for every instruction set."""
    if not (BASE / path).is_file():
        return ""
    text = (BASE / path).read_text(encoding="utf-8")
    return text + "".join((INCLUDE / inner).read_text(encoding="utf-8") for inner in TEXT.findall(text))


def defines(text: str, word: str) -> bool:
    return bool(re.search(rf"\b(?:struct|class)\s+{word}\b|\b{word}\s*\(", text))


def check_walk(where: str, steps: list[tuple[str, str]]) -> list[str]:
    complaints = []
    if len(steps) - 1 > MOST_HOPS:
        complaints.append(f"{where}: {len(steps) - 1} hops, at most {MOST_HOPS}")
    texts = [read(path) for path, _ in steps]
    for (path, function), text in zip(steps, texts):
        if not text:
            complaints.append(f"{where}: {path} does not exist")
        elif not defines(text, function):
            complaints.append(f"{where}: {path} does not define {function}")
    for text, (path, _), (following, function) in zip(texts, steps, steps[1:]):
        if text and not re.search(rf"\b{function}\b", text) and f"<slicesort/{following}>" not in text:
            complaints.append(f"{where}: {path} neither calls {function} nor includes {following}")
    return complaints


page = ROOT / "docs/design.md"
complaints = []
found = set()
for section in re.split(r"^### ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
    operator = section.split("\n", 1)[0].strip("`")
    for part in re.split(r"^\*\*", section, flags=re.MULTILINE)[1:]:
        backend = part.split("**", 1)[0].rstrip(":.")
        steps = [(path, function) for _, path, function in STEP.findall(part)]
        if steps:
            found.add((operator, backend))
            complaints += check_walk(f"{name(page)}, {operator}, {backend}", steps)
complaints += [f"{name(page)}: no walk of {operator}, {backend}"
               for operator in OPERATORS for backend in BACKENDS if (operator, backend) not in found]
for design in sorted((ROOT / "docs").glob("design*.md")):
    for path in HEADER.findall(design.read_text(encoding="utf-8")):
        places = (ROOT / path, INCLUDE / path, BASE / path, BASE / "detail" / path)
        if "<" not in path and not any(place.is_file() for place in places):
            complaints.append(f"{name(design)}: {path} does not exist")
finish("design", complaints)
