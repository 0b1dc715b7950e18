# SPDX-License-Identifier: Apache-2.0
"""Checks for performance cliffs at a power of two: every operator of the host at N = 4032, 4096 and 4160, in every direction and
element type. python3 -m report.sweep RESULTS.json prints the time per element at each length, the largest ratio first. A case
fails if N = 4096 takes more than 1.15 times the slower neighbor."""
import argparse
from dataclasses import dataclass

from .results import BadResults, Case, format_table, load, run_main

BELOW, POWER, ABOVE = LENGTHS = (4032, 4096, 4160)
MAX_RATIO = 1.15
SUBJECTS = ("slicing_sort", "top_k", "soft_sort", "permute", "max_exchange", "multi_permutation", "shuffle", "shuffle_per_channel",
            "short_convolution", "decaying_sum", "decaying_sum_mega", "csp", "sinkhorn_csp", "sinkhorn", "sparse_mix", "sparse_mix_recompute", "softmax_attention",
            "pointwise_attention", "merge_attention", "linear_attention")
DTYPES = ("f32", "f64", "f16", "bf16")


def expressions() -> list[str]:
    """Returns regular expressions of the cases to interleave in one process: one per operator and element type."""
    lengths = "|".join(map(str, LENGTHS))
    return [f"^{subject}/host/[a-z_]+/{dtype}/[^/]+/uniform/B:1/N:({lengths})/C:256/T:1$" for subject in SUBJECTS
            for dtype in DTYPES if subject != "sinkhorn_csp" or dtype in ("f32", "f64")]


@dataclass
class Triple:
    """One case at the three lengths."""
    name: str
    cases: dict[int, Case]

    def time(self, length: int, clock: str) -> float:
        """Nanoseconds per element of the fastest repetition, which has the least noise."""
        return min(self.cases[length].times(clock))

    def ratio(self, clock: str) -> float:
        return self.time(POWER, clock) / max(self.time(BELOW, clock), self.time(ABOVE, clock))


def group_by_name(cases: dict[str, Case]) -> list[Triple]:
    triples: dict[str, Triple] = {}
    for case in cases.values():
        if case.failure:
            raise BadResults(f"{case.name} failed: {case.failure}")
        name = f"{case.subject} {case.direction} {case.dtype} {case.policy}"
        triples.setdefault(name, Triple(name, {})).cases[case.n] = case
    for triple in triples.values():
        if set(triple.cases) != set(LENGTHS):
            raise BadResults(f"{triple.name}: the lengths are {sorted(triple.cases)}, not {list(LENGTHS)}")
    return list(triples.values())


def judge(results: str, clock: str) -> int:
    triples = sorted(group_by_name(load(results)[1]), key=lambda triple: -triple.ratio(clock))
    missed = [triple for triple in triples if triple.ratio(clock) > MAX_RATIO]
    rows = [["ns per element", *(f"N={n}" for n in LENGTHS), "beside the slower", "ok"]]
    for triple in triples:
        rows.append([triple.name, *(f"{triple.time(n, clock):.3f}" for n in LENGTHS), f"{triple.ratio(clock):.2f}x",
                     "MISSED" if triple in missed else "ok"])
    print(format_table(rows))
    print(f"{len(triples) - len(missed)} of {len(triples)} are at most {MAX_RATIO:g}x at N={POWER}")
    return 1 if missed or not triples else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: on a busy machine")
    arguments = parser.parse_args()
    return judge(arguments.results, arguments.clock)


if __name__ == "__main__":
    run_main(main)
