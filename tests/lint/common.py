# SPDX-License-Identifier: Apache-2.0
"""Shared by all checks of the sources: the list of files, and the report."""
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"


def tracked() -> list[str]:
    try:
        git = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, encoding="utf-8")
    except FileNotFoundError:
        return []
    return [name for name in git.stdout.split("\0") if name] if git.returncode == 0 else []


def files(*suffixes: str, under: str = "") -> list[Path]:
    """Files of the project, without build output, that have one of the suffixes; all files if there is none."""
    found = [ROOT / name for name in tracked()]
    if not found:  # an unpacked archive, or no git
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if not f.startswith(("build", ".git", ".deps", "bench-results", "__py"))]
            found += [Path(folder) / name for name in names]
    base = ROOT / under
    return sorted(f for f in found if f.is_file() and f.is_relative_to(base)
                  and (not suffixes or f.suffix in suffixes))


def headers(*suffixes: str) -> list[Path]:
    return files(*(suffixes or (".hpp", ".cuh", ".inl")), under="include")


def operators() -> list[str]:
    """Operators: the folders of detail/ with a params.hpp."""
    return sorted(path.parent.name for path in headers(".hpp") if path.name == "params.hpp")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def finish(check: str, complaints: list[str]) -> None:
    """Prints the complaints and ends the program."""
    for line in complaints:
        print(line)
    print(f"{check}: {len(complaints)} complaints" if complaints else f"{check}: fine")
    sys.exit(1 if complaints else 0)
