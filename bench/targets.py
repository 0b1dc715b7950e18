#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The speeds that this library promises, as ratios within one run. `targets.py --filter` prints the regular
expression of the cases that they need; `targets.py RESULTS.json` evaluates them: asked, measured, met."""
import argparse
from dataclasses import dataclass

from results import BadResults, Case, load, ratio, run_main, table

NOISE = 1.03  # "never slower", when the same code is timed twice


@dataclass
class Target:
    what: str
    case: str
    reference: str
    at_least: float | None = None  # reference's time / case's time
    at_most: float | None = None  # case's time / reference's time

    def judge(self, cases: dict[str, Case], clock: str) -> tuple[str, str, bool]:
        case, reference = (find(cases, name) for name in (self.case, self.reference))
        if self.at_least is not None:
            measured = ratio(reference, case, clock)
            return f">= {self.at_least:g}x", f"{measured:.2f}x", measured >= self.at_least
        assert self.at_most is not None
        measured = ratio(case, reference, clock)
        return f"<= {self.at_most:g}x", f"{measured:.2f}x", measured <= self.at_most


def find(cases: dict[str, Case], name: str) -> Case:
    if name not in cases:
        raise BadResults(f"no case {name}; run the cases of targets.py --filter")
    return cases[name]


def name(subject: str, n: int, dtype: str = "f32", input: str = "normal", direction: str = "forward", b: int = 1,
         c: int = 512, t: int = 1) -> str:
    return f"{subject}/host/{direction}/{dtype}/ascending/{input}/B:{b}/N:{n}/C:{c}/T:{t}"


def targets() -> list[Target]:
    found: list[Target] = []

    def against_std_sort(at_least: float, n: int, dtype: str = "f32", subject: str = "slicing_sort") -> None:
        forced = f" {subject.partition('@')[2]}" if "@" in subject else ""
        found.append(Target(f"{dtype}{forced} forward N={n} against std::sort", name(subject, n, dtype),
                            name("baseline_std_sort", n, dtype), at_least=at_least))

    for n in (64, 256, 1024, 4096):
        against_std_sort(15, n)
    against_std_sort(10, 65536)
    against_std_sort(8, 1 << 20)
    for dtype in ("bf16", "f16"):
        for n in (64, 256, 1024, 4096):
            against_std_sort(35, n, dtype)
        against_std_sort(20, 65536, dtype)
    against_std_sort(6, 1024, "f64")
    against_std_sort(6, 1024, subject="slicing_sort@avx2")

    for n, power in ((1000, 1024), (2001, 2048), (4001, 4096)):
        found.append(Target(f"f32 forward N={n}, an element, against N={power}", name("slicing_sort", n),
                            name("slicing_sort", power), at_most=1.2))
    for n in (1024, 4096):
        found.append(Target(f"f32 forward 8x{n}x512, two threads against one", name("slicing_sort", n, b=8, t=2),
                            name("slicing_sort", n, b=8), at_least=1.8))
    for input, at_most in (("few_unique", 1.7), ("relu", 1.7), ("text", 1.7), ("reversed", 1.7), ("sorted", NOISE),
                           ("constant", NOISE)):
        for n in (64, 256, 1024, 4096):
            found.append(Target(f"f32 forward N={n}, {input} against normal", name("slicing_sort", n, input=input),
                                name("slicing_sort", n), at_most=at_most))
    for n in (1024, 4096, 16384, 65536):
        found.append(Target(f"f32 backward N={n} against the naive scatter", name("slicing_sort", n, direction="backward"),
                            name("baseline_naive_scatter", n, direction="backward"), at_least=2.5))
    found.append(Target("f32 forward N=1024, no_saved against saving", name("slicing_sort", 1024, direction="forward_values"),
                        name("slicing_sort", 1024), at_least=1.2))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("results", nargs="?")
    what.add_argument("--filter", action="store_true")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: of the calling thread, for cases of one thread on a busy machine")
    arguments = parser.parse_args()
    if arguments.filter:
        names = dict.fromkeys(name for target in targets() for name in (target.case, target.reference))
        print("^(" + "|".join(names) + ")$")
        return 0
    _, cases = load(arguments.results)
    rows, met = [["target", "asked", "measured", "ok"]], 0
    for target in targets():
        asked, measured, ok = target.judge(cases, arguments.clock)
        rows.append([target.what, asked, measured, "ok" if ok else "MISSED"])
        met += ok
    print(table(rows))
    print(f"{met} of {len(rows) - 1} targets met")
    return 0 if met == len(rows) - 1 else 1


if __name__ == "__main__":
    run_main(main)
