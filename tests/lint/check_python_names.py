#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python uses no undefined global name, and imports no name that a module of the project lacks. An incomplete rename would
otherwise fail only where the code runs, and code for torch or JAX runs only where they are installed."""
import ast
import builtins
import symtable
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from common import finish, python_files, relative_name

DEFINED = {*dir(builtins), "__file__", "__name__", "__doc__"}


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from scopes(child)


@cache
def global_names(source: str) -> set[str]:
    module = symtable.symtable(source, "", "exec")
    names = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()}
    return names | {symbol.get_name() for table in scopes(module) for symbol in table.get_symbols()
                    if symbol.is_declared_global() and symbol.is_assigned()}


def undefined_names(source: str) -> set[str]:
    module = symtable.symtable(source, "", "exec")
    return {symbol.get_name() for table in scopes(module) for symbol in table.get_symbols()
            if symbol.is_referenced() and (symbol.is_global() or table is module)} - DEFINED - global_names(source)


def imported_file(node: ast.ImportFrom, path: Path) -> Path | None:
    """The project's module of `from .. import ..`, if it is one: relative, beside the file, or below a folder above it."""
    parts = (node.module or "").split(".") if node.module else []
    folders = [path.parents[node.level - 1]] if node.level else [folder for folder in path.parents if folder in FOLDERS]
    for folder in folders:
        for candidate in (folder.joinpath(*parts).with_suffix(".py") if parts else folder / "__init__.py", folder.joinpath(*parts) / "__init__.py"):
            if candidate in SOURCES:
                return candidate
    return None


def missing_imports(source: str, path: Path) -> set[str]:
    missing = set()
    for node in ast.walk(ast.parse(source)):
        module = imported_file(node, path) if isinstance(node, ast.ImportFrom) else None
        if module is not None:
            submodules = {file.stem for file in module.parent.glob("*.py")} | {folder.name for folder in module.parent.iterdir() if folder.is_dir()}
            known = global_names(SOURCES[module]) | (submodules if module.name == "__init__.py" else set())
            missing |= {f"{alias.name} of {relative_name(module)}" for alias in node.names if alias.name not in known | {"*"}}
    return missing


SOURCES = {path: path.read_text(encoding="utf-8") for path in python_files()}
FOLDERS = {path.parent for path in SOURCES} | {path.parent.parent for path in SOURCES}
errors = [f"{relative_name(path)}: `{name}` is not defined" for path, source in SOURCES.items()
          for name in sorted(undefined_names(source) | missing_imports(source, path))]
if undefined_names("def f():\n    return g") != {"g"}:
    errors.append("an undefined name is not found")
if not missing_imports("from common import finish, no_such_name", Path(__file__).resolve()):
    errors.append("a missing import is not found")
finish("python names", errors)
