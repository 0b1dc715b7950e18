#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python uses no undefined global name. An incomplete rename would otherwise fail only where the code runs, and code for torch or
JAX runs only where they are installed."""
import builtins
import symtable
from collections.abc import Iterator

from common import files, finish, relative_name

DEFINED = {*dir(builtins), "__file__", "__name__", "__doc__"}


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from scopes(child)


def undefined(source: str, path: str) -> list[str]:
    module = symtable.symtable(source, path, "exec")
    tables = list(scopes(module))
    defined = DEFINED | {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()}
    defined |= {symbol.get_name() for table in tables for symbol in table.get_symbols() if symbol.is_declared_global() and symbol.is_assigned()}
    return sorted({f"{path}: `{symbol.get_name()}` is not defined ({table.get_name()}, from line {table.get_lineno()})" for table in tables
                   for symbol in table.get_symbols()
                   if symbol.is_referenced() and (symbol.is_global() or table is module) and symbol.get_name() not in defined})


sources = [path for path in files() if path.suffix == ".py" or path.read_bytes()[:40].startswith(b"#!/usr/bin/env python3")]
complaints = [line for path in sources for line in undefined(path.read_text(encoding="utf-8"), relative_name(path))]
if not undefined("def f():\n    return g", "a test"):
    complaints.append("an undefined name is not found")
finish("python names", complaints)
