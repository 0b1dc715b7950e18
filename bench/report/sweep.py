# SPDX-License-Identifier: Apache-2.0
"""No cliff at a power of two: every operator of the host at N = 4032, 4096 and 4160, in every direction and element type.
python3 -m report.sweep RESULTS.json prints the time of an element at each length, the slowest beside its neighbors first. One that takes more than 1.15 of
the slower neighbor misses."""
import argparse
from dataclasses import dataclass

from .results import BadResults, Case, load, run_main, table

BELOW, POWER, ABOVE = LENGTHS = (4032, 4096, 4160)
AT_MOST = 1.15
SUBJECTS = ("slicing_sort", "permute", "max_exchange", "multi_permutation", "shuffle", "shuffle_per_channel", "csp", "sinkhorn_csp",
            "sparse_mix", "sparse_mix_recompute", "softmax_attention", "merge_attention", "linear_attention")
DTYPES = ("f32", "f64", "f16", "bf16")


def expressions() -> list[str]:
    """Of an operator and element type, whose cases take turns in one process."""
    lengths = "|".join(map(str, LENGTHS))
    return [f"^{subject}/host/[a-z_]+/{dtype}/[^/]+/uniform/B:1/N:({lengths})/C:256/T:1$" for subject in SUBJECTS
            for dtype in DTYPES if subject != "sinkhorn_csp" or dtype in ("f32", "f64")]


@dataclass
class Triple:
    """One case at the three lengths."""
    what: str
    cases: dict[int, Case]

    def time(self, length: int, clock: str) -> float:
        """Nanoseconds of an element, in the fastest repetition: what else runs on the machine only adds to them."""
        return min(self.cases[length].times(clock))

    def ratio(self, clock: str) -> float:
        return self.time(POWER, clock) / max(self.time(BELOW, clock), self.time(ABOVE, clock))


def triples(cases: dict[str, Case]) -> list[Triple]:
    found: dict[str, Triple] = {}
    for case in cases.values():
        if case.failed:
            raise BadResults(f"{case.name} failed: {case.failed}")
        what = f"{case.subject} {case.direction} {case.dtype} {case.policy}"
        found.setdefault(what, Triple(what, {})).cases[case.n] = case
    for triple in found.values():
        if set(triple.cases) != set(LENGTHS):
            raise BadResults(f"{triple.what}: the lengths are {sorted(triple.cases)}, not {list(LENGTHS)}")
    return list(found.values())


def judge(results: str, clock: str) -> int:
    found = sorted(triples(load(results)[1]), key=lambda triple: -triple.ratio(clock))
    missed = [triple for triple in found if triple.ratio(clock) > AT_MOST]
    rows = [["ns per element", *(f"N={n}" for n in LENGTHS), "beside the slower", "ok"]]
    for triple in found:
        rows.append([triple.what, *(f"{triple.time(n, clock):.3f}" for n in LENGTHS), f"{triple.ratio(clock):.2f}x",
                     "MISSED" if triple in missed else "ok"])
    print(table(rows))
    print(f"{len(found) - len(missed)} of {len(found)} are at most {AT_MOST:g}x at N={POWER}")
    return 1 if missed or not found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: on a busy machine")
    arguments = parser.parse_args()
    return judge(arguments.results, arguments.clock)


if __name__ == "__main__":
    run_main(main)
