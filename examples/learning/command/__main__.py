# SPDX-License-Identifier: Apache-2.0
"""examples/learning/run itself: python3 -m command [options]."""
import argparse
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

from report.command.build import Failed as NotInstalled
from report.command.build import output_of as said, python_with

from .build import Failed, output_of, program
from .options import ROOT, Refused, parse
from .presets import flags_of, preset, presets
from .runs import Result, Run, Runs

OF_TABLE = ["sort-ascending", "csp", "chord", "softmax", "none"]
OF_FIGURE = ["chord", "cdil", "sort-ascending", "softmax", "none"]


def origin() -> str:
    commit = said("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD") or "an unknown commit"
    processor = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")),
                     platform.processor()) if Path("/proc/cpuinfo").exists() else platform.processor()
    return f"{time.strftime('%Y-%m-%d')}, {processor}, {os.cpu_count()} processors, commit {commit}"


def trained(runs: Runs, flags: dict[str, str], seeds: int) -> list[tuple[Run, Result]]:
    found = [runs.ensure(flags, seed) for seed in range(1, seeds + 1)]
    return [(run, run.result()) for run in found]


def with_preset(o: argparse.Namespace, otherwise: str, model: str, extra: dict[str, str]) -> dict[str, str]:
    return flags_of(o.preset or otherwise, o.task, model, {**extra, **dict(o.set)})


def table(o: argparse.Namespace, runs: Runs) -> None:
    from . import speed, tables
    models = o.models.split(",") if o.models else None
    if o.table == "speed":
        made = speed.table(runs, models, o.lengths, o.torch, dict(o.set))
    else:
        name = o.preset or "nystromformer/listops"
        made = tables.listops(runs, [trained(runs, with_preset(o, name, model, {}), o.seeds) for model in models or OF_TABLE], f"{name} ({preset(name)['source']})")
    made.says.append(f"{origin()}; {' '.join(['examples/learning/run', *sys.argv[1:]])}")
    o.results.mkdir(parents=True, exist_ok=True)
    (o.results / f"table-{o.table}.md").write_text(made.markdown())
    (o.results / f"table-{o.table}.json").write_text(json.dumps({"columns": made.columns, "rows": made.rows, "says": made.says}, indent=1) + "\n")
    print(made.markdown())


def draw(o: argparse.Namespace, name: str, title: str, of: list[tuple[str, list[tuple[Run, Result]]]], lines: dict[str, float]) -> None:
    """Curves of means over seeds; without matplotlib, a sentence."""
    if importlib.util.find_spec("matplotlib") is None:
        print("no pictures: there is no matplotlib (Debian: python3-matplotlib)", file=sys.stderr)
        return
    from .pictures import curves
    series = []
    for label, one in of:
        steps = sorted(set.intersection(*(set(test["step"] for test in result.test) for _, result in one)))
        by_step = [{test["step"]: test["accuracy"] for test in result.test} for _, result in one]
        if steps:
            series.append((label, [(step, sum(found[step] for found in by_step) / len(by_step)) for step in steps]))
    if not series:
        return
    seeds = len(of[0][1])
    scaled = f"; runs end after {o.minutes:g} minutes of training" if o.minutes else ""
    curves(series, lines, title, f"last tests of {seeds} seed{'s' * (seeds > 1)}{scaled}; dashed: the control without mixing", origin(), o.results / name)


def figure(o: argparse.Namespace, runs: Runs) -> None:
    models = o.models.split(",") if o.models else OF_FIGURE
    lines = {"a constant 0.5": 0.1536} if o.figure == "adding" else {"at random": 0.25}
    for length in o.lengths or [128]:
        of = [(model, trained(runs, with_preset(o, f"paramixer/{o.figure}", model, {"length": str(length)}), o.seeds)) for model in models]
        what = {"adding": "The adding problem", "order": "Temporal order"}[o.figure]
        pool = "-cls" * (dict(o.set).get("pool") == "cls")
        draw(o, f"{o.figure}-{length}{pool}", f"{what}, {length} rows" + ", class token" * bool(pool), of, lines)


def single(o: argparse.Namespace, runs: Runs) -> None:
    flags = flags_of(o.preset, o.task, o.model, dict(o.set))
    of = trained(runs, flags, o.seeds)
    label = flags.get("model", "chord")
    draw(o, f"{flags.get('task', 'adding')}-{label}", f"{label} on {flags.get('task', 'adding')}", [(label, of)], {})
    for run, result in of:
        print(f"seed {run.seed}: accuracy {100 * result.accuracy:.2f} % after {result.step} steps; {run.folder}")


def list_all(built: Path) -> None:
    for name, one in presets().items():
        print(f"preset {name:24} {one['source']}")
    print(output_of(built, "--list"), end="")


def main(argv: list[str]) -> int:
    o = parse(argv)
    built = o.program or program()
    python = python_with("matplotlib") if not o.torch else sys.executable
    if python != sys.executable:
        os.execv(python, [python, "-m", "command", *argv])
    if o.list:
        list_all(built)
        return 0
    runs = Runs(built.resolve(), o.results, o.minutes, o.threads, o.data)
    if o.dry_run:
        for model in o.models.split(",") if o.models else [o.model]:
            run = runs.run_of(flags_of(o.preset, o.task, model, dict(o.set)), 1)
            subprocess.run(runs.command(run) + ["--dry-run"], check=False)
        return 0
    if o.table:
        table(o, runs)
    elif o.figure:
        figure(o, runs)
    else:
        single(o, runs)
    from .page import write
    print(f"page: {write(o.results, origin())}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except Refused as error:
        print(f"examples/learning/run: {error}", file=sys.stderr)
        sys.exit(2)
    except (Failed, NotInstalled) as error:
        print(f"examples/learning/run: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\ninterrupted; the same call goes on from here", file=sys.stderr)
        sys.exit(130)
