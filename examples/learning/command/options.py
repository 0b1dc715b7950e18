# SPDX-License-Identifier: Apache-2.0
"""The options of examples/learning/run: names, help and parsing."""
import argparse
import re
from pathlib import Path

from report.command.options import Parser, UsageError, count, counts

ROOT = Path(__file__).resolve().parents[3]
EPILOG = """\
examples:
  run --preset paramixer/adding                       a Paramixer on the adding problem, three minutes
  run --preset nystromformer/listops --model csp      CSP on ListOps, a quarter of an hour
  run --task adding --model sort-ascending --set length=256 --set pool=cls
  run --table listops --models sort-ascending,chord,none --seeds 3
  run --figure adding --lengths 128,512
  run --search small/listops-100 --models csp,none    each model at the rate that is best on held-out samples
The same command resumes an interrupted run (Ctrl-C), with the same bits, and does not repeat a finished one. Results are in
learning-results/: a folder per run, pictures, tables, and index.html.
Exit status: 0 success, 1 failure, 2 wrong options, 130 interrupted."""

CURVES = {"adding": "paramixer/adding", "order": "paramixer/order", "pathfinder": "small/pathfinder-hard"}  # presets of figures of accuracy
MODEL_FIGURES = ("rank-collapse", "permutation", "spectra", "shifts", "samples")
COST_TABLES = ("speed", "costs")  # tables by length
TRADEOFF = "small/listops-100"  # preset of --figure tradeoff

# Flags of the training program that have their own option here; --set rejects them.
OPTIONS_OF_FLAGS = {"seed": "--seeds", "model": "--model", "task": "--task", "threads": "--threads", "minutes": "--minutes", "data": "--data",
                    "checkpoint": "--results", "run-log": "--results", "journal": "--results", "probe": "--figure", "shifts": "--figure shifts", "dry-run": "--dry-run", "list": "--list",
                    "help": "--help", "baselines": "--table listops", "readers": "--table listops"}


def parse_names(text: str) -> list[str]:
    found = list(dict.fromkeys(text.split(",")))
    if not all(found):
        raise argparse.ArgumentTypeError(f"'{text}' has an empty name")
    return found


def parse_minutes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of minutes")
    return value


def parse_setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch("[a-z0-9-]+", name):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    if name in OPTIONS_OF_FLAGS:
        raise argparse.ArgumentTypeError(f"{name} has an option of its own: {OPTIONS_OF_FLAGS[name]}")
    return name, value


def parser() -> Parser:
    p = Parser(prog="examples/learning/run", description="Trains models on tasks, and makes tables and figures of the runs.", epilog=EPILOG,
               formatter_class=argparse.RawDescriptionHelpFormatter)
    training = p.add_argument_group("training")
    training.add_argument("--preset", help="a paper's settings, such as nystromformer/listops (see --list)")
    training.add_argument("--task", help="the task; overrides that of the preset")
    training.add_argument("--model", help="the model's mixer (see --list)")
    training.add_argument("--set", type=parse_setting, action="append", default=[], metavar="NAME=VALUE",
                          help="a flag of the training program, such as width=128 (see its --help); repeatable")
    training.add_argument("--data", type=Path, metavar="FOLDER", help="folder of a published task's files")
    tables = p.add_argument_group("tables and figures")
    tables.add_argument("--table", help="a paper's table, such as csp/4 (see --list): the state of each cell, and its command; "
                        "listops: accuracies of models, of baseline classifiers, and published ones; "
                        "speed: training steps of whole models, and their memory; costs: processor time and memory in training and inference, one thread")
    tables.add_argument("--figure", choices=("tradeoff", *CURVES, *MODEL_FIGURES), help="tradeoff: accuracy, speed and memory of the models of --search; adding, order, pathfinder: accuracy after steps, of several models and the control "
                        "without mixing; rank-collapse, permutation, spectra: rows and maps of trained models by depth; shifts: of CSP; samples: images of Pathfinder")
    tables.add_argument("--search", metavar="PRESET", help="accuracies of models, each at the rate that is best on held-out training samples; "
                        "presets small/listops-100, small/listops-1999 and small/digits")
    tables.add_argument("--models", type=parse_names, help="models of the table, figure or search, separated by commas")
    tables.add_argument("--lengths", type=counts, help="lengths of a figure or of the table of speed, separated by commas")
    tables.add_argument("--torch", action="store_true", help="table of speed: compare with the same models in PyTorch, if it is installed")
    execution = p.add_argument_group("execution")
    execution.add_argument("--seeds", type=count, default=1, help="runs of each model, with seeds 1, 2, .. (default 1)")
    execution.add_argument("--minutes", type=parse_minutes, help="limit of training per run; tables and pictures show the steps")
    execution.add_argument("--threads", type=count, help="number of threads (default: all processors); does not change results")
    execution.add_argument("--results", type=Path, default=ROOT / "learning-results", help="the folder of all results (default learning-results)")
    execution.add_argument("--dry-run", action="store_true", help="print the number of parameters and the memory, and train nothing")
    execution.add_argument("--list", action="store_true", help="list all presets, tasks and models, and the papers' tables with the states of their cells")
    execution.add_argument("--program", type=Path, help="use this training program instead of building one")
    return p


def parse(argv: list[str]) -> argparse.Namespace:
    o = parser().parse_args(argv)
    shown, settings = o.table or o.figure or o.search, dict(o.set)
    for is_wrong, message in (
            (not (shown or o.preset or o.task or o.list), "say what to train: --preset or --task, --table, --figure or --search (see --help)"),
            (sum(map(bool, (o.table, o.figure, o.search))) > 1, "--table, --figure and --search do not go together"),
            (o.search and (o.preset or o.task or o.minutes), "--search has a preset and all its steps, not --preset, --task or --minutes"),
            ((o.models or o.lengths or o.torch) and not shown, "--models, --lengths and --torch are for --table and --figure"),
            (o.model and shown, "--model is for one run; tables and figures take --models"),
            (o.lengths and o.figure not in (None, "adding", "order"), f"--lengths is not for --figure {o.figure}"),
            (o.lengths and (o.search or o.table == "listops"), "--lengths is for --figure and --table speed; for this one it is --set length=N"),
            ("length" in settings and (o.figure or o.table in COST_TABLES), "--set length is for runs and --table listops; here it is --lengths"),
            (o.torch and o.table != "speed", "--torch is for --table speed")):
        if is_wrong:
            raise UsageError(message)
    return o
