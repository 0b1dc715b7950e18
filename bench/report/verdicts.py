# SPDX-License-Identifier: Apache-2.0
"""Compares two things by repeated times, without assuming how these are distributed."""
import math
import statistics
from dataclasses import dataclass
from functools import lru_cache

CONFIDENCE = 0.95
ALIKE = 0.03  # speeds this close are the same


@dataclass(frozen=True)
class Ratio:
    """How many times as fast; the interval holds the truth in at least 95 of 100 runs."""
    low: float
    middle: float
    high: float

    @property
    def verdict(self) -> str:
        if 1 / (1 + ALIKE) <= self.low and self.high <= 1 + ALIKE:
            return "same"
        if self.low > 1:
            return "faster"
        if self.high < 1:
            return "slower"
        return "ambiguous"

    def __str__(self) -> str:
        return f"{short(self.middle)}x ({short(self.low)} .. {short(self.high)})"


def short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def rank_of_median(count: int) -> int | None:
    """The interval from the k-th smallest to the k-th largest of `count` values holds their median often enough:
    the largest such k, counted from 1; None if there is none (below 6 values)."""
    tail, best = 0, None
    for k in range(1, count // 2 + 1):
        tail += math.comb(count, k - 1)  # fewer than k values lie below the median
        if 1 - 2 * tail / 2**count < CONFIDENCE:
            break
        best = k
    return best


def paired(slower: list[float], faster: list[float]) -> Ratio:
    """Times of the same rounds: the median of the ratios, round by round, with its order statistics."""
    ratios = sorted(s / f for s, f in zip(slower, faster))
    k = rank_of_median(len(ratios))
    middle = statistics.median(ratios)
    return Ratio(ratios[k - 1], middle, ratios[-k]) if k else Ratio(0.0, middle, math.inf)


@lru_cache(maxsize=None)
def ways(first: int, second: int, u: int) -> int:
    """In how many orders of first + second distinct values `u` pairs have the one of the second group in front."""
    if u < 0:
        return 0
    if first == 0 or second == 0:
        return 1 if u == 0 else 0
    return ways(first - 1, second, u - second) + ways(first, second - 1, u)


def rank_of_pairs(first: int, second: int) -> int | None:
    """The interval from the k-th smallest to the k-th largest of all quotients of two groups holds the quotient of
    their scales often enough (Mann and Whitney): the largest such k; None if there is none."""
    tail, best = 0, None
    for u in range(first * second // 2):
        tail += ways(first, second, u)
        if 1 - 2 * tail / math.comb(first + second, first) < CONFIDENCE:
            break
        best = u + 1
    return best


def unpaired(before: list[float], after: list[float]) -> Ratio:
    """Times of two runs: how many times as fast the later one is."""
    quotients = sorted(b / a for b in before for a in after)
    k = rank_of_pairs(len(before), len(after))
    middle = statistics.median(quotients)
    return Ratio(quotients[k - 1], middle, quotients[-k]) if k else Ratio(0.0, middle, math.inf)
