#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints every subject against the baselines that ran beside it with the same fields, as the median over
repetitions of the ratio of times: ratios.py RESULTS.json [--clock cpu]"""
import argparse

from .results import load, ratio, run_main, table

BASELINES = ("baseline_std_sort", "baseline_naive_scatter", "baseline_memcpy")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: of the calling thread, for cases of one thread on a busy machine")
    arguments = parser.parse_args()
    _, cases = load(arguments.results)
    rows = [["case", "runs", "ns/element"] + [name.removeprefix("baseline_") for name in BASELINES]]
    for case in cases.values():
        if case.subject.startswith("baseline"):
            continue
        cells = []
        for name in BASELINES:
            beside = cases.get(case.beside(name))
            cells.append(f"{ratio(beside, case, arguments.clock):.2f}x" if beside else "")
        times = sorted(case.times(arguments.clock if case.t == 1 else "wall"))
        rows.append([case.name, str(len(case.runs)), f"{times[len(times) // 2]:.3f}"] + cells)
    print(table(rows))
    return 0


if __name__ == "__main__":
    run_main(main)
