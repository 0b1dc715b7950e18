# SPDX-License-Identifier: Apache-2.0
"""Tests of the options of bench/run."""
import json
import os
import tempfile
import unittest
from pathlib import Path

from report.command.options import UsageError, parse
from report.command.programs import EarlierResults, count_cases, default_results_path, find_newest_results
from report.rounds import make_case_groups


class Options(unittest.TestCase):
    def usage_error(self, *argv: str) -> str:
        with self.assertRaises(UsageError) as raised:
            parse(list(argv))
        return str(raised.exception)

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
        self.assertIn("has rounds instead", self.usage_error("--benchmark_min_time=1"))

    def test_shapes(self) -> None:
        shapes = parse(["--channels", "24,6,5", "--lengths", "37,22216"]).shapes
        self.assertEqual([shapes.heads_of(c) for c in (24, 6, 5)], [[4], [2], [1]])
        self.assertEqual([shapes.input_of(n) for n in shapes.lengths], ["text", "repeated_text"])
        self.assertEqual(parse(["--channels", "24", "--heads", "3,16,8", "--channels", "24,16"]).shapes.heads_of(24), [3, 8])
        # Programs of earlier commits accept only these flags.
        self.assertEqual(parse(["--lengths", "64"]).shapes.flags(), ["--batch", "8", "--lengths", "64"])
        self.assertEqual(parse(["--input", "relu"]).shapes.input_of(99999), "relu")

    def test_the_default_is_short(self) -> None:
        short, full = parse([]).shapes, parse(["--all"]).shapes
        self.assertEqual((short.lengths, short.built_dtypes()), ([2048], ["f32"]))
        self.assertEqual((full.lengths, full.built_dtypes()), ([1024, 2048, 3072, 4096], ["f32", "bf16"]))
        self.assertEqual(parse(["--filter", "x"]).shapes.built_dtypes(), ["f32", "f64", "f16", "bf16"])
        self.assertEqual(parse(["--all", "--dtypes", "f64"]).shapes.built_dtypes(), ["f64"])
        names = [f"{subject}/host/training/{dtype}/{policy}/text/B:8/N:2048/C:256/T:1" for dtype in ("f32", "bf16") for subject, policy in
                 (("slicing_sort", "ascending"), ("slicing_sort", "interleave"), ("softmax_attention", "streaming-full-H:4"), ("my_mixer", "custom"))]

        def arena_cases(*argv: str) -> list[str]:
            return [case.name for group in make_case_groups("host", names, parse(list(argv)).shapes) for case in group.cases]
        self.assertEqual(arena_cases(), [names[0], names[2], names[3]])
        self.assertEqual(arena_cases("--all"), [names[i] for i in (0, 1, 2, 3, 4, 6, 7)])
        self.assertEqual(arena_cases("--only", "--with", __file__), names[2:4])
        self.assertEqual(arena_cases("--dtypes", "bf16"), [names[4], names[6], names[7]])

    def test_results_of_other_settings_have_other_names(self) -> None:
        custom = ["--with", __file__]
        command_lines = [[], ["--all"], ["--lengths", "1024"], ["--lengths", "1024,2048"], ["--all", "--lengths", "1024"], ["--channels", "1024"], ["--dtypes", "bf16"],
                         ["--heads", "2"], ["--batch", "32"], ["--rounds", "7"], ["--input", "normal"], ["--text", __file__], ["--peers"], ["--against", "HEAD"],
                         custom, [*custom, "--only"], ["--filter", "x"], ["--targets"]]
        names = [default_results_path(parse(argv)).name for argv in command_lines]
        self.assertEqual(len(set(names)), len(command_lines), names)
        self.assertEqual(names[:5], ["arena.json", "arena-all.json", "arena-N1024.json", "arena-N1024.2048.json", "arena-all-N1024.json"])
        self.assertEqual(default_results_path(parse(["--batch", "8", "--lengths", "7", "--against", "a/b~1"])).name, "arena-N7-against-a_b_1.json")

    def test_the_newest_results_are_compared(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            options = parse(["--build", folder])
            self.assertEqual(find_newest_results(options).name, "arena.json")
            (Path(folder) / "bench-results").mkdir()
            for i, name in enumerate(("arena", "arena-all", "arena-all-cuda", "arena-torch", "arena-before", "filter")):
                path = Path(folder).resolve() / "bench-results" / f"{name}.json"
                path.touch()
                os.utime(path, (i, i))
            self.assertEqual(find_newest_results(options).name, "arena-all.json")

    def test_larger_results_are_kept(self) -> None:
        def write(path: Path, cases: int) -> None:
            rows = [{"name": f"csp/host/forward/f32/custom/text/B:1/N:{i + 1}/C:1", "ns_per_element": 1} for i in range(cases)]
            path.write_text(json.dumps({"context": {}, "benchmarks": rows}), encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"out{part}.json" for part in ("", "-before", "-before1", "-before2")]
            path = files[0]
            # Cases before and after the run, and then in each file.
            for old, new, found in ((3, 3, [3, 0, 0, 0]), (2, 3, [3, 0, 0, 0]), (4, None, [4, 0, 0, 0]), (9, 2, [2, 9, 0, 0]), (3, 2, [2, 9, 3, 0]),
                                    (9, 8, [8, 9, 3, 9])):
                with tempfile.TemporaryDirectory() as scratch:
                    write(path, old)
                    earlier = EarlierResults([path, Path(folder) / "none.json"], Path(scratch))
                    path.unlink() if new is None else write(path, new)
                    notices = earlier.restore_or_archive()
                    self.assertEqual(list(map(count_cases, files)), found)
                    self.assertEqual(len(notices), int(new is not None and old > new))
                    self.assertTrue(all(f"out.json held {old} cases and now holds {new}" in notice for notice in notices), notices)

    def test_errors_are_one_sentence(self) -> None:
        for argv, text in {("--bogus",): "unknown option --bogus", ("--text",): "--text needs a value", ("--text", "/nowhere"): "cannot read",
                           ("--lengths", "0"): "not a list such as 1024,4096", ("--lengths", "5,"): "not a list", ("--batch", "x"): "positive number",
                           ("--clock", "sun"): "invalid choice", ("--arena", "--list"): "not allowed with", ("--sweep", "--only-cuda"): "only on the host",
                           ("--compare", "nowhere.json"): "no results nowhere.json", ("--dtypes", "f32,f8"): "'f8' is not an element type",
                           ("--input", "noise"): "invalid choice", ("--heads", "3"): "none of --heads 3 divides 256 channels",
                           ("--heads", "4,5"): "--heads 5 divides none of the channels 256",
                           ("--targets", "--channels", "24"): "--targets has fixed shapes",
                           ("--list", "--against", "HEAD"): "--against is for the arena", ("--only",): "--only requires user-defined operators",
                           ("--list", "--only", "--with", __file__): "--only is for --arena", ("--targets", "--all"): "--all is for --arena"}.items():
            error = self.usage_error(*argv)
            self.assertIn(text, error)
            self.assertNotIn("\n", error)
