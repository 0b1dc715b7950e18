# SPDX-License-Identifier: Apache-2.0
"""Main program of examples/learning/run: python3 -m command [options]."""
import argparse
import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from report.command.build import output_of as git_output, python_with
from report.results import replace_file

from .build import PROGRAM, Failed, build_program, output_of
from .costs import require_measurable
from .options import COST_TABLES, CURVES, MODEL_FIGURES, ROOT, TRADEOFF, UsageError, parse
from .figures import curve_of, draw
from .papers import listing, paper_table, paper_tables
from .presets import flags_of, preset, presets, scaled_by
from .runs import Runs
from .search import make_search, require_searchable

TABLE_MODELS = ["sort-ascending", "csp", "chord", "softmax", "none"]
FIGURE_MODELS = ["chord", "cdil", "sort-ascending", "softmax", "none"]


def describe_origin() -> str:
    commit = git_output("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD") or "an unknown commit"
    processor = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if line.startswith("model name")),
                     platform.processor()) if Path("/proc/cpuinfo").exists() else platform.processor()
    return f"{time.strftime('%Y-%m-%d')}, {processor}, {os.cpu_count()} processors, commit {commit}"


def require_task_flags(o: argparse.Namespace, task: str, name: str, model: str, **extra: str) -> dict[str, str]:
    flags = flags_of(name, o.task, model, {**extra, **dict(o.set)})
    if flags["task"].removesuffix("-tsv") != task:
        raise UsageError(f"--{'table' if o.table else 'figure'} {o.table or o.figure} is of the task {task}, not of {flags['task']}")
    return flags


def make_table(o: argparse.Namespace, runs: Runs) -> None:
    from . import costs, speed, tables
    if o.table == "speed":
        result = speed.make_table(runs, o.models, o.lengths, o.torch, dict(o.set))
    elif o.table == "costs":
        result = costs.make_table(o, runs, describe_origin())
    else:
        name = o.preset or "nystromformer/listops"
        results = runs.ensure_all([require_task_flags(o, "listops", name, model) for model in o.models or TABLE_MODELS], o.seeds)
        result = tables.listops_table(runs, results, name)
        draw(o.results / "table-listops", f"ListOps, {name}", [curve_of(seeds, scaled_by(name, seeds[0][0].flags)) for seeds in results], o.seeds,
             baseline_lines(runs, results[0][0][0].flags), describe_origin())
    result.notes.append(f"{describe_origin()}; {' '.join(['examples/learning/run', *sys.argv[1:]])}")
    o.results.mkdir(parents=True, exist_ok=True)
    replace_file(o.results / f"table-{o.table}.md", result.markdown())
    replace_file(o.results / f"table-{o.table}.json",
                 json.dumps({"columns": result.columns, "rows": result.rows, "notes": result.notes}, indent=1) + "\n")
    print(result.markdown())


def make_figure(o: argparse.Namespace, runs: Runs) -> None:
    if o.figure in MODEL_FIGURES:
        return make_model_figure(o, runs)
    if o.figure == "tradeoff":
        from . import tradeoff
        return tradeoff.make_figure(o, runs, describe_origin())
    name, models, settings = o.preset or CURVES[o.figure], o.models or FIGURE_MODELS, dict(o.set)
    paths = o.figure == "pathfinder"
    title = {"adding": "The adding problem", "order": "Temporal order", "pathfinder": "Our Pathfinder"}[o.figure]
    sizes = [settings.get("dashes", preset(name)["flags"].get("dashes"))] if paths else o.lengths or [128]
    runs_flags = [require_task_flags(o, o.figure, name, model, **{"dashes" if paths else "length": str(size)}) for size in sizes for model in models]
    found = iter(runs.ensure_all(runs_flags, o.seeds))
    for size in sizes:
        results = [next(found) for _ in models]
        pool = "-cls" * (settings.get("pool") == "cls")
        series = [curve_of(seeds, scaled_by(name, seeds[0][0].flags, ("length",))) for seeds in results]
        draw(o.results / f"{o.figure}-{size}{pool}", f"{title}, {size} {'dashes' if paths else 'rows'}" + ", class token" * bool(pool), series, o.seeds,
             baseline_lines(runs, results[0][0][0].flags), describe_origin())


