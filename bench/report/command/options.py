# SPDX-License-Identifier: Apache-2.0
"""The options of bench/run: the one place where they are named, explained and read."""
import argparse
import os
import re
import sys
from pathlib import Path
from typing import NoReturn

from .shapes import BATCH, DTYPES, INPUTS, ROOT, ROUNDS, TEXT, Shapes

EPILOG = """\
A case is named subject/host/direction/dtype/policy/input/B:b/N:n/C:c/T:threads, or subject/cuda/... without /T.
csp's policies are named shift-alignment-G:rows, sparse_mix's topology-residual-M:factors, softmax_attention's
algorithm-mask-H:heads, merge_attention's P:parts-H:heads, linear_attention's feature-direction-H:heads; baselines do the
work of their policy. forward saves, forward_values does not, training is forward and then backward.
Flags --benchmark_... are Google Benchmark's and reach it as they are.
Results of other settings than the usual ones have other names: bench-results/arena-all.json, arena-N1024.json.
The GPU's results go to a file of their own beside the host's (<name>-cuda.json), torch's to <name>-torch.json.
CUDAARCHS says which architectures the GPU part is built for (default: the GPU's, else 90).
Exit status: 0 fine, 1 something failed (a result is wrong, a target missed, a cliff), 2 a mistake in the call, 130 interrupted."""


