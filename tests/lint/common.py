# SPDX-License-Identifier: Apache-2.0
"""Shared by all checks of the sources: the list of files, and the report."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"


def tracked_files() -> list[str]:
    try:
        git = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, encoding="utf-8")
    except FileNotFoundError:
        return []
    return [path for path in git.stdout.split("\0") if path] if git.returncode == 0 else []


def files(*suffixes: str, under: str = "") -> list[Path]:
    """Returns the files of the project that have one of the suffixes, or all files; never build output."""
    found = [ROOT / path for path in tracked_files()]
    if not found:  # an unpacked archive, or no git
        for folder, folders, file_names in os.walk(ROOT):
            folders[:] = [f for f in folders if not f.startswith(("build", ".git", ".deps", "bench-results", "__py"))]
            found += [Path(folder) / file_name for file_name in file_names]
    base = ROOT / under
    return sorted(f for f in found if f.is_file() and f.is_relative_to(base)
                  and (not suffixes or f.suffix in suffixes))


def python_files() -> list[Path]:
    return [path for path in files() if path.suffix == ".py" or path.read_bytes()[:40].startswith(b"#!/usr/bin/env python3")]


def headers(*suffixes: str) -> list[Path]:
    return files(*(suffixes or (".hpp", ".cuh", ".inl")), under="include")


def operators() -> list[str]:
    """Returns the operators: the folders of detail/ with a params.hpp."""
    return sorted(path.parent.name for path in headers(".hpp") if path.name == "params.hpp")


def relative_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def finish(check: str, errors: list[str]) -> None:
    """Prints the errors and exits, with status 1 if there are any."""
    for line in errors:
        print(line)
    print(f"{check}: {len(errors)} errors" if errors else f"{check}: fine")
    sys.exit(1 if errors else 0)
