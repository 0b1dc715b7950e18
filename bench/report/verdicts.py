# SPDX-License-Identifier: Apache-2.0
"""Whether one thing is faster than another, from repeated times, without assuming how they are distributed.
Run as a program it checks itself: against exact counts and against thousands of made-up races."""
import math
import random
import statistics
import sys
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

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


def check_ranks() -> None:
    # Two-sided 5 % of the sign test, from its binomial table.
    assert [rank_of_median(n) for n in (1, 5, 6, 8, 9, 12, 20, 50)] == [None, None, 1, 1, 2, 3, 6, 18]
    # Critical values of the U test plus one, from its table.
    assert [rank_of_pairs(n, n) for n in (3, 4, 5, 6, 8, 10)] == [None, 1, 3, 6, 14, 24]
    for first, second in ((3, 4), (4, 4)):  # and counted one by one
        counts = [0] * (first * second + 1)
        for places in combinations(range(first + second), first):
            counts[sum(place - i for i, place in enumerate(places))] += 1
        assert counts == [ways(first, second, u) for u in range(first * second + 1)]


def check_verdicts() -> None:
    asked = {(0.98, 1.02): "same", (1.0, 1.029): "same", (1.01, 1.05): "faster", (0.7, 0.99): "slower", (0.99, 1.2): "ambiguous",
             (0.0, math.inf): "ambiguous", (0.5, 1.01): "ambiguous", (0.98, 0.99): "same", (0.9, 0.98): "slower"}
    for (low, high), verdict in asked.items():
        assert Ratio(low, (low + high) / 2, high).verdict == verdict, (low, high)
    assert paired([1.0] * 5, [2.0] * 5).verdict == "ambiguous"  # too few to say
    assert paired([2.0] * 6, [1.0] * 6) == Ratio(2.0, 2.0, 2.0)
    assert unpaired([1.0] * 6, [2.0] * 6).verdict == "slower"


def check_coverage(races: int = 3000) -> None:
    """Races whose winner is known: the interval misses the truth in at most one of twenty, give or take three
    standard deviations, whatever the noise; and does not miss it because it says nothing."""
    noise = random.Random(6)
    drawn = {"spread": lambda: math.exp(0.05 * noise.gauss(0, 1)), "tail": lambda: 1 + 0.02 * noise.paretovariate(2)}
    for draw in drawn.values():
        for rounds in (6, 9):
            misses = [0, 0]
            widths = []
            for _ in range(races):
                # In one round a slow machine is slow for both; `later` runs on another day.
                weather = [1 + noise.random() for _ in range(rounds)]
                ours, theirs = [w * draw() for w in weather], [1.25 * w * draw() for w in weather]
                later = [draw() / 1.25 for _ in range(rounds)]
                for i, ratio in enumerate((paired(theirs, ours), unpaired([draw() for _ in range(rounds)], later))):
                    misses[i] += not ratio.low <= 1.25 <= ratio.high
                    widths.append(ratio.high / ratio.low)
            allowed = races * 0.05 + 3 * math.sqrt(races * 0.05 * 0.95)
            assert max(misses) <= allowed, misses
            assert statistics.median(widths) < 1.5
    # An interval that is too narrow must be noticed: the middle two of six.
    found = 0
    for _ in range(races):
        values = sorted(math.exp(noise.gauss(0, 1)) for _ in range(6))
        found += not values[2] <= 1.0 <= values[3]
    assert found > races * 0.5


def main() -> int:
    check_ranks()
    check_verdicts()
    check_coverage()
    print("verdicts: ranks, verdicts and coverage are as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
