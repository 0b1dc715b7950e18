# SPDX-License-Identifier: Apache-2.0
"""Modes of bench/run. Every function returns the exit status."""
import subprocess

from .. import arena, results, sweep, targets
from ..entries import weak_baseline
from .build import python_with
from .noise import Watch, note
from .options import UsageError
from .programs import Programs

INTERLEAVED = ["--benchmark_repetitions=3", "--benchmark_report_aggregates_only=false", "--benchmark_enable_random_interleaving=true"]


def run_list(programs: Programs) -> int:
    for part in programs.paths:
        print("\n".join(programs.names(part, programs.options.filter)))
    return 0


def run_filter(programs: Programs) -> int:
    matched, watch = False, Watch()
    for part in programs.paths:
        if not programs.names(part, programs.options.filter):
            continue
        matched = True
        done = subprocess.run(programs.command(part) + [f"--benchmark_out={programs.results[part]}", "--benchmark_out_format=json",
                                                 f"--benchmark_filter={programs.options.filter}", *programs.options.flags], check=False)
        if done.returncode != 0:
            return done.returncode
        programs.options.notices += [f"NOISE: {notice}" for notice in note(programs.results[part], watch.end())]
        if programs.measured(part):
            context, cases = results.load(str(programs.results[part]))
            if warning := weak_baseline(context, cases.values()):
                programs.options.notices.append(warning)
        print(f"done: results in {programs.results[part]}")
    if not matched:
        raise UsageError("no case matches the filter")
    return 0


def run_smoke(programs: Programs) -> int:
    for part in programs.paths:
        if not programs.timed(part, programs.results[part], "/B:2/N:37/C:24", "--benchmark_min_time=0.0001"):
            return 1
    if programs.measured("cuda"):
        time_in_torch(programs)
    if any(map(programs.measured, programs.paths)):
        from .. import smoke
        smoke.check(programs)
        print("done: every subject ran and agrees with the oracle")
    return 0


def run_sweep(programs: Programs) -> int:
    succeeded = time_in_processes(programs, "host", sweep.expressions(), ["--benchmark_min_time=0.02", *INTERLEAVED])
    return max(sweep.judge(str(programs.results["host"]), programs.options.clock), int(not succeeded))


def run_targets(programs: Programs) -> int:
    succeeded, files = True, []
    for part in programs.paths:
        flags = ["--benchmark_min_time=0.05"] + (INTERLEAVED if part == "host" else [])
        succeeded = time_in_processes(programs, part, targets.expressions_of(part), flags, limit=240 if part == "cuda" else None) and succeeded
        if programs.measured(part):
            files.append(str(programs.results[part]))
    if programs.measured("cuda"):
        succeeded = time_in_torch(programs) and succeeded
        if programs.torch.exists():
            files.append(str(programs.torch))
    judged = targets.judge(files, programs.options.clock) if files else 0
    return max(judged, int(not succeeded))


def time_in_processes(programs: Programs, part: str, expressions: list[str], flags: list[str], limit: float | None = None) -> bool:
    """Times each expression in a process of its own, because an operator may break a GPU's context or never end."""
    succeeded, files = True, []
    for i, cases in enumerate(expressions):
        files.append(programs.scratch / f"{part}-{i}.json")
        succeeded = programs.timed(part, files[-1], cases, *flags, limit=limit) and succeeded
        if programs.nothing_measured:
            break
    results.merge(programs.results[part], files)
    return succeeded


def time_in_torch(programs: Programs) -> bool:
    done = subprocess.run([python_with("torch"), "-m", "report.in_torch.timer", str(programs.results["cuda"]), str(programs.torch)], check=False)
    return done.returncode == 0


RUN = {"arena": arena.run_arena, "targets": run_targets, "sweep": run_sweep, "filter": run_filter, "list": run_list, "smoke": run_smoke}