class Refused(Exception):
    """A mistake in the call, said in one sentence; exit status 2."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        message = re.sub("^argument (.*): expected one argument$", r"\1 needs a value", message)
        raise Refused(f"{message.removeprefix('argument ')} (see --help)")


def must(holds: bool, message: str) -> None:
    if not holds:
        raise argparse.ArgumentTypeError(message)


def count(text: str) -> int:
    must(re.fullmatch("[1-9][0-9]{0,5}", text), f"'{text}' is not a positive number")
    return int(text)


def counts(text: str) -> list[int]:
    must(re.fullmatch("[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", text), f"'{text}' is not a list such as 1024,4096")
    return [int(part) for part in text.split(",")]


def dtypes(text: str) -> list[str]:
    for name in text.split(","):
        must(name in DTYPES, f"'{name}' is not an element type; those are {', '.join(DTYPES)}")
    return list(dict.fromkeys(text.split(",")))


def file_of_results(text: str) -> Path:
    must(Path(text).is_file(), f"there are no results {text}")
    return Path(text)


def source(text: str) -> Path:
    must(Path(text).is_file(), f"there is no file {text}")
    return Path(text).resolve()


def program(text: str) -> Path:
    must(os.access(text, os.X_OK) and not Path(text).is_dir(), f"cannot run {text}")
    return Path(text).resolve()


def text_file(text: str) -> Path:
    try:
        with open(text, "rb") as file:
            must(file.read(1), f"the text {text} is empty")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot read the text {text}") from error
    return Path(text)


def parser() -> argparse.ArgumentParser:
    all_options = Parser(prog="bench/run", usage="bench/run [mode] [options] [--benchmark_... flags of Google Benchmark]",
                         epilog=EPILOG, add_help=False, allow_abbrev=False,
                         formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=23, width=118))
    _add_modes(all_options.add_argument_group("modes").add_mutually_exclusive_group())
    _add_options(all_options.add_argument_group("options"))
    return all_options


def _add_modes(modes) -> None:
    for name, what in (("arena", "(default) operators beside softmax attention, on text: table, pictures, a page (about 90 seconds, with --all "
                                 "ten minutes; interrupted, it goes on where it was); docs/arena.md says what is what"),
                       ("targets", "the promised speeds: asked, measured, met (about ten minutes)"),
                       ("sweep", "no cliff at a power of two: every operator of the host at N = 4032, 4096, 4160 (about ten minutes)")):
        modes.add_argument(f"--{name}", dest="mode", action="store_const", const=name, help=what)
    modes.add_argument("--filter", metavar="REGEX",
                       help="only the cases whose name matches, as Google Benchmark prints them; docs/arena.md has useful ones")
    modes.add_argument("--list", metavar="REGEX", nargs="?", const="", help="the names of the cases")
    modes.add_argument("--smoke", dest="mode", action="store_const", const="smoke",
                       help="tiny cases, every one once, and a tiny arena with its pictures")


def _add_options(group) -> None:
    add = group.add_argument
    add("--compare", metavar="OLD.json", type=file_of_results,
        help="what changed since an earlier run, beyond noise; alone (or with --json), the newest results of an arena (or --json's) "
             "are compared and nothing runs; with a mode, or any other option, that runs first")
    add("--all", action="store_true",
        help="--arena: every variant of every operator, at 1024, 2048, 3072 and 4096 rows, some in bf16 too (default: one row for each "
             "method, at 2048, in f32)")
    add("--text", metavar="FILE", type=text_file, default=TEXT, help="the text (default: two chapters of Alice in Wonderland)")
    add("--lengths", metavar="N,N,..", type=counts,
        help="lengths (default 2048); beyond the text it is repeated, and the table says so")
    add("--batch", metavar="B", type=count, default=BATCH, help="samples (default 8, the papers' share of a GPU; 32 is all of theirs)")
    add("--channels", metavar="N,N,..", type=counts, help="channels (default 256)")
    add("--heads", metavar="H,H,..", type=counts, help="heads of attention, which divide the channels (default 4, or 2 or 1 where those do not)")
    add("--dtypes", metavar="T,T,..", type=dtypes, help="element types, of f32, f64, bf16, f16 (default f32)")
    add("--input", metavar="NAME", choices=INPUTS, default=INPUTS[0], help="text (default), " + ", ".join(INPUTS[1:]))
    add("--rounds", metavar="R", type=count, default=ROUNDS,
        help="rounds of the arena, each of which times every case once (default 6, the fewest that give a verdict)")
    add("--fresh", action="store_true", help="--arena: start anew after an interruption")
    add("--peers", action="store_true",
        help="--arena: the same shapes through PyTorch, too, installed in build/peers-venv (5 GB) unless python3 has it")
    add("--with", metavar="FILE", dest="own", action="append", type=source, default=[],
        help="compile this C++ file in: operators of your own take part (docs/arena.md); may be given several times")
    add("--only", action="store_true", help="--with, --program: your operators beside softmax attention alone, which is built and timed sooner")
    add("--program", metavar="PROGRAM", dest="host_program", type=program,
        help="build nothing and run this, a program of yours that links slicesort::bench; results go to bench-results/ where you are")
    add("--json", metavar="FILE", type=Path, help="where the results go (default: bench-results/<mode and settings>.json); pictures go beside them")
    add("--csv", metavar="FILE", nargs="?", type=Path, const=Path(), help="a row for each case, too (default: beside the JSON)")
    add("--build", metavar="DIR", type=Path, help="builds there instead of in build/, for a checkout that is read-only; results go there, too")
    add("--against", metavar="COMMIT",
        help="--arena: builds that commit, too, and both programs take turns in the same rounds, so that a machine that gets slower "
             "does so for both; a second table says what changed")
    add("--clock", metavar="cpu", choices=("wall", "cpu"), default="wall",
        help="--targets, --sweep: time of the calling thread for one-thread cases, on a busy machine")
    for name, what in (("cuda", "build the GPU part although there is no GPU (it then measures nothing)"),
                       ("no-cuda", "leave the GPU part out; by default it takes part where nvcc and a GPU are there"),
                       ("only-cuda", "the GPU part alone")):
        add(f"--{name}", dest="cuda", action="store_const", const=name, default="auto", help=what)
    add("--help", "-h", action="help", help="this")
    # For tests of this package: programs that are built already, and less time.
    add("--round-seconds", help=argparse.SUPPRESS)
    add("--cuda-program", type=Path, help=argparse.SUPPRESS)
    add("--against-program", type=Path, help=argparse.SUPPRESS)
    add("--no-pictures", dest="pictures", action="store_false", help=argparse.SUPPRESS)


def joined(argv: list[str], of: argparse.ArgumentParser) -> list[str]:
    """`--filter -X` as `--filter=-X`: a value may begin with a dash."""
    valued = {name: action for action in of._actions if action.nargs != 0 for name in action.option_strings}
    result, rest = [], list(argv)
    while rest:
        word = rest.pop(0)
        optional = word in valued and valued[word].nargs == "?"
        if word in valued and rest and not (optional and rest[0].startswith("--")):
            word += "=" + rest.pop(0)
        result.append(word)
    return result


def parse(argv: list[str]) -> argparse.Namespace:
    """What `bench/run ARGV` asks for; raises Refused."""
    of = parser()
    o, unknown = of.parse_known_args(joined(argv, of))
    o.flags = [word for word in unknown if word.startswith("--benchmark_")]
    for word in unknown:
        if word not in o.flags:
            raise Refused(f"unknown option {word} (see --help)")
    o.command = " ".join(["bench/run", *argv])
    # Alone, --compare runs nothing; an option about a run asks for one.
    given = {action.dest for action in of._actions for word in joined(argv, of) if word.partition("=")[0] in action.option_strings}
    of_no_run = {"compare", "json", "build", "host_program", "cuda_program", "pictures"}
    o.only_compares = o.compare is not None and not o.flags and given <= of_no_run
    if o.list is not None:
        o.mode, o.filter = "list", o.list
    elif o.filter is not None:
        o.mode = "filter"
    o.mode = o.mode or "arena"
    if o.mode == "arena" and o.flags:
        raise Refused(f"{o.flags[0]}: the arena times in rounds of its own; see --rounds, or --filter")
    if o.mode == "sweep":  # the caches of a GPU are not the host's
        if o.cuda == "only-cuda":
            raise Refused("--sweep is the host's")
        o.cuda = "no-cuda"
    for option in ("all", "only"):
        if getattr(o, option) and o.mode != "arena":
            raise Refused(f"--{option} is for --arena; --{o.mode} has cases of its own")
    if o.only and not (o.own or o.host_program):
        raise Refused("--only is for operators of your own: --with FILE or --program PROGRAM")
    if o.own and (o.host_program or o.cuda == "only-cuda"):
        raise Refused(f"--with is compiled into the host's program, which {'--program' if o.host_program else '--only-cuda'} excludes")
    o.notices = []  # about this machine: printed last
    o.build = o.build.resolve() if o.build else None
    o.build_folder = o.build or ROOT / "build"
    o.shapes = Shapes(o)
    if o.shapes.refusal():
        raise Refused(o.shapes.refusal())
    if o.against and (o.mode != "arena" or o.peers):
        raise Refused("--against is for the arena" + (", without --peers" if o.peers else ""))
    return o
