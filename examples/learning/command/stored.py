# SPDX-License-Identifier: Apache-2.0
"""Files of measured values: a JSON list with an entry for each preset, model and settings."""
import json
from pathlib import Path

from report.results import replace_file


def read_entries(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def is_same(a: dict, b: dict) -> bool:
    """True if both entries are of the same runs."""
    return all(a[key] == b[key] for key in ("preset", "model", "settings"))


def write_entry(path: Path, entry: dict) -> list[dict]:
    """Replaces the entry of the same runs, or adds one. Returns all entries."""
    entries = [other for other in read_entries(path) if not is_same(other, entry)] + [entry]
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, "[\n" + ",\n".join(map(json.dumps, entries)) + "\n]\n")
    return entries


def title_of(entry: dict) -> str:
    """Returns the model and its settings."""
    return " ".join([entry["model"], *(f"{key}={value}" for key, value in entry["settings"].items())])
