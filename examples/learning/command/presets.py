# SPDX-License-Identifier: Apache-2.0
"""The papers' settings in models.json, as flags of the training program."""
import difflib
import json
from fnmatch import fnmatch
from pathlib import Path

from .options import UsageError

HERE = Path(__file__).resolve().parents[1]
WITHOUT_EFFECT = {"test-every", "log-every", "save-every", "test-samples", "data-seed", "micro-batch"}  # flags that do not change a paper's setup


def presets() -> dict[str, dict]:
    return json.loads((HERE / "models.json").read_text(encoding="utf-8"))["presets"]


def published(task: str) -> dict[str, list]:
    """Returns the published accuracy in percent and its source, by model."""
    return json.loads((HERE / "models.json").read_text(encoding="utf-8"))["published"].get(task, {})


def preset(name: str) -> dict:
    known = presets()
    if name not in known:
        names = difflib.get_close_matches(name, known, n=len(known), cutoff=0)
        raise UsageError(f"there is no preset '{name}'; there are {', '.join(names)}")
    return known[name]


def flags_of(name: str | None, task: str | None, model: str | None, extra: dict[str, str]) -> dict[str, str]:
    """Returns the flags of a run: the preset's flags, its changes for the model, and `extra`. Later ones override earlier ones."""
    chosen = preset(name) if name else {"flags": {}}
    flags = {key: str(value) for key, value in chosen["flags"].items()}
    if task:
        flags["task"] = task
    if model:
        flags["model"] = model
    for pattern, changes in chosen.get("by_model", {}).items():
        if any(fnmatch(flags.get("model", ""), alternative) for alternative in pattern.split("|")):
            flags.update({key: str(value) for key, value in changes.items()})
    flags.update(extra)
    return flags


def scaled_by(name: str | None, flags: dict[str, str], free: tuple[str, ...] = ()) -> list[str]:
    """Describes how a run differs from the paper of its preset, beginning with the preset's own remark. Ignores the flags
    in `free`."""
    if name is None:
        return []
    paper = flags_of(name, None, flags.get("model"), {})
    changed = [key for key in sorted({*paper, *flags} - WITHOUT_EFFECT - {*free}) if not is_same_value(flags.get(key), paper.get(key))]
    known = [preset(name)["scaled"]] if "scaled" in preset(name) else []
    return known + [f"{key} {flags.get(key, 'as usual')}, not {paper.get(key, 'as usual')}" for key in changed]


def is_same_value(a: str | None, b: str | None) -> bool:
    """True if the texts are equal, or are equal numbers."""
    try:
        return a == b or float(a or "") == float(b or "")
    except ValueError:
        return False
