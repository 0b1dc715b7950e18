# SPDX-License-Identifier: Apache-2.0
"""The papers' settings, of models.json, as flags of the training program."""
import difflib
import json
from fnmatch import fnmatch
from pathlib import Path

from .options import Refused

HERE = Path(__file__).resolve().parents[1]
WITHOUT_EFFECT = {"test-every", "log-every", "save-every", "test-samples", "data-seed"}  # on what is learned, but for its noise


def presets() -> dict[str, dict]:
    return json.loads((HERE / "models.json").read_text(encoding="utf-8"))["presets"]


def published(task: str) -> dict[str, list]:
    """By model: percent, and who printed it."""
    return json.loads((HERE / "models.json").read_text(encoding="utf-8"))["published"].get(task, {})


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


def scaled_by(name: str | None, flags: dict[str, str], free: tuple[str, ...] = ()) -> list[str]:
    """In what a run differs from what its preset's paper did; `free` are flags that the reader sees elsewhere."""
    if name is None:
        return []
    paper = flags_of(name, None, flags.get("model"), {})
    changed = [key for key in sorted({*paper, *flags} - WITHOUT_EFFECT - {*free}) if not same(flags.get(key), paper.get(key))]
    told = [preset(name)["scaled"]] if "scaled" in preset(name) else []
    return told + [f"{key} {flags.get(key, 'as usual')}, not {paper.get(key, 'as usual')}" for key in changed]


def same(a: str | None, b: str | None) -> bool:
    """Numbers may be written in several ways."""
    try:
        return a == b or float(a or "") == float(b or "")
    except ValueError:
        return False
