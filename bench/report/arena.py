# SPDX-License-Identifier: Apache-2.0
"""Runs the arena: every operator next to softmax attention, length by length. An interrupted run resumes from its log."""
import hashlib
import os
import sys
from pathlib import Path

from .command.noise import NoiseWatch, record_notices
from .command.programs import Programs
from .compare import compare_rounds
from .entries import REFERENCE
from .in_torch.timer import TorchTimer, python_with_torch
from .progress import Progress
from .results import BadResults
from .rounds import CaseGroup, NothingMeasured, ProgramFailed, make_case_groups, run_group
from .run_log import RunLog, write_results
from .show import report_arena


def is_finished(group: CaseGroup, run_log: RunLog) -> bool:
    return run_log.has_all_cases(group.backend, group.id, set(group.names))


def hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def commands_of(programs: Programs, group: CaseGroup) -> dict[str, list[str]]:
    rounds = ["--arena", str(programs.options.rounds), *(["--round-seconds", programs.options.round_seconds] if programs.options.round_seconds else [])]
    commands = {group.backend: programs.command(group.backend) + rounds}
    if group.backend in programs.baseline:
        commands[f"against-{group.backend}"] = programs.baseline_command(group.backend) + rounds
    return commands


def run_groups(programs: Programs, groups: list[CaseGroup], run_log: RunLog) -> bool:
    """Times the unfinished groups. Returns false if a program failed or a result was wrong."""
    unfinished = [group for group in groups if not is_finished(group, run_log)]
    progress = Progress(sum(group.weight for group in groups), sum(group.weight for group in groups if group not in unfinished))
    if len(unfinished) < len(groups):
        print(f"  resuming: {len(groups) - len(unfinished)} of {len(groups)} groups of cases are finished (--fresh starts over)", file=sys.stderr)
    all_correct, torch, missing_backends, watch = True, None, set(), NoiseWatch()
    try:
        if programs.options.peers:
            torch = TorchTimer(python_with_torch(programs.options.build_folder / "torch-venv"))
        for group in unfinished:
            progress.begin_work(group.weight)
            try:
                if group.backend not in missing_backends:
                    all_correct = run_group(group, commands_of(programs, group), run_log, progress, torch) and all_correct
            except NothingMeasured as reason:
                missing_backends.add(group.backend)
                progress.clear()
                print(reason)
            except ProgramFailed as error:
                all_correct = False
                print(error, file=sys.stderr)
            progress.finish_work()
    finally:
        progress.clear()
        if torch:
            torch.close()
        run_log.add({"part": "noise", "noise": watch.end()})
    return all_correct


def run_arena(programs: Programs) -> int:
    """Times the unfinished groups and reports all results. Returns the exit status."""
    options = programs.options
    groups = [group for backend in programs.paths for group in make_case_groups(backend, programs.case_names(backend, "/(forward_values|training)/"), options.shapes)]
    if not groups:
        raise BadResults("no case takes part in the arena")
    settings = {"programs": {backend: hash_file(path) for backend, path in programs.paths.items()}, "text": hash_file(options.text), **options.shapes.key(),
                "rounds": options.rounds, "round_seconds": options.round_seconds, "commit": programs.commit, "blas": os.environ.get("OPENBLAS_CORETYPE"), "peers": options.peers,
                "against": {backend: hash_file(path) for backend, path in programs.baseline.items()}}
    run_log = RunLog(options.json.with_suffix(".partial.jsonl"), settings, options.fresh)
    try:
        all_correct = run_groups(programs, groups, run_log)
    except KeyboardInterrupt:
        count = sum(is_finished(group, run_log) for group in groups)
        print(f"interrupted: {count} of {len(groups)} groups of cases are finished; the same command resumes", file=sys.stderr)
        return 130
    context = {"command": options.command, "batch": options.batch, "rounds": options.rounds, "reference": REFERENCE.label}
    noise = [notice for line in run_log.lines for notice in line.get("noise", [])]
    files = {**{backend: programs.results[backend] for backend in programs.paths}, "torch": programs.torch_results,
             **{f"against-{backend}": path for backend, path in programs.baseline_results.items()}}
    for source, path in files.items():
        path.unlink(missing_ok=True)
        write_results(path, run_log, source, context)
        record_notices(path, noise)
    options.notices += report_arena([path for path in programs.result_files() if path.exists()], programs.torch_results,
                                    options.json.with_suffix(".html"), options.pictures)
    for backend, path in programs.baseline_results.items():
        if path.exists():
            compare_rounds(path, programs.results[backend])
    if all_correct or all(is_finished(group, run_log) for group in groups):
        run_log.path.unlink()
    return 0 if all_correct else 1
