#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python names the encoding of every text that it reads or writes; otherwise it depends on the user's locale, and some sources
and pages are not ASCII. A program's output is read with encoding="utf-8" instead of text=True. C++ reads numbers with
from_chars, since the decimal point of other functions depends on the locale."""
import ast
import re

from common import files, finish, python_files, relative_name

LOCALE_DEPENDENT = re.compile(r"\b(strto(f|d|ld)|ato(f|i|l|ll)|sto(f|d|ld)|s?scanf|isspace)\s*\(")
PROGRAMS = {"run", "Popen", "check_output", "check_call", "call", "getoutput"}


def lacks_encoding(call: ast.Call) -> bool:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in keywords:
        return False
    if function in PROGRAMS:
        return any(getattr(keywords.get(keyword), "value", None) is True for keyword in ("text", "universal_newlines"))
    if function in ("read_text", "write_text"):
        return True
    if function not in ("open", "fdopen", "NamedTemporaryFile", "TemporaryFile"):
        return False
    # Other types have an open() too: without a mode, only the built-in one certainly opens a text.
    modes = [keyword.value for keyword in [*call.args, *keywords.values()] if isinstance(keyword, ast.Constant) and isinstance(keyword.value, str)
             and keyword.value and set(keyword.value) <= set("rwaxbt+")]
    return "b" not in modes[0] if modes else isinstance(call.func, ast.Name) and function == "open"


sources = python_files()
errors = [f"{relative_name(path)}:{node.lineno}: names no encoding" for path in sources
          for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call) and lacks_encoding(node)]
errors += [f"{relative_name(path)}:{number}: {found[0]}..) depends on the locale" for under in ("include", "examples/learning", "examples/bindings", "examples/jax", "examples/torch")
           for path in files(".hpp", ".cpp", ".cuh", ".inl", under=under)
           for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if (found := LOCALE_DEPENDENT.search(line))]
if not sources:
    errors.append("no Python was found")
finish("encodings", errors)
