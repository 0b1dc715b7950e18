# SPDX-License-Identifier: Apache-2.0
"""Runs the arena: every operator beside softmax attention, length by length. What is finished is kept, so that an
interrupted run goes on where it was."""
import hashlib
import os
import sys
from pathlib import Path

from .command.noise import Watch, note
from .command.programs import Programs
from .compare import compare_rounds
from .contestants import REFERENCE
from .in_torch.peers import Peers, python_with_torch
from .journal import Journal, write_results
from .progress import Progress
from .results import BadResults
from .rounds import Broken, Group, NothingMeasured, groups_of, run_group
from .show import report_arena


def finished(group: Group, journal: Journal) -> bool:
    return journal.finished(group.id, set(group.names))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def commands_of(p: Programs, group: Group) -> dict[str, list[str]]:
    rounds = ["--arena", str(p.o.rounds), *(["--round-seconds", p.o.round_seconds] if p.o.round_seconds else [])]
    commands = {group.part: p.command(group.part) + rounds}
    if group.part in p.others:
        commands[f"against-{group.part}"] = p.command_of_other(group.part) + rounds
    return commands


def run_groups(p: Programs, groups: list[Group], journal: Journal) -> bool:
    """False if something was wrong. What is finished when this is interrupted stays."""
    todo = [group for group in groups if not finished(group, journal)]
    progress = Progress(sum(group.weight for group in groups), sum(group.weight for group in groups if group not in todo))
    if len(todo) < len(groups):
        print(f"  going on: {len(groups) - len(todo)} of {len(groups)} groups of cases are finished (--fresh starts anew)", file=sys.stderr)
    right, peers, missing, watch = True, None, set(), Watch()
    try:
        if p.o.peers:
            peers = Peers(python_with_torch(p.o.build_folder / "peers-venv"))
        for group in todo:
            progress.begin(group.weight)
            try:
                if group.part not in missing:
                    right = run_group(group, commands_of(p, group), journal, progress, peers) and right
            except NothingMeasured as why:
                missing.add(group.part)
                progress.clear()
                print(why)
            except Broken as why:
                right = False
                print(why, file=sys.stderr)
            progress.done()
    finally:
        progress.clear()
        if peers:
            peers.close()
        journal.add({"part": "noise", "noise": watch.end()})
    return right


def run_arena(p: Programs) -> int:
    """Times what is not finished, and reports. Returns the exit status."""
    o = p.o
    groups = [group for part in p.paths for group in groups_of(part, p.names(part, "/(forward_values|training)/"), o.shapes)]
    if not groups:
        raise BadResults("no case takes part in the arena")
    key = {"programs": {part: digest(path) for part, path in p.paths.items()}, "text": digest(o.text), **o.shapes.key(), "rounds": o.rounds, "round_seconds": o.round_seconds,
           "commit": p.commit, "blas": os.environ.get("OPENBLAS_CORETYPE"), "peers": o.peers, "against": {part: digest(path) for part, path in p.others.items()}}
    journal = Journal(o.json.with_suffix(".partial.jsonl"), key, o.fresh)
    try:
        right = run_groups(p, groups, journal)
    except KeyboardInterrupt:
        kept = sum(finished(group, journal) for group in groups)
        print(f"interrupted: {kept} of {len(groups)} groups of cases are kept; the same command goes on from there", file=sys.stderr)
        return 130
    more = {"command": o.command, "batch": o.batch, "rounds": o.rounds, "reference": REFERENCE.label}
    noise = [said for line in journal.lines for said in line.get("noise", [])]
    files = {**{part: p.results[part] for part in p.paths}, "torch": p.torch, **{f"against-{part}": path for part, path in p.results_of_others.items()}}
    for part, path in files.items():
        path.unlink(missing_ok=True)
        write_results(path, journal, part, more)
        note(path, noise)
    o.notices += report_arena([path for path in p.measured_here() if path.exists()], p.torch, o.json.with_suffix(".html"), o.pictures)
    for part, path in p.results_of_others.items():
        if path.exists():
            compare_rounds(path, p.results[part])
    if right or all(finished(group, journal) for group in groups):
        journal.path.unlink()
    return 0 if right else 1
