# SPDX-License-Identifier: Apache-2.0
"""Options of bench/run: names, help and parsing."""
import argparse
import os
import re
from pathlib import Path
from typing import NoReturn

from .shapes import BATCH, DTYPES, INPUTS, ROOT, ROUNDS, TEXT, Shapes

EPILOG = """\
Cases are named subject/host/direction/dtype/policy/input/B:b/N:n/C:c/T:threads, or subject/cuda/... without /T.
Policies are shift-alignment-G:rows (csp), topology-residual-M:factors (sparse_mix), algorithm-mask-H:heads (softmax_attention),
function-mask-H:heads (pointwise_attention), P:parts-H:heads (merge_attention), feature-direction-H:heads (linear_attention).
Directions: forward saves state for backward, forward_values does not, training is forward and backward.
Flags --benchmark_... are passed to Google Benchmark.
Names of result files contain all settings that are not the default: bench-results/arena-all.json, arena-N1024.json.
Results of the GPU go to <name>-cuda.json, those of torch to <name>-torch.json.
CUDAARCHS selects the architectures of the GPU part (default: the GPU's, else 90).
Exit status: 0 success; 1 failure (a wrong result, a missed target, a cliff); 2 an error in the call; 130 interrupted."""


class UsageError(Exception):
    """An error in the command line: one sentence, exit status 2."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = re.sub("^argument (.*): expected one argument$", r"\1 needs a value", message)
        raise UsageError(f"{message.removeprefix('argument ')} (see --help)")


def require(condition: bool, message: str) -> None:
    if not condition:
        raise argparse.ArgumentTypeError(message)


def count(text: str) -> int:
    require(re.fullmatch("[1-9][0-9]{0,5}", text), f"'{text}' is not a positive number")
    return int(text)


def counts(text: str) -> list[int]:
    require(re.fullmatch("[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", text), f"'{text}' is not a list such as 1024,4096")
    return [int(part) for part in text.split(",")]


def parse_dtypes(text: str) -> list[str]:
    for name in text.split(","):
        require(name in DTYPES, f"'{name}' is not an element type; those are {', '.join(DTYPES)}")
    return list(dict.fromkeys(text.split(",")))


def parse_results_path(text: str) -> Path:
    require(Path(text).is_file(), f"there are no results {text}")
    return Path(text)


def parse_source_path(text: str) -> Path:
    require(Path(text).is_file(), f"there is no file {text}")
    return Path(text).resolve()


def parse_program_path(text: str) -> Path:
    require(os.access(text, os.X_OK) and not Path(text).is_dir(), f"cannot run {text}")
    return Path(text).resolve()


def parse_text_path(text: str) -> Path:
    try:
        with open(text, "rb") as file:
            require(file.read(1), f"the text {text} is empty")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot read the text {text}") from error
    return Path(text)


def make_parser() -> argparse.ArgumentParser:
    options = Parser(prog="bench/run", usage="bench/run [mode] [options] [--benchmark_... flags of Google Benchmark]",
                     epilog=EPILOG, add_help=False, allow_abbrev=False,
                     formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=23, width=118))
    _add_modes(options.add_argument_group("modes").add_mutually_exclusive_group())
    _add_options(options.add_argument_group("options"))
    return options


def _add_modes(modes) -> None:
    for name, text in (("arena", "(default) compares operators with softmax attention, on text: table, pictures, a page (about six minutes after the build, with "
                                 "--all several times as long; resumes after an interruption); see docs/arena"),
                       ("targets", "checks the performance targets (about ten minutes)"),
                       ("sweep", "checks every operator of the host for cliffs at N = 4096, against 4032 and 4160 (about ten minutes)")):
        modes.add_argument(f"--{name}", dest="mode", action="store_const", const=name, help=text)
    modes.add_argument("--filter", metavar="REGEX", help="runs the cases whose names match in Google Benchmark; see docs/arena for examples")
    modes.add_argument("--list", metavar="REGEX", nargs="?", const="", help="prints the names of the cases that match")
    modes.add_argument("--smoke", dest="mode", action="store_const", const="smoke",
                       help="runs every tiny case once, and a tiny arena with its pictures")


def _add_options(group) -> None:
    add = group.add_argument
    add("--compare", metavar="OLD.json", type=parse_results_path,
        help="prints significant changes since an earlier run; without other options it compares the newest results of the arena (or "
             "those of --json) and runs nothing")
    add("--all", action="store_true",
        help="--arena: every variant of every operator at 1024, 2048, 3072 and 4096 rows, some also in bf16 (default: one variant per "
             "method, at 2048, in f32)")
    add("--text", metavar="FILE", type=parse_text_path, default=TEXT, help="the text (default: two chapters of Alice in Wonderland)")
    add("--lengths", metavar="N,N,..", type=counts,
        help="lengths (default 2048); for lengths beyond the text, the text is repeated")
    add("--batch", metavar="B", type=count, default=BATCH, help="samples (default 8, the papers' batch of 32 divided among 4 GPUs)")
    add("--channels", metavar="N,N,..", type=counts, help="channels (default 256)")
    add("--heads", metavar="H,H,..", type=counts, help="heads of attention, which must divide the channels (default 4, or else 2 or 1)")
    add("--dtypes", metavar="T,T,..", type=parse_dtypes, help="element types: f32, f64, bf16, f16 (default f32)")
    add("--input", metavar="NAME", choices=INPUTS, default=INPUTS[0], help="text (default), " + ", ".join(INPUTS[1:]))
    add("--rounds", metavar="R", type=count, default=ROUNDS,
        help="rounds of the arena, each of which times every case once (default 6, the minimum for confidence intervals)")
    add("--fresh", action="store_true", help="--arena: does not resume an interrupted run")
    add("--peers", action="store_true",
        help="--arena: also times PyTorch, installed in build/torch-venv (5 GB) unless python3 has it")
    add("--with", metavar="FILE", dest="custom", action="append", type=parse_source_path, default=[],
        help="adds the user-defined operators of a C++ file (docs/arena); may be repeated")
    add("--only", action="store_true", help="--with, --program: compares only your operators and softmax attention")
    add("--program", metavar="PROGRAM", dest="host_program", type=parse_program_path,
        help="runs your program, which links slicesort::bench, instead of building one; results go to ./bench-results")
    add("--json", metavar="FILE", type=Path, help="file of results, next to the pictures (default: bench-results/<mode and settings>.json)")
    add("--csv", metavar="FILE", nargs="?", type=Path, const=Path(), help="also writes a row per case (default: next to the JSON)")
    add("--build", metavar="DIR", type=Path, help="folder for builds and results, for a read-only checkout (default: build/)")
    add("--against", metavar="COMMIT",
        help="--arena: interleaves the program of that commit in the same rounds and prints a table of changes")
    add("--clock", metavar="cpu", choices=("wall", "cpu"), default="wall",
        help="--targets, --sweep: CPU time of the calling thread for one-thread cases, on a busy machine")
    for name, text in (("cuda", "builds the GPU part even without a GPU"),
                       ("no-cuda", "skips the GPU part (default: included if there are nvcc and a GPU)"),
                       ("only-cuda", "skips the host part")):
        add(f"--{name}", dest="cuda", action="store_const", const=name, default="auto", help=text)
    add("--help", "-h", action="help", help="prints this help")
    # Only for the tests of this package.
    add("--round-seconds", help=argparse.SUPPRESS)
    add("--cuda-program", type=Path, help=argparse.SUPPRESS)
    add("--against-program", type=Path, help=argparse.SUPPRESS)
    add("--no-pictures", dest="pictures", action="store_false", help=argparse.SUPPRESS)


def join_values(argv: list[str], options: argparse.ArgumentParser) -> list[str]:
    """Joins `--filter -X` to `--filter=-X`, because a value may begin with a dash."""
    actions_with_value = {name: action for action in options._actions if action.nargs != 0 for name in action.option_strings}
    result, remaining = [], list(argv)
    while remaining:
        argument = remaining.pop(0)
        has_optional_value = argument in actions_with_value and actions_with_value[argument].nargs == "?"
        if argument in actions_with_value and remaining and not (has_optional_value and remaining[0].startswith("--")):
            argument += "=" + remaining.pop(0)
        result.append(argument)
    return result


def parse(argv: list[str]) -> argparse.Namespace:
    """Parses the options of bench/run; raises UsageError."""
    parser = make_parser()
    options, unknown = parser.parse_known_args(join_values(argv, parser))
    options.flags = [argument for argument in unknown if argument.startswith("--benchmark_")]
    for argument in unknown:
        if argument not in options.flags:
            raise UsageError(f"unknown option {argument} (see --help)")
    options.command = " ".join(["bench/run", *argv])
    # --compare runs nothing unless there are options of a run.
    given_options = {action.dest for action in parser._actions for argument in join_values(argv, parser) if argument.partition("=")[0] in action.option_strings}
    options_without_run = {"compare", "json", "build", "host_program", "cuda_program", "pictures"}
    options.only_compares = options.compare is not None and not options.flags and given_options <= options_without_run
    if options.list is not None:
        options.mode, options.filter = "list", options.list
    elif options.filter is not None:
        options.mode = "filter"
    options.mode = options.mode or "arena"
    if options.mode == "arena" and options.flags:
        raise UsageError(f"{options.flags[0]}: the arena has rounds instead; see --rounds, or --filter")
    if options.mode == "sweep":
        if options.cuda == "only-cuda":
            raise UsageError("--sweep runs only on the host")
        options.cuda = "no-cuda"
    for option in ("all", "only"):
        if getattr(options, option) and options.mode != "arena":
            raise UsageError(f"--{option} is for --arena; --{options.mode} has fixed cases")
    if options.only and not (options.custom or options.host_program):
        raise UsageError("--only requires user-defined operators: --with FILE or --program PROGRAM")
    if options.custom and (options.host_program or options.cuda == "only-cuda"):
        raise UsageError(f"--with requires the host's program, which {'--program' if options.host_program else '--only-cuda'} excludes")
    options.notices = []  # printed last
    options.build = options.build.resolve() if options.build else None
    options.build_folder = options.build or ROOT / "build"
    options.shapes = Shapes(options)
    if options.shapes.error_message():
        raise UsageError(options.shapes.error_message())
    if options.against and (options.mode != "arena" or options.peers):
        raise UsageError("--against is for the arena" + (", without --peers" if options.peers else ""))
    return options