def make_model_figure(o: argparse.Namespace, runs: Runs) -> None:
    if importlib.util.find_spec("numpy") is None:
        raise UsageError(f"--figure {o.figure} needs numpy (Debian: python3-numpy)")
    from . import model_figures as figures
    path, settings = o.results / o.figure, dict(o.set)
    if o.figure == "samples":
        names = {f"{dashes} dashes": {"dashes": str(dashes), "model": "none", "width": "4", "hidden": "4"} for dashes in (6, 9, 14)}
        figures.draw_samples(runs, [flags_of("small/pathfinder-hard", None, None, flags) for flags in names.values()], list(names), path, describe_origin())
        return
    if o.figure == "shifts":
        figures.draw_shifts(runs.program, path, describe_origin())
        return
    models = ["softmax"] if o.figure == "spectra" else o.models or figures.MODELS
    flags = [require_task_flags(o, "listops", o.preset or figures.PRESET, model, **figures.SETTINGS[o.figure], **settings) for model in models]
    found = [seeds[0][0] for seeds in runs.ensure_all(flags, 1)]
    origin = f"{o.preset or figures.PRESET}, {', '.join(f'{key} {value}' for key, value in figures.SETTINGS[o.figure].items())}\n{describe_origin()}"
    if o.figure == "spectra":
        figures.draw_spectra(runs, found, path, origin)
    else:
        figures.draw_depth(runs, o.figure, found, path, origin)


def baseline_lines(runs: Runs, flags: dict[str, str]) -> dict[str, float]:
    """Returns the accuracies of the baselines, which a figure of the task shows as horizontal lines."""
    task = flags.get("task", "adding")
    if task == "listops":
        from .tables import run_baselines
        return {"majority" if name == "nothing" else f"reads {name}": share for name, share in run_baselines(runs, flags).items()}
    return {"adding": {"a constant 0.5": 0.1536}, "order": {"at random": 0.25}, "pathfinder": {"at random": 0.5}}.get(task, {})


def train_single(o: argparse.Namespace, runs: Runs) -> None:
    """Trains a model, and draws a figure of all models with the same settings."""
    flags = flags_of(o.preset, o.task, o.model, dict(o.set))
    results = runs.ensure_all([flags], o.seeds)[0]
    task = flags.get("task", "adding")
    settings = [o.preset or task, *(f"{name}={value}" for name, value in o.set)]
    others = [flags_of(o.preset, o.task, model, dict(o.set)) for model in runs.models_of(task) if model != flags.get("model", "chord")]
    shown = [results, *(runs.load(other, o.seeds) for other in others)]
    draw(o.results / re.sub(r"[^\w.=]+", "-", "-".join(settings)), textwrap.shorten(", ".join(settings), 60, break_on_hyphens=False, placeholder=" .."),
         [curve_of(seeds, scaled_by(o.preset, seeds[0][0].flags)) for seeds in shown], o.seeds, baseline_lines(runs, flags), describe_origin())
    for run, result in results:
        print(f"seed {run.seed}: " + (f"accuracy {100 * result.accuracy:.2f} % after {result.step} steps" if result.test else "no test yet") + f"; {run.folder}")


def list_all(program: Path) -> None:
    """Lists presets, models, tasks and the papers' tables. Builds nothing: the program lists the models if there is one."""
    for name, preset in presets().items():
        print(f"preset {name:24} {preset['source']}")
    print(output_of(program, "--list") if program.exists() else "models and tasks: listed after the first run, which builds the training program\n", end="")
    print(listing())


def main(argv: list[str]) -> int:
    o = parse(argv)
    if o.program and not o.program.is_file():
        raise UsageError(f"--program: there is no {o.program}")
    if o.table and o.table not in ("listops", *COST_TABLES):
        known = paper_tables()
        if o.table not in known:
            raise UsageError(f"there is no table '{o.table}'; there are listops, {', '.join([*COST_TABLES, *known])}")
        print(paper_table(o.table).markdown(), end="")
        return 0
    if o.list:
        list_all(o.program or PROGRAM)
        return 0
    if o.search or o.figure == "tradeoff":
        require_searchable(o.search or o.preset or TRADEOFF, dict(o.set))
    if o.figure == "tradeoff":
        require_measurable(o.preset or TRADEOFF)
    built = o.program or build_program()
    python = python_with("matplotlib") if not o.torch else sys.executable
    if python != sys.executable:
        os.execv(python, [python, "-m", "command", *argv])
    runs = Runs(built.resolve(), o.results, o.minutes, o.threads, o.data)
    if o.dry_run:
        dry_runs = [runs.run_of(flags_of(o.preset or o.search, o.task, model, dict(o.set)), 1) for model in o.models or [o.model]]
        return max(subprocess.run([*runs.command(run), "--dry-run"], check=False).returncode for run in dry_runs)
    if o.search:
        print(make_search(o, runs, describe_origin()).markdown())
    elif o.table:
        make_table(o, runs)
    elif o.figure:
        make_figure(o, runs)
    else:
        train_single(o, runs)
    from .page import write_page
    print(f"page: {write_page(o.results, describe_origin())}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except UsageError as error:
        print(f"examples/learning/run: {error}", file=sys.stderr)
        sys.exit(2)
    except Failed as error:
        print(f"examples/learning/run: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"examples/learning/run: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command resumes the run", file=sys.stderr)
        sys.exit(130)
