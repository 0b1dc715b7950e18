# SPDX-License-Identifier: Apache-2.0
"""Ratios of repeated times with confidence intervals that assume no distribution."""
import math
import statistics
from dataclasses import dataclass
from functools import lru_cache

from .results import Case

CONFIDENCE = 0.95
SAME_TOLERANCE = 0.03  # relative difference of speeds that count as the same


@dataclass(frozen=True)
class Ratio:
    """Speedup with its 95 % confidence interval."""
    low: float
    middle: float
    high: float

    @property
    def outcome(self) -> str:
        if 1 / (1 + SAME_TOLERANCE) <= self.low and self.high <= 1 + SAME_TOLERANCE:
            return "same"
        if self.low > 1:
            return "faster"
        if self.high < 1:
            return "slower"
        return "ambiguous"

    def __str__(self) -> str:
        return f"{format_ratio(self.middle)}x ({format_ratio(self.low)} .. {format_ratio(self.high)})"


def format_ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def rank_of_median(count: int) -> int | None:
    """Returns the largest k for which the interval from the k-th smallest to the k-th largest of `count` values contains the true
    median with sufficient probability. None if there is none (below 6 values)."""
    tail, best = 0, None
    for k in range(1, count // 2 + 1):
        tail += math.comb(count, k - 1)  # fewer than k values below the median
        if 1 - 2 * tail / 2**count < CONFIDENCE:
            break
        best = k
    return best


def paired_ratio(slower: list[float], faster: list[float]) -> Ratio:
    """Computes the speedup from times of the same rounds: the median of the ratios by round, and an interval of order statistics."""
    ratios = sorted(s / f for s, f in zip(slower, faster))
    k = rank_of_median(len(ratios))
    middle = statistics.median(ratios)
    return Ratio(ratios[k - 1], middle, ratios[-k]) if k else Ratio(0.0, middle, math.inf)


@lru_cache(maxsize=None)
def count_orders(first: int, second: int, u: int) -> int:
    """Counts the orders of first + second distinct values in which `u` pairs have the value of the second group first."""
    if u < 0:
        return 0
    if first == 0 or second == 0:
        return 1 if u == 0 else 0
    return count_orders(first - 1, second, u - second) + count_orders(first, second - 1, u)


def rank_of_pairs(first: int, second: int) -> int | None:
    """Returns the largest k for which the interval from the k-th smallest to the k-th largest quotient of two groups contains the
    ratio of their scales with sufficient probability (Mann-Whitney). None if there is none."""
    tail, best = 0, None
    for u in range(first * second // 2):
        tail += count_orders(first, second, u)
        if 1 - 2 * tail / math.comb(first + second, first) < CONFIDENCE:
            break
        best = u + 1
    return best


def unpaired_ratio(before: list[float], after: list[float]) -> Ratio:
    """Computes the speedup from the first to the second of two separate runs."""
    quotients = sorted(b / a for b in before for a in after)
    k = rank_of_pairs(len(before), len(after))
    middle = statistics.median(quotients)
    return Ratio(quotients[k - 1], middle, quotients[-k]) if k else Ratio(0.0, middle, math.inf)


def speedup(slower: Case, faster: Case) -> Ratio:
    """Computes the speedup between two cases of an arena: by round, or, if different turns timed them, as of separate runs."""
    ratio = paired_ratio if slower.turn == faster.turn else unpaired_ratio
    return ratio(slower.times(), faster.times())
