# SPDX-License-Identifier: Apache-2.0
"""Tests of the crossover with synthetic times."""
import json
import tempfile
import unittest
from pathlib import Path

from report.arena_table import load_rows
from report.crossover import Crossing, crossings_of, crossover_table
from report.run_log import to_benchmark_rows

ROUNDS = 6


def make_rows(seconds: dict[str, dict[int, float | None]], direction: str = "forward_values", rounds: int = ROUNDS) -> list:
    """Makes rows of the arena table from the seconds of each policy at each length; None for a failure."""
    results = []
    for policy, by_length in seconds.items():
        subject = "softmax_attention" if policy.startswith("streaming") else "linear_attention" if "-H:" in policy else "slicing_sort"
        for n, time in by_length.items():
            text = "text" if n < 10000 else "repeated_text"
            name = f"{subject}/host/{direction}/f32/{policy}/{text}/B:1/N:{n}/C:256/T:1"
            results += to_benchmark_rows({"name": name, "failed": "out of memory"} if time is None else {"name": name, "seconds": [time] * rounds})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arena.json"
        path.write_text(json.dumps({"context": {}, "benchmarks": results}), encoding="utf-8")
        return load_rows(str(path))[1]


def describe_crossings(*args, **kwargs) -> dict[str, str]:
    return {curve.entry.label: crossing.description for curve, crossing in crossings_of(make_rows(*args, **kwargs)).items()}


class Crossover(unittest.TestCase):
    def test_words(self) -> None:
        outcome_names = {"f": "faster", "s": "slower", "e": "same", "a": "ambiguous"}
        for outcomes, short, words in (
                ("sf", "64\u2013128", "between 64 and 128"),
                ("saf", "64\u2013256", "between 64 and 256; undecided at 128"),
                ("asf", "128\u2013256", "between 128 and 256"),
                ("ff", "\u2264 64", "at 64 already, the shortest measured"),
                ("aff", "\u2264 128", "at 128 or before; undecided at 64"),
                ("ss", "> 128", "not up to 128"),
                ("sa", "> 128", "not up to 128; undecided at 128"),
                ("fsf", "128\u2013256", "between 128 and 256; faster at 64"),
                ("fs", "> 128", "not up to 128; faster at 64"),
                ("fae", "> 256", "not up to 256; undecided at 128, 256; faster at 64"),
                ("aa", "undecided", "not known; undecided at 64, 128")):
            crossing = Crossing(tuple((64 << i, outcome_names[letter]) for i, letter in enumerate(outcomes)))
            self.assertEqual((crossing.short_text, crossing.description), (short, words), outcomes)

    def test_against_its_own_direction(self) -> None:
        result = describe_crossings({"streaming-full-H:4": {64: 3.0, 128: 12.0}, "streaming-causal-H:4": {64: 1.0, 128: 6.0},
                                     "elu_plus_one-both-H:4": {64: 2.0, 128: 4.0}, "elu_plus_one-causal-H:4": {64: 2.0, 128: 4.0},
                                     "ascending": {64: 4.0, 128: 8.0}})
        self.assertEqual(result, {"Linear Transformer": "at 64 already, the shortest measured", "slicing-sort": "between 64 and 128",
                                  "Linear Transformer, causal": "between 64 and 128"})

    def test_heads_are_their_own_lines(self) -> None:
        table_rows = make_rows({"streaming-full-H:2": {64: 1.0, 128: 2.0}, "streaming-full-H:4": {64: 1.0, 128: 4.0},
                                "elu_plus_one-both-H:2": {64: 3.0, 128: 3.0}, "elu_plus_one-both-H:4": {64: 3.0, 128: 3.0}})
        self.assertEqual({curve.heads: crossing.short_text for curve, crossing in crossings_of(table_rows).items()}, {2: "> 128", 4: "64\u2013128"})

    def test_missing_results(self) -> None:
        """Lengths with a failure are ignored, several lengths are required, and a repeated text is the same input."""
        self.assertEqual(describe_crossings({"streaming-full-H:4": {64: 1.0, 128: None, 20000: 9.0}, "elu_plus_one-both-H:4": {64: 2.0, 128: 1.0, 20000: 3.0}}),
                         {"Linear Transformer": "between 64 and 20000"})
        self.assertEqual(describe_crossings({"streaming-full-H:4": {64: 1.0}, "elu_plus_one-both-H:4": {64: 2.0, 128: 1.0}}), {})
        self.assertEqual(describe_crossings({"streaming-full-H:4": {64: 1.0, 128: 2.0}, "elu_plus_one-causal-H:4": {64: 2.0, 128: 1.0}}), {})
        self.assertEqual(crossover_table(make_rows({"streaming-full-H:4": {64: 1.0, 128: 2.0}})), "")

    def test_too_few_rounds(self) -> None:
        self.assertEqual(describe_crossings({"streaming-full-H:4": {64: 1.0, 128: 4.0}, "elu_plus_one-both-H:4": {64: 3.0, 128: 3.0}}, rounds=5),
                         {"Linear Transformer": "not known; undecided at 64, 128"})

    def test_table(self) -> None:
        table = crossover_table(make_rows({"streaming-full-H:4": {64: 1.0, 128: 4.0}, "elu_plus_one-both-H:4": {64: 3.0, 128: 3.0}}, "training"))
        line, = [line for line in table.splitlines() if line.startswith("Linear")]
        self.assertRegex(line, r"forward \+ backward +f32 +1xNx256 +between 64 and 128$")
