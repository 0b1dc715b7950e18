# SPDX-License-Identifier: Apache-2.0
"""Modes of bench/run. Every run_* function returns the exit status."""
import subprocess

from .. import arena, results, sweep, targets
from ..entries import weak_baseline_warning
from .build import python_with
from .noise import NoiseWatch, record_notices
from .options import UsageError
from .programs import Programs

INTERLEAVE_FLAGS = ["--benchmark_repetitions=3", "--benchmark_report_aggregates_only=false", "--benchmark_enable_random_interleaving=true"]


def run_list(programs: Programs) -> int:
    for backend in programs.paths:
        print("\n".join(programs.case_names(backend, programs.options.filter)))
    return 0


def run_filter(programs: Programs) -> int:
    has_match, watch = False, NoiseWatch()
    for backend in programs.paths:
        if not programs.case_names(backend, programs.options.filter):
            continue
        has_match = True
        process = subprocess.run(programs.command(backend) + [f"--benchmark_out={programs.results[backend]}", "--benchmark_out_format=json",
                                                              f"--benchmark_filter={programs.options.filter}", *programs.options.flags], check=False)
        if process.returncode != 0:
            return process.returncode
        programs.options.notices += [f"NOISE: {notice}" for notice in record_notices(programs.results[backend], watch.end())]
        if programs.has_results(backend):
            context, cases = results.load(str(programs.results[backend]))
            if warning := weak_baseline_warning(context, cases.values()):
                programs.options.notices.append(warning)
        print(f"done: results in {programs.results[backend]}")
    if not has_match:
        raise UsageError("no case matches the filter")
    return 0


def run_smoke(programs: Programs) -> int:
    for backend in programs.paths:
        if not programs.run_timed(backend, programs.results[backend], "/B:2/N:37/C:24", "--benchmark_min_time=0.0001"):
            return 1
    if programs.has_results("cuda"):
        time_in_torch(programs)
    if any(map(programs.has_results, programs.paths)):
        from .. import smoke
        smoke.check(programs)
        print("done: every subject ran and agrees with the oracle")
    return 0


def run_sweep(programs: Programs) -> int:
    succeeded = time_in_processes(programs, "host", sweep.expressions(), ["--benchmark_min_time=0.02", *INTERLEAVE_FLAGS])
    return max(sweep.judge(str(programs.results["host"]), programs.options.clock), int(not succeeded))


def run_targets(programs: Programs) -> int:
    succeeded, files = True, []
    for backend in programs.paths:
        flags = ["--benchmark_min_time=0.05"] + (INTERLEAVE_FLAGS if backend == "host" else [])
        succeeded = time_in_processes(programs, backend, targets.expressions_of(backend), flags, limit=240 if backend == "cuda" else None) and succeeded
        if programs.has_results(backend):
            files.append(str(programs.results[backend]))
    if programs.has_results("cuda"):
        succeeded = time_in_torch(programs) and succeeded
        if programs.torch_results.exists():
            files.append(str(programs.torch_results))
    status = targets.judge(files, programs.options.clock) if files else 0
    return max(status, int(not succeeded))


def time_in_processes(programs: Programs, backend: str, expressions: list[str], flags: list[str], limit: float | None = None) -> bool:
    """Times the cases of each regular expression in a separate process, because an operator may break a GPU's context or hang. Returns
    false if a process failed."""
    succeeded, files = True, []
    for i, cases in enumerate(expressions):
        files.append(programs.scratch / f"{backend}-{i}.json")
        succeeded = programs.run_timed(backend, files[-1], cases, *flags, limit=limit) and succeeded
        if programs.nothing_measured:
            break
    results.merge_results(programs.results[backend], files)
    return succeeded


def time_in_torch(programs: Programs) -> bool:
    process = subprocess.run([python_with("torch"), "-m", "report.in_torch.timer", str(programs.results["cuda"]), str(programs.torch_results)], check=False)
    return process.returncode == 0


RUNNERS = {"arena": arena.run_arena, "targets": run_targets, "sweep": run_sweep, "filter": run_filter, "list": run_list, "smoke": run_smoke}
