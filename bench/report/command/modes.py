# SPDX-License-Identifier: Apache-2.0
"""What each mode of bench/run runs. Every function returns the exit status."""
import subprocess

from .. import arena, results, sweep, targets
from ..contestants import weak_opponent
from .build import python_with
from .noise import Watch, note
from .options import Refused
from .programs import Programs

IN_TURNS = ["--benchmark_repetitions=3", "--benchmark_report_aggregates_only=false", "--benchmark_enable_random_interleaving=true"]


def run_list(p: Programs) -> int:
    for part in p.paths:
        print("\n".join(p.names(part, p.o.filter)))
    return 0


def run_filter(p: Programs) -> int:
    matched, watch = False, Watch()
    for part in p.paths:
        # With two parts, most filters mean one of them.
        if not p.names(part, p.o.filter):
            continue
        matched = True
        done = subprocess.run(p.command(part) + [f"--benchmark_out={p.results[part]}", "--benchmark_out_format=json",
                                                 f"--benchmark_filter={p.o.filter}", *p.o.flags], check=False)
        if done.returncode != 0:
            return done.returncode
        p.o.notices += [f"NOISE: {said}" for said in note(p.results[part], watch.end())]
        if p.measured(part):
            context, cases = results.load(str(p.results[part]))
            if warning := weak_opponent(context, cases.values()):
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
    fine = time_pieces(p, "host", sweep.expressions(), ["--benchmark_min_time=0.02", *IN_TURNS])
    return max(sweep.judge(str(p.results["host"]), p.o.clock), int(not fine))


def run_targets(p: Programs) -> int:
    fine, files = True, []
    for part in p.paths:
        often = ["--benchmark_min_time=0.05"] + (IN_TURNS if part == "host" else [])
        fine = time_pieces(p, part, targets.expressions_of(part), often, limit=240 if part == "cuda" else None) and fine
        if p.measured(part):
            files.append(str(p.results[part]))
    # torch's cases are not the program's: they take part in the filter, and match nothing.
    if p.measured("cuda"):
        fine = time_in_torch(p) and fine
        if p.torch.exists():
            files.append(str(p.torch))
    judged = targets.judge(files, p.o.clock) if files else 0
    return max(judged, int(not fine))


def time_pieces(p: Programs, part: str, expressions: list[str], flags: list[str], limit: float | None = None) -> bool:
    """The cases of the targets or of the sweep. What breaks a GPU's context, or never ends, ends its process: other operators
    have their own."""
    fine, pieces = True, []
    for i, cases in enumerate(expressions):
        pieces.append(p.scratch / f"{part}-{i}.json")
        fine = p.timed(part, pieces[-1], cases, *flags, limit=limit) and fine
        if p.nothing_measured:
            break
    results.merge(p.results[part], pieces)
    return fine


def time_in_torch(p: Programs) -> bool:
    done = subprocess.run([python_with("torch"), "-m", "report.in_torch.peers", str(p.results["cuda"]), str(p.torch)], check=False)
    return done.returncode == 0


RUN = {"arena": arena.run_arena, "targets": run_targets, "sweep": run_sweep, "filter": run_filter, "list": run_list, "smoke": run_smoke}
