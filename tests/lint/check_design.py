#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The walks of docs/design.md match the code. Every step names a function (type::function) and the file below
include/slicesort that defines it, and the previous step calls it. A step that calls a parameter is followed by a function of
the lambda or kernel that an earlier step passed to it. Forwarding functions are steps too. Every walk is limited in its
functions and files, and ends at the function with the innermost loop. Headers named on the design pages must exist."""
import re

from common import INCLUDE, ROOT, finish, relative_name

STEP = re.compile(r"^(\d+)\. `([^`]+)`: `([^`]+)`", re.MULTILINE)
HEADER = re.compile(r"`([\w./]+/[\w./]+\.(?:hpp|cuh|inl))`")
# The required walks: last function, maximum number of functions, maximum number of files.
FUNCTIONS, FILES = 12, 8
WALKS = {
    ("slicing_sort", "Host"): ("wide_pairs::compare_exchange", FUNCTIONS, FILES),
    ("slicing_sort", "CUDA"): ("packed_key::before", FUNCTIONS, FILES),
    ("csp", "Host"): ("store_vector", FUNCTIONS, FILES),
    ("csp", "CUDA"): ("exchange_pairs_kernel::in_order", FUNCTIONS, FILES),
    ("sparse_mix", "Host"): ("mix_sums::sums_of", FUNCTIONS, FILES),
    ("sparse_mix", "CUDA"): ("fused_multiply_add", FUNCTIONS, FILES),
    ("softmax_attention", "Host"): ("fused_lanes", FUNCTIONS, FILES),
    ("linear_attention", "CUDA"): ("fused_multiply_add", FUNCTIONS, FILES),
}
DEVICE_STEPS = ("implementation::forward", "cuda_grid::run", "run_kernel")
BASE = INCLUDE / "slicesort"
NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", re.MULTILINE | re.DOTALL)
CLOSING = {"(": ")", "{": "}"}


def read_code(path: str) -> str:
    """A header without comments, strings and directives."""
    if not (BASE / path).is_file():
        return ""
    return NOT_CODE.sub(" ", (BASE / path).read_text(encoding="utf-8"))


def closing_index(text: str, start: int) -> int:
    """The index after the bracket that closes the one at `start`."""
    depth, opening = 0, text[start]
    for i in range(start, len(text)):
        depth += (text[i] == opening) - (text[i] == CLOSING[opening])
        if depth == 0:
            return i + 1
    return len(text)


def find_definitions(text: str, function: str) -> list[tuple[str, str]]:
    """Parameters and body of each definition of a function, which may be a member type::function."""
    kind, _, word = function.rpartition("::")
    if kind:
        places = [m.end() - 1 for m in re.finditer(rf"\b(?:struct|class)\s+{kind}\b[^;{{}}]*{{", text)]
        outside = re.finditer(rf"\b{kind}\s*(?:<[^;{{}}]*>)?::{re.escape(word)}\s*\(", text)
        found = [part for place in places for part in find_definitions(text[place:closing_index(text, place)], word)]
        return found + [part for m in outside for part in find_definitions(text[m.end() - 1 - len(word):], word)[:1]]
    found = []
    for m in re.finditer(rf"(?<![\w.>~]){re.escape(word)}\s*\(", text):
        end = closing_index(text, m.end() - 1)
        if opening := re.match(r"\s*(?:const\b|noexcept\b|->[^;{}()]*|\s)*{", text[end:]):
            body = end + opening.end() - 1
            found.append((text[m.end():end - 1], text[body:closing_index(text, body)]))
    return found


def read_table_pointers() -> dict[str, set[str]]:
    """Members of kernel tables, by the type::function assigned to them (`table.multiply = micro_kernel<A>::multiply;`)."""
    found = {}
    for path in sorted(BASE.rglob("*.inl")):
        for member, value in re.findall(r"\.(\w+) = ([\w:<>, ]+);", path.read_text(encoding="utf-8")):
            while "<" in value and ">" in value:
                value = re.sub(r"<[^<>]*>", "", value)
            found.setdefault("::".join(value.replace("template ", "").split("::")[-2:]), set()).add(member)
    return found


TABLE_POINTERS = read_table_pointers()


def contains_call(body: str, function: str) -> bool:
    """True if a body calls a function, also through a kernel table, or takes a kernel's address for a launch."""
    for word in {function.rpartition("::")[2], *TABLE_POINTERS.get(function, ())}:
        word = re.escape(word)
        if re.search(rf"(?<!\w){word}\s*(?:<[^;{{}}()]*(?:\([^()]*\))?[^;{{}}()]*>)?\s*\(|&\s*{word}\s*<", body):
            return True
    return False


