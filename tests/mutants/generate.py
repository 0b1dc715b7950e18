#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists single-token mutants of the headers in include/slicesort/detail, and writes a copy of the tree with all of them: a
mutated expression selects its variant at run time (mutant.hpp). The list depends only on the sources and a seed. A mutant is
identified by file, source line and mutation, and selected by a hash of these, so that an edit affects only the mutants of
the edited lines."""
import hashlib
import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from source import CONTROL, Source

ROOT = Path(__file__).resolve().parents[2]
DETAIL = Path("include/slicesort/detail")
SEED = "1"
COUNT = 370
NUMBERS_PER_AREA = 100  # each area has its own range of numbers

# Survivors of earlier runs, which are always selected: file and mutation.
ALWAYS = (("sort/host/radix_transfer.hpp", "to + layout.start[0] + (i + k) * layout.pitch -> to + layout.start[0] - (i + k) * layout.pitch"),
          ("csp/host/long_groups.hpp", "to_layout.start[k] + destination * to_layout.pitch -> to_layout.start[k] + destination + to_layout.pitch"),
          ("csp/host/tile_kernel.inl", "2 -> 3"))

# Files without run-time code (detection of compilers and instruction sets), or with code only for CUDA or -march=native.
EXCLUDED = ("cuda/", "core/config.hpp", "host/isa.hpp", "host/simd/target.hpp", "host/simd/foreach_target.inl", "core/refused_calls.hpp", "host/unfused.hpp")

# Replacements of binary operators. The sources have spaces around operators, but not around brackets of templates.
OPERATORS = {"+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/",), "<<": (">>",), ">>": ("<<",), "&": ("|",), "|": ("&",), "^": ("&",),
             "<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
             "+=": ("-=",), "-=": ("+=",), "|=": ("&=",), "&=": ("|=",), "^=": ("|=",)}
# Weights of the selection: index arithmetic and comparisons first.
WEIGHTS = {"operator": 4, "constant": 2, "extremum": 4, "arguments": 2, "statement": 2}


@dataclass(frozen=True)
class Mutant:
    file: str  # below include/slicesort/detail
    source: str  # the source line
    mutation: str
    occurrence: int  # counted from 1 among equal mutants of this file
    kind: str
    begin: int  # offset of the replaced text
    end: int
    text: str  # the replacement, with NUMBER in place of the mutant's number

    @property
    def key(self) -> str:
        return "\t".join((self.file, self.source, self.mutation)) + (f" ({self.occurrence})" if self.occurrence > 1 else "")

    @property
    def area(self) -> str:
        """Operator or engine, with its side (host or device)."""
        folder, _, rest = self.file.partition("/")
        if folder == "host" and rest.startswith("simd/"):
            return "host/simd"
        side = "host" if rest.startswith("host") else "device" if rest.startswith("device") else ""
        return f"{folder}/{side}" if side else folder

    @property
    def rank(self) -> float:
        if (self.file, self.mutation) in ALWAYS:
            return 1.0
        number = int.from_bytes(hashlib.sha256(f"{SEED}\t{self.key}".encode()).digest()[:8], "big") / 2**64
        return number ** (1 / WEIGHTS[self.kind])


def neighboring_constants(word: str) -> list[str]:
    number = re.fullmatch(r"(0x[\da-fA-F]+|\d+)([uUlL]*)", word)
    if number is None:
        return []
    value, ending = int(number[1], 0), number[2]
    return [f"{n}{ending}" for n in (value + 1, value - 1) if n >= 0]


def swap_arguments(source: Source, i: int) -> dict[int, str] | None:
    """Returns the changes that swap the arguments of a call f(a, b); i is the opening parenthesis."""
    if source.words[i] != "(" or not source.is_adjacent(i) or not source.words[i - 1][0].isidentifier() or source.words[i - 1] in (*CONTROL, "min", "max") or source.words[i - 1].startswith("__"):
        return None
    call_words = source.words[i + 1:source.partner[i]]
    if len(call_words) != 3 or call_words[1] != "," or call_words[0] == call_words[2] or not all(re.fullmatch(r"\w+", w) for w in call_words[::2]):
        return None
    return {i + 1: call_words[2], i + 3: call_words[0]}


def expression_mutants(source: Source) -> list[tuple[str, int, int, int, str]]:
    """Returns for each mutant: kind, token, and the first token, last token and new text of the expression."""
    mutants = []
    for i, word in enumerate(source.words):
        kind, choices = "", []
        if word in OPERATORS and not source.is_adjacent(i) and not source.is_adjacent(i + 1) and i not in source.partner:
            kind, choices = "operator", [{i: new} for new in OPERATORS[word]]
        elif word in ("min", "max") and source.words[i + 1] == "(":
            kind, choices = "extremum", [{i: "max" if word == "min" else "min"}]
        elif neighboring_constants(word):
            kind, choices = "constant", [{i: new} for new in neighboring_constants(word)]
        elif (swap := swap_arguments(source, i)) is not None:
            kind, choices = "arguments", [swap]
        if not choices or not source.is_runtime_code(i):
            continue
        expression = source.expression(i - 1 if kind == "arguments" else i)
        if expression is None:
            continue
        mutants += [(kind, i, *expression, source.text_of(*expression, change)) for change in choices]
    return mutants


def find_mutants(file: str, text: str) -> list[Mutant]:
    source, lines, seen, mutants = Source(text), text.split("\n"), Counter(), []

    def add(kind: str, token: int, first: int, last: int, mutation: str, replacement: str) -> None:
        begin, end = source.tokens[first].start(), source.tokens[last].end()
        line = lines[text.count("\n", 0, source.tokens[token].start())].split("  //")[0].strip()
        seen[line, mutation] += 1
        # Keeps the number of lines, so that compilers report the right ones.
        mutants.append(Mutant(file, line, mutation, seen[line, mutation], kind, begin, end, replacement + "\n" * text.count("\n", begin, end)))

    for kind, token, first, last, new in expression_mutants(source):
        old = source.text_of(first, last)
        add(kind, token, first, last, f"{old} -> {new}", f"(SLICESORT_MUTANT(NUMBER) ? ({new}) : ({old}))")
    for first, last in source.statements():
        old = source.text_of(first, last)
        add("statement", first, first, last, f"{old} -> nothing", f"{{ if (!SLICESORT_MUTANT(NUMBER)) {{ {old} }} }}")
    return mutants


def find_all_mutants(root: Path) -> list[Mutant]:
    detail, mutants = root / DETAIL, []
    for path in sorted([*detail.rglob("*.hpp"), *detail.rglob("*.inl")]):
        file = path.relative_to(detail).as_posix()
        if not file.startswith(EXCLUDED):
            mutants += find_mutants(file, path.read_text(encoding="utf-8"))
    return mutants


def choose(mutants: list[Mutant], rejected: frozenset[str] = frozenset(), count: int = COUNT) -> dict[int, Mutant]:
    """Selects mutants, by number. The share of an area is the square root of its size; no two mutants overlap or have the same
    source line. Others replace the rejected keys; no other number changes."""
    sizes = Counter(mutant.area for mutant in mutants)
    total = sum(size**0.5 for size in sizes.values())
    remaining = {area: round(count * size**0.5 / total) for area, size in sizes.items()}
    next_numbers = {area: 1 + NUMBERS_PER_AREA * k for k, area in enumerate(sorted(sizes))}
    chosen: dict[int, Mutant] = {}
    chosen_by_file: dict[str, list[Mutant]] = {}
    for mutant in sorted(mutants, key=lambda m: m.rank, reverse=True):
        chosen_in_file = chosen_by_file.setdefault(mutant.file, [])
        if remaining[mutant.area] == 0 or any(mutant.begin < o.end and o.begin < mutant.end or mutant.source == o.source for o in chosen_in_file):
            continue
        number = next_numbers[mutant.area]
        next_numbers[mutant.area] += 1
        if mutant.key not in rejected:
            remaining[mutant.area] -= 1
            chosen_in_file.append(mutant)
            chosen[number] = mutant
    return chosen


def mutate(text: str, mutants: list[tuple[int, Mutant]]) -> str:
    for number, mutant in sorted(mutants, key=lambda pair: pair[1].begin, reverse=True):
        text = text[:mutant.begin] + mutant.text.replace("NUMBER", str(number)) + text[mutant.end:]
    return text


def write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_tree(root: Path, tree: Path, mutants: dict[int, Mutant]) -> None:
    """Copies the sources of the tests, with all mutants. Does not touch unchanged files."""
    by_file: dict[str, list[tuple[int, Mutant]]] = {}
    for number, mutant in mutants.items():
        by_file.setdefault((DETAIL / mutant.file).as_posix(), []).append((number, mutant))
    copied = set()
    for path in sorted(p for folder in ("include", "tests", "examples", "bench") for p in (root / folder).rglob("*")):
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        name = path.relative_to(root).as_posix()
        copied.add(name)
        if name in by_file or name == (DETAIL / "core/config.hpp").as_posix():
            text = mutate(path.read_text(encoding="utf-8"), by_file.get(name, []))
            if name.endswith("core/config.hpp"):
                text = text.replace("#pragma once", "#pragma once\n#include <slicesort/detail/core/mutant.hpp>", 1)
            write_if_changed(tree / name, text)
        elif not (tree / name).exists() or (tree / name).read_bytes() != path.read_bytes():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tree / name)
    for path in [p for p in root.iterdir() if p.is_file()]:
        if not (tree / path.name).exists() or (tree / path.name).read_bytes() != path.read_bytes():
            shutil.copy(path, tree / path.name)
    header = (Path(__file__).parent / "mutant.hpp").read_text(encoding="utf-8").replace("COUNT", "9999")
    header_name = DETAIL / "core/mutant.hpp"
    write_if_changed(tree / "mutants.json", json.dumps({number: mutant.key for number, mutant in mutants.items()}, indent=0))
    write_if_changed(tree / header_name, header)
    for path in [p for folder in ("include", "tests") for p in (tree / folder).rglob("*")]:
        name = path.relative_to(tree).as_posix()
        if path.is_file() and name not in copied and name != header_name.as_posix():
            path.unlink()


if __name__ == "__main__":
    for chosen_mutant in choose(find_all_mutants(ROOT)).values():
        print(chosen_mutant.key)
