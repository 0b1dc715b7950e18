# SPDX-License-Identifier: Apache-2.0
"""The papers' settings, of models.json, as flags of the training program."""
import difflib
import json
from fnmatch import fnmatch
from pathlib import Path

from .options import Refused

HERE = Path(__file__).resolve().parents[1]


def presets() -> dict[str, dict]:
    return json.loads((HERE / "models.json").read_text())["presets"]


def published(task: str) -> dict[str, list]:
    """By model: percent, and who printed it."""
    return json.loads((HERE / "models.json").read_text())["published"].get(task, {})


def preset(name: str) -> dict:
    all_of_them = presets()
    if name not in all_of_them:
        near = difflib.get_close_matches(name, all_of_them, n=len(all_of_them), cutoff=0)
        raise Refused(f"there is no preset '{name}'; there are {', '.join(near)}")
    return all_of_them[name]


def flags_of(name: str | None, task: str | None, model: str | None, extra: dict[str, str]) -> dict[str, str]:
    """What a run is: a preset, changed by patterns of models that it names, and then by what was set."""
    chosen = preset(name) if name else {"flags": {}}
    flags = {key: str(value) for key, value in chosen["flags"].items()}
    if task:
        flags["task"] = task
    if model:
        flags["model"] = model
    for pattern, changes in chosen.get("by_model", {}).items():
        if any(fnmatch(flags.get("model", ""), one) for one in pattern.split("|")):
            flags.update({key: str(value) for key, value in changes.items()})
    flags.update(extra)
    return flags
