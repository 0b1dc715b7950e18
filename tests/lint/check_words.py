#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names and comments in the field's words. A comment starts with a noun or a verb; no comment or page speaks of people; a variable,
member or parameter has a name that says what it is; words that the project once used give way to the field's. Prints each finding
as file:line, rule, and what to write instead. `--count` prints how many there are by rule and folder."""
import ast
import functools
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator

from common import files, finish, relative_name

OPENERS = {"What", "Of", "Whether", "How", "Where", "Which", "Those", "Who", "As", "So"}
PEOPLE = re.compile(r"\b(nobody|somebody|anybody|everybody|whoever|who|he)\b", re.I)
NAMES = set("all any at each from here how in it its kept left mine most much now of on one own some that there this_one to wanted what".split())
# A retired word, a regular expression, and the field's word.
RETIRED = {
    r"doors?": "operator; in prose: the public API",
    r"verdicts?": "status",
    r"lend|lends|lent": "provide; workspace",
    r"contestants?": "entry, entries",
    r"peers": "reference frameworks",
    r"(?-i:journal)": "run log",
    r"planted|hostile": "negative test; macro conflict",
    r"urn": "candidates",
    r"own_feature|own_\w*thread_pool": "custom_feature, custom_thread_pool",
    r"\w+_(body|rule|door|verdict)": "*_kernel, *_params or *_config, operator, status",
    r"pull_rows|pulled|pulls": "backward, vjp",
    r"attend_\w+": "output_*",
    r"bring|brings|brought": "load, pack",
    r"slots?": "thread, per_thread",
    r"gain_by_turns|take_turns|takes? turns": "interleave",
    r"head_group": "interleaved heads",
    r"(column|for_each_column)_run": "chunk of columns",
    r"row_io|row_transfer|row_moves": "rows",
    r"product_block|linear_block|sort_block": "micro_kernel, row_block, sort_rows",
}
RETIRED_WORD = re.compile("|".join(rf"(?P<r{i}>(?<!--)\b(?:{word})\b)" for i, word in enumerate(RETIRED)), re.I)
CPP = re.compile(r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>R\"(\w*)\(.*?\)\3\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+')"
                 r"|(?P<name>[A-Za-z_]\w*)|(?P<other>\d[\w.']*|\n|[^\s\w])", re.S)
KEYWORDS = {"return", "case", "else", "delete", "new", "throw", "goto", "typename", "not", "and", "or", "sizeof", "co_return"}
Finding = tuple[int, str, str]


def find_forbidden_names(tokens: list[tuple[str, str, int]]) -> Iterator[Finding]:
    """Yields forbidden names that a C++ file declares: names after a type, reference or pointer and before the end of a declarator."""
    code = [token for token in tokens if token[0] not in ("comment",) and token[1] != "\n"]
    words = {token[1] for token in code if token[0] == "name"}
    for i in range(1, len(code) - 1):
        kind, word, line = code[i]
        if kind != "name" or word not in NAMES:
            continue
        before, after = code[i - 1], code[i + 1][1]
        follows_type = before[0] == "name" and before[1] not in KEYWORDS or before[1] in ("&", "*", ">")
        if before[1] == ">" and i > 1 and code[i - 2][1] == "-":
            continue
        if not follows_type or after not in (";", ",", "=", ")", "{", "[", "(", ":"):
            continue
        counterpart = {"from": "to", "to": "from", "left": "right"}.get(word)
        if word in ("at", "what") and after == "(" or counterpart in words:
            continue
        if word == "in" and any("input" in token[1] for token in code[max(i - 12, 0):i]):
            continue
        yield line, "name", f"`{word}` says nothing: name what it is"


def check_cpp(text: str) -> Iterator[Finding]:
    tokens, line, counted = [], 1, 0
    deprecated = {name for names in re.findall(r"(\w+) \[\[deprecated|\[\[deprecated\([^)]*\)\]\] (\w+)", text) for name in names}
    for match in CPP.finditer(text):
        kind, token = match.lastgroup or "text", match.group(0)
        kind = "text" if match.group("text") else kind
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        tokens.append((kind, token, line))
    previous = -1
    for kind, token, line in tokens:
        if kind == "comment":
            starts_comment = previous != line - 1 or token.startswith("/*")
            previous = line + token.count("\n")
            yield from check_prose(token, line, starts_comment)
        elif kind == "name" and token not in deprecated:
            yield from find_retired_words(token, line)
    yield from (finding for finding in find_forbidden_names(tokens) if finding[2].split("`")[1] not in deprecated)


def check_python(text: str) -> Iterator[Finding]:
    previous = -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from check_prose(token.string, token.start[0], previous != token.start[0] - 1)
            previous = token.start[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (docstring := ast.get_docstring(node)):
            line = node.body[0].lineno
            yield from check_prose(docstring, line, True)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id in NAMES:
                yield node.lineno, "name", f"`{node.id}` says nothing: name what it is"
            yield from find_retired_words(node.id, node.lineno)
        if isinstance(node, ast.arg):
            if node.arg in NAMES:
                yield node.lineno, "name", f"`{node.arg}` says nothing: name what it is"
            yield from find_retired_words(node.arg, node.lineno)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from find_retired_words(node.name, node.lineno)


def check_script(text: str) -> Iterator[Finding]:
    previous = -1
    for line, words in enumerate(text.splitlines(), 1):
        if comment := re.match(r"\s*#(?!!)\s*(.*)", words):
            yield from check_prose(comment[1], line, previous != line - 1)
            previous = line


def check_page(text: str) -> Iterator[Finding]:
    for line, words in enumerate(text.splitlines(), 1):
        yield from check_prose(words, line, False)


def check_prose(words: str, line: int, starts_comment: bool) -> Iterator[Finding]:
    opener = re.match(r"[/*!#<\s]*([A-Za-z]+)", words)
    if starts_comment and opener and opener[1] in OPENERS:
        yield line, "opener", f"begins with {opener[1]}: begin with a noun or a verb"
    for line_offset, line_text in enumerate(words.splitlines()):
        if people := PEOPLE.search(line_text):
            yield line + line_offset, "people", f"{people[0]}: the caller, the user, or the passive"
        yield from find_retired_words(line_text, line + line_offset)


@functools.cache  # names repeat
def retired_words(words: str) -> list[str]:
    return [f"{word[0]}: {list(RETIRED.values())[int((word.lastgroup or 'r0')[1:])]}" for word in RETIRED_WORD.finditer(words)]


def find_retired_words(words: str, line: int) -> Iterator[Finding]:
    return ((line, "retired", advice) for advice in retired_words(words))


READERS = {".py": check_python, ".md": check_page, "": check_script, ".sh": check_script, ".cmake": check_script, ".txt": check_script,
           **dict.fromkeys((".hpp", ".cpp", ".cu", ".cuh", ".inl"), check_cpp)}
errors, counts = [], Counter()
for path in files(*READERS):
    if path.name in ("LICENSE", "check_words.py", "CHANGELOG.md") or "/golden/" in relative_name(path):
        continue
    for line, rule, advice in READERS[path.suffix](path.read_text(encoding="utf-8")):
        errors.append(f"{relative_name(path)}:{line}: {rule}: {advice}")
        counts[relative_name(path).split("/")[0], rule] += 1
if "--count" in sys.argv:
    print(*(f"{folder:10} {rule:8} {count}" for (folder, rule), count in sorted(counts.items())), sep="\n")
finish("words", errors)
