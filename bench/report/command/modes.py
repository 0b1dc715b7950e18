# SPDX-License-Identifier: Apache-2.0
"""Modes of bench/run. Every function returns the exit status."""
import subprocess

from .. import arena, results, sweep, targets
from ..entries import weak_baseline
from .build import python_with
from .noise import Watch, note
from .options import Refused
from .programs import Programs

INTERLEAVED = ["--benchmark_repetitions=3", "--benchmark_report_aggregates_only=false", "--benchmark_enable_random_interleaving=true"]


def run_list(p: Programs) -> int:
    for part in p.paths:
        print("\n".join(p.names(part, p.o.filter)))
    return 0


def run_filter(p: Programs) -> int:
    matched, watch = False, Watch()
    for part in p.paths:
        if not p.names(part, p.o.filter):
            continue
        matched = True
        done = subprocess.run(p.command(part) + [f"--benchmark_out={p.results[part]}", "--benchmark_out_format=json",
                                                 f"--benchmark_filter={p.o.filter}", *p.o.flags], check=False)
        if done.returncode != 0:
            return done.returncode
        p.o.notices += [f"NOISE: {notice}" for notice in note(p.results[part], watch.end())]
        if p.measured(part):
            context, cases = results.load(str(p.results[part]))
            if warning := weak_baseline(context, cases.values()):
                p.o.notices.append(warning)
        print(f"done: results in {p.results[part]}")
    if not matched:
        raise Refused("no case matches the filter")
    return 0


def run_smoke(p: Programs) -> int:
    for part in p.paths:
        if not p.timed(part, p.results[part], "/B:2/N:37/C:24", "--benchmark_min_time=0.0001"):
            return 1
    if p.measured("cuda"):
        time_in_torch(p)
    if any(map(p.measured, p.paths)):
        from .. import smoke
        smoke.check(p)
        print("done: every subject ran and agrees with the oracle")
    return 0


def run_sweep(p: Programs) -> int:
    succeeded = time_in_processes(p, "host", sweep.expressions(), ["--benchmark_min_time=0.02", *INTERLEAVED])
    return max(sweep.judge(str(p.results["host"]), p.o.clock), int(not succeeded))


def run_targets(p: Programs) -> int:
    succeeded, files = True, []
    for part in p.paths:
        flags = ["--benchmark_min_time=0.05"] + (INTERLEAVED if part == "host" else [])
        succeeded = time_in_processes(p, part, targets.expressions_of(part), flags, limit=240 if part == "cuda" else None) and succeeded
        if p.measured(part):
            files.append(str(p.results[part]))
    if p.measured("cuda"):
        succeeded = time_in_torch(p) and succeeded
        if p.torch.exists():
            files.append(str(p.torch))
    judged = targets.judge(files, p.o.clock) if files else 0
    return max(judged, int(not succeeded))


def time_in_processes(p: Programs, part: str, expressions: list[str], flags: list[str], limit: float | None = None) -> bool:
    """Times each expression in a process of its own, because an operator may break a GPU's context or never end."""
    succeeded, files = True, []
    for i, cases in enumerate(expressions):
        files.append(p.scratch / f"{part}-{i}.json")
        succeeded = p.timed(part, files[-1], cases, *flags, limit=limit) and succeeded
        if p.nothing_measured:
            break
    results.merge(p.results[part], files)
    return succeeded


def time_in_torch(p: Programs) -> bool:
    done = subprocess.run([python_with("torch"), "-m", "report.in_torch.timer", str(p.results["cuda"]), str(p.torch)], check=False)
    return done.returncode == 0


RUN = {"arena": arena.run_arena, "targets": run_targets, "sweep": run_sweep, "filter": run_filter, "list": run_list, "smoke": run_smoke}
