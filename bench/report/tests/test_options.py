# SPDX-License-Identifier: Apache-2.0
"""What a call of bench/run asks for, and what is refused."""
import tempfile
import unittest
from pathlib import Path

from report.command.options import Refused, parse


class Options(unittest.TestCase):
    def refused(self, *argv: str) -> str:
        with self.assertRaises(Refused) as why:
            parse(list(argv))
        return str(why.exception)

    def test_a_run_option_beside_compare_asks_for_a_run(self) -> None:
        with tempfile.NamedTemporaryFile(suffix=".json") as old:
            compare = ["--compare", old.name]
            self.assertTrue(parse(compare).only_compares)
            self.assertTrue(parse([*compare, "--json", "new.json"]).only_compares)
            for options in (["--lengths", "1024"], ["--channels=24"], ["--no-cuda"], ["--rounds", "6"], ["--arena"], ["--filter", "x"],
                            ["--csv"], ["--against", "HEAD"]):
                for argv in (compare + options, options + compare):
                    self.assertFalse(parse(argv).only_compares, argv)
            self.assertEqual(parse([*compare, "--lengths", "1024"]).mode, "arena")

    def test_values_may_begin_with_a_dash(self) -> None:
        self.assertEqual(parse(["--filter", "-/text/", "--no-cuda"]).filter, "-/text/")
        self.assertEqual(parse(["--list", "-/text/"]).filter, "-/text/")
        self.assertEqual(parse(["--list", "--no-cuda"]).filter, "")

    def test_flags_reach_google_benchmark(self) -> None:
        self.assertEqual(parse(["--filter", "x", "--benchmark_min_time=1"]).flags, ["--benchmark_min_time=1"])
        self.assertIn("rounds of its own", self.refused("--benchmark_min_time=1"))

    def test_shapes(self) -> None:
        shapes = parse(["--channels", "24,6,5", "--lengths", "37,22216"]).shapes
        self.assertEqual([shapes.heads_of(c) for c in (24, 6, 5)], [[4], [2], [1]])
        self.assertEqual([shapes.input_of(n) for n in shapes.lengths], ["text", "repeated_text"])
        self.assertEqual(parse(["--channels", "24", "--heads", "3,16,8", "--channels", "24,16"]).shapes.heads_of(24), [3, 8])
        # Programs of earlier commits know no other flags than these.
        self.assertEqual(parse(["--lengths", "64"]).shapes.flags(), ["--batch", "8", "--lengths", "64"])
        self.assertEqual(parse(["--input", "relu"]).shapes.input_of(99999), "relu")

    def test_mistakes_are_one_sentence(self) -> None:
        for argv, said in {("--bogus",): "unknown option --bogus", ("--text",): "--text needs a value", ("--text", "/nowhere"): "cannot read",
                           ("--lengths", "0"): "not a list such as 1024,4096", ("--lengths", "5,"): "not a list", ("--batch", "x"): "positive number",
                           ("--clock", "sun"): "invalid choice", ("--arena", "--list"): "not allowed with", ("--sweep", "--only-cuda"): "the host's",
                           ("--compare", "nowhere.json"): "no results nowhere.json", ("--dtypes", "f32,f8"): "'f8' is not an element type",
                           ("--input", "noise"): "invalid choice", ("--heads", "3"): "none of --heads 3 divides 256 channels",
                           ("--heads", "4,5"): "--heads 5 divides none of the channels 256",
                           ("--targets", "--channels", "24"): "--targets has shapes of its own",
                           ("--list", "--against", "HEAD"): "--against is for the arena"}.items():
            why = self.refused(*argv)
            self.assertIn(said, why)
            self.assertNotIn("\n", why)


if __name__ == "__main__":
    unittest.main()
