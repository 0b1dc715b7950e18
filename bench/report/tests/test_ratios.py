# SPDX-License-Identifier: Apache-2.0
"""Tests of ranks against exact counts, of outcomes, and of intervals by thousands of simulated races."""
import math
import random
import statistics
import unittest
from itertools import combinations

from report.ratios import Ratio, count_orders, paired_ratio, rank_of_median, rank_of_pairs, unpaired_ratio


class Ratios(unittest.TestCase):
    def test_ranks(self) -> None:
        # Two-sided 5 % of the sign test, from its binomial table.
        assert [rank_of_median(n) for n in (1, 5, 6, 8, 9, 12, 20, 50)] == [None, None, 1, 1, 2, 3, 6, 18]
        # Critical values of the U test plus one, from its table.
        assert [rank_of_pairs(n, n) for n in (3, 4, 5, 6, 8, 10)] == [None, 1, 3, 6, 14, 24]
        for first, second in ((3, 4), (4, 4)):  # and counted one by one
            counts = [0] * (first * second + 1)
            for places in combinations(range(first + second), first):
                counts[sum(place - i for i, place in enumerate(places))] += 1
            assert counts == [count_orders(first, second, u) for u in range(first * second + 1)]

    def test_outcomes(self) -> None:
        expected = {(0.98, 1.02): "same", (1.0, 1.029): "same", (1.01, 1.05): "faster", (0.7, 0.99): "slower", (0.99, 1.2): "ambiguous",
                    (0.0, math.inf): "ambiguous", (0.5, 1.01): "ambiguous", (0.98, 0.99): "same", (0.9, 0.98): "slower"}
        for (low, high), outcome in expected.items():
            assert Ratio(low, (low + high) / 2, high).outcome == outcome, (low, high)
        assert paired_ratio([1.0] * 5, [2.0] * 5).outcome == "ambiguous"  # too few to say
        assert paired_ratio([2.0] * 6, [1.0] * 6) == Ratio(2.0, 2.0, 2.0)
        assert unpaired_ratio([1.0] * 6, [2.0] * 6).outcome == "slower"

    def test_coverage(self, races: int = 3000) -> None:
        """Races with a known winner: the interval misses the true ratio in at most 5 % plus three standard deviations, with any noise,
        and is narrow."""
        noise = random.Random(6)
        distributions = {"spread": lambda: math.exp(0.05 * noise.gauss(0, 1)), "tail": lambda: 1 + 0.02 * noise.paretovariate(2)}
        for draw in distributions.values():
            for rounds in (6, 9):
                misses = [0, 0]
                widths = []
                for _ in range(races):
                    # A slow machine slows both in a round; `later_times` are from another run.
                    round_noise = [1 + noise.random() for _ in range(rounds)]
                    fast_times, slow_times = [w * draw() for w in round_noise], [1.25 * w * draw() for w in round_noise]
                    later_times = [draw() / 1.25 for _ in range(rounds)]
                    for i, ratio in enumerate((paired_ratio(slow_times, fast_times), unpaired_ratio([draw() for _ in range(rounds)], later_times))):
                        misses[i] += not ratio.low <= 1.25 <= ratio.high
                        widths.append(ratio.high / ratio.low)
                allowed = races * 0.05 + 3 * math.sqrt(races * 0.05 * 0.95)
                assert max(misses) <= allowed, misses
                assert statistics.median(widths) < 1.5
        # The middle two of six are too narrow an interval.
        misses_of_middle = 0
        for _ in range(races):
            values = sorted(math.exp(noise.gauss(0, 1)) for _ in range(6))
            misses_of_middle += not values[2] <= 1.0 <= values[3]
        assert misses_of_middle > races * 0.5
