# SPDX-License-Identifier: Apache-2.0
"""The options of examples/learning/run: the one place where they are named, explained and read."""
import argparse
import re
from pathlib import Path

from report.command.options import Parser, Refused, count, counts

ROOT = Path(__file__).resolve().parents[3]
EPILOG = """\
examples:
  run --preset paramixer/adding                       a Paramixer on the adding problem, three minutes
  run --preset nystromformer/listops --model csp      CSP on ListOps, a quarter of an hour
  run --task adding --model sort-ascending --set length=256 --set pool=cls
  run --table listops --models sort-ascending,chord,none --seeds 3
  run --figure adding --lengths 128,512
Interrupted runs (Ctrl-C) go on where they were, with the same bits, when they are asked for again; finished ones are not
repeated. Results lie in learning-results/: a folder for each run, pictures, tables, and index.html.
Exit status: 0 fine, 1 something failed, 2 a mistake in the call, 130 interrupted."""


# Flags of the training program with an option here, which --set would go round.
OPTIONS_OF_FLAGS = {"seed": "--seeds", "model": "--model", "task": "--task", "threads": "--threads", "minutes": "--minutes", "data": "--data",
                    "checkpoint": "--results", "journal": "--results", "dry-run": "--dry-run", "list": "--list", "help": "--help",
                    "readers": "--table listops"}


def names(text: str) -> list[str]:
    found = list(dict.fromkeys(text.split(",")))
    if not all(found):
        raise argparse.ArgumentTypeError(f"'{text}' has an empty name")
    return found


def minutes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of minutes")
    return value


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch("[a-z0-9-]+", name):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    if name in OPTIONS_OF_FLAGS:
        raise argparse.ArgumentTypeError(f"{name} has an option of its own: {OPTIONS_OF_FLAGS[name]}")
    return name, value


def parser() -> Parser:
    p = Parser(prog="examples/learning/run", description="Trains models on tasks, and makes tables and figures of the runs.", epilog=EPILOG,
               formatter_class=argparse.RawDescriptionHelpFormatter)
    what = p.add_argument_group("what to train")
    what.add_argument("--preset", help="a paper's settings, such as nystromformer/listops (--list has all)")
    what.add_argument("--task", help="the task, where no preset names one")
    what.add_argument("--model", help="the model, by its mixer (--list has all)")
    what.add_argument("--set", type=setting, action="append", default=[], metavar="NAME=VALUE",
                      help="another flag of the training program, such as width=128 (its --help has them); again for more")
    what.add_argument("--data", type=Path, metavar="FOLDER", help="where the files of a published task lie")
    tables = p.add_argument_group("tables and figures")
    tables.add_argument("--table", choices=("listops", "speed"), help="listops: accuracies of models, of trivial readers, and published ones; "
                        "speed: training steps of whole models, and their memory")
    tables.add_argument("--figure", choices=("adding", "order"), help="accuracy after steps, of Paramixer, others and the control without mixing")
    tables.add_argument("--models", type=names, help="those of the table or figure, with commas between")
    tables.add_argument("--lengths", type=counts, help="of a figure or of the table of speed, with commas between")
    tables.add_argument("--torch", action="store_true", help="the table of speed: the same models in PyTorch beside ours, where it is installed")
    how = p.add_argument_group("how")
    how.add_argument("--seeds", type=count, default=1, help="runs of each model, with seeds 1, 2, .. (default 1)")
    how.add_argument("--minutes", type=minutes, help="end each run after so many minutes of training; tables and pictures say after how many steps")
    how.add_argument("--threads", type=count, help="default: all processors; no number of them changes a result")
    how.add_argument("--results", type=Path, default=ROOT / "learning-results", help="the folder of all results (default learning-results)")
    how.add_argument("--dry-run", action="store_true", help="say how many parameters and how much memory, and train nothing")
    how.add_argument("--list", action="store_true", help="all presets, tasks and models")
    how.add_argument("--program", type=Path, help="a built training program, instead of building one")
    return p


def parse(argv: list[str]) -> argparse.Namespace:
    o = parser().parse_args(argv)
    shown, settings = o.table or o.figure, dict(o.set)
    for wrong, says in (
            (not (shown or o.preset or o.task or o.list), "say what to train: --preset or --task, --table or --figure (see --help)"),
            (o.table and o.figure, "--table and --figure do not go together"),
            ((o.models or o.lengths or o.torch) and not shown, "--models, --lengths and --torch are for --table and --figure"),
            (o.model and shown, "--model is for one run; tables and figures take --models"),
            (o.lengths and o.table == "listops", "--lengths is for --figure and --table speed; for this one it is --set length=N"),
            ("length" in settings and (o.figure or o.table == "speed"), "--set length is for runs and --table listops; here it is --lengths"),
            (o.torch and o.table != "speed", "--torch is for --table speed")):
        if wrong:
            raise Refused(says)
    return o