def split_lambdas(body: str) -> tuple[str, str]:
    """Splits a body into the code outside of lambdas that it passes to calls, and these lambdas."""
    lambdas = ""
    while m := re.search(r"(?<=[(,])\s*\[[^\[\]]*\]\s*(?:\([^()]*\)\s*)?{", body):
        end = closing_index(body, m.end() - 1)
        lambdas += body[m.start():end]
        body = body[:m.start()] + body[end:]
    return body, lambdas


def calls_back(step: list[tuple[str, str]]) -> bool:
    """True if a definition calls one of its parameters."""
    return any(re.search(rf"(?<![\w.>]){word}\s*\(", split_lambdas(body)[0]) for parameters, body in step
               for word in re.findall(r"(\w+)\s*(?:,|$)", parameters))


def kernel_makers(kernel: str, texts: set[str]) -> set[str]:
    """The functions `.._kernel` of these files that create a kernel, directly or through each other."""
    bodies = {word: "".join(body for text in texts for _, body in find_definitions(text, word))
              for text in texts for word in re.findall(r"\b(\w+_kernel)\s*\(", text)}
    creators, last = {kernel}, 0
    while len(creators) > last:
        last = len(creators)
        creators |= {word for word, body in bodies.items() if any(re.search(rf"\b{known}\b", body) for known in creators)}
    return creators


def passes_call(body: str, function: str, texts: set[str]) -> bool:
    """True if a function passes on a lambda with this call, or a kernel whose operator() is the step."""
    kind, _, word = function.rpartition("::")
    return contains_call(split_lambdas(body)[1], function) or (
        word == "operator()" and any(re.search(rf"\b{maker}\b", body) for maker in kernel_makers(kind, texts)))


def check_walk(walk: tuple[str, str], steps: list[tuple[str, str]]) -> list[str]:
    errors = []
    label = f"{relative_name(page)}, {', '.join(walk)}"
    last, functions, files = WALKS.get(walk, ("", FUNCTIONS, FILES))
    file_count = len({path for path, _ in steps})
    if len(steps) > functions or file_count > files:
        errors.append(f"{label}: {len(steps)} functions in {file_count} files, at most {functions} in {files}")
    if walk[1] == "CUDA":
        errors += [f"{label}: no step is {step}" for step in DEVICE_STEPS if step not in [function for _, function in steps]]
    if last and steps[-1][1] != last:
        errors.append(f"{label}: ends with {steps[-1][1]}, not {last}")
    texts = {read_code(path) for path, _ in steps}
    found = [find_definitions(read_code(path), function) for path, function in steps]
    for (path, function), step in zip(steps, found):
        if not (BASE / path).is_file():
            errors.append(f"{label}: {path} does not exist")
        elif not step:
            errors.append(f"{label}: {path} does not define {function}")
    for i in range(1, len(steps)):
        function = steps[i][1]
        called = any(contains_call(split_lambdas(body)[0], function) for _, body in found[i - 1])
        passed = calls_back(found[i - 1]) and any(passes_call(body, function, texts) for step in found[:i] for _, body in step)
        if found[i - 1] and not called and not passed:
            errors.append(f"{label}: {steps[i - 1][1]} of {steps[i - 1][0]} does not call {function}")
    return errors


page = ROOT / "docs/design.md"
errors = []
walks = {}
for section in re.split(r"^### ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
    operator = section.split("\n", 1)[0].strip("`")
    for part in re.split(r"^\*\*", section, flags=re.MULTILINE)[1:]:
        backend = part.split("**", 1)[0].rstrip(":.")
        if steps := [(path, function) for _, path, function in STEP.findall(part)]:
            walks[operator, backend] = steps
for walk, steps in walks.items():
    errors += check_walk(walk, steps)
errors += [f"{relative_name(page)}: no walk of {', '.join(walk)}" for walk in WALKS if walk not in walks]
for design in sorted((ROOT / "docs").glob("design*.md")):
    for path in HEADER.findall(design.read_text(encoding="utf-8")):
        places = (ROOT / path, INCLUDE / path, BASE / path, BASE / "detail" / path)
        if "<" not in path and not any(place.is_file() for place in places):
            errors.append(f"{relative_name(design)}: {path} does not exist")
finish("design", errors)
