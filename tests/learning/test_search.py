# SPDX-License-Identifier: Apache-2.0
"""Tests of `examples/learning/run --search`, without training."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from command import presets, search
from command.__main__ import main
from command.options import UsageError, parse
from command.runs import Result, Run

PAGE = Path(__file__).parents[2] / "docs/learning/results/README.md"


def seed_result(seed: int, *accuracies: float) -> tuple[Run, Result]:
    tests = [{"step": step, "accuracy": accuracy, "loss": 1.5, "samples": 2000, "seconds": 60.0 * step}
             for step, accuracy in enumerate(accuracies, 1)]
    return Run({"model": "csp"}, seed, Path()), Result({"parameters": 9}, [], tests, {"reason": "steps"})


class Search(unittest.TestCase):
    def test_trials_hold_samples_out_and_runs_do_not(self) -> None:
        trials = search.trial_flags("small/listops-100", "csp-none-ascending", {"width": "8"})
        self.assertEqual(list(trials), ["3e-4", "1e-3", "3e-3"])
        for rate, flags in trials.items():
            self.assertEqual([flags[key] for key in ("rate", "validation", "steps", "group", "width")], [rate, "2000", "1000", "0", "8"])
        self.assertNotIn("validation", presets.flags_of("small/listops-100", None, "csp", {}))

    def test_the_lower_rate_of_a_tie_is_chosen(self) -> None:
        self.assertEqual(search.best_rate({"3e-3": 0.4, "3e-4": 0.3, "1e-3": 0.4}), "1e-3")

    def test_an_entry_has_the_last_and_the_best_test(self) -> None:
        entry = search.entry_of("small/listops-100", "csp", {"group": "16"}, {"3e-4": 0.2, "1e-3": 0.3},
                                [seed_result(1, 0.5, 0.4), seed_result(2, 0.42)], {}, {"nothing": 0.17, "the first token": 0.36})
        self.assertEqual((entry["rate"], entry["accuracy"], entry["best accuracy"]), ("1e-3", [0.4, 0.42], [0.5, 0.42]))
        table = search.table("small/listops-100", [entry])
        self.assertEqual(table.rows, [["`csp group=16`", "1e-3", "41.0 % +- 1.4", "46.0 % +- 5.7", "beats the first-token classifier",
                                       "2"]])
        self.assertEqual(len(table.columns), 6)  # no published numbers of such short lists, and no more tests
        long = search.table("small/listops-1999", [{**entry, "preset": "small/listops-1999", "model": "softmax"}])
        self.assertEqual((long.columns[-2:], long.rows[0][-2]), (["published", "by whom"], "37.10 %"))

    def test_more_tests_decide_what_is_beaten(self) -> None:
        more = {"more samples": 20000, "more accuracy": [0.382, 0.384]}
        entry = search.entry_of("small/listops-100", "csp", {}, {"1e-3": 0.3}, [seed_result(1, 0.5), seed_result(2, 0.5)], more,
                                {"nothing": 0.17, "the first token": 0.36, "more": 0.43})
        self.assertEqual((entry["accuracy"], entry["baselines"]), ([0.5, 0.5], "beats the first-token classifier"))
        mean, error = search.final_accuracy(entry)
        self.assertAlmostEqual(mean, 0.383)
        self.assertAlmostEqual(error, 0.00358, places=6)  # sqrt(0.383 * 0.617 / 20000 + 0.001414^2 / 2)
        self.assertEqual(search.table("small/listops-100", [entry]).rows[0][4], "38.3 % +- 0.1 of 20,000")

    def test_a_preset_without_rates_and_wrong_options_are_refused(self) -> None:
        for call, says in ((["paramixer/order"], "has no rates to search; small/listops-100, "),
                           (["small/digits", "--set", "rate=1"], "--search sets rate itself")):
            with self.assertRaisesRegex(UsageError, says):
                main(["--search", *call])
        for option in (["--table", "listops"], ["--preset", "small/digits"], ["--minutes", "3"], ["--model", "csp"], ["--lengths", "8"]):
            with self.assertRaises(UsageError):
                parse(["--search", "small/digits", *option])

    def test_the_page_has_the_stored_tables(self) -> None:
        page = PAGE.read_text(encoding="utf-8")
        entries = search.read_entries(search.STORED)
        for name in {entry["preset"] for entry in entries}:
            self.assertTrue("\n" + search.table(name, entries).markdown().split("\n\n")[-1] in page, f"the page lacks the table of {name}")
        for entry in entries:
            self.assertTrue(all(entry[key] for key in ("origin", "command", "accuracy", "best accuracy", "validation")), entry)
            self.assertEqual(entry["rate"], search.best_rate(entry["validation"]))

    def test_a_list_builds_nothing(self) -> None:
        with mock.patch("command.__main__.build_program", side_effect=AssertionError), contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(main(["--list"]), 0)
        self.assertIn("preset small/listops-100", output.getvalue())

    def test_a_search_trains_each_rate_once_and_the_best_with_all_seeds(self) -> None:
        class FakeRuns:
            program = Path("slicesort_train")
            trained: list[tuple[str, int, bool]] = []

            def check_flags(self, flags: dict[str, str]) -> None:
                pass

            def ensure_all(self, settings: list[dict[str, str]], seeds: int) -> list[list[tuple[Run, Result]]]:
                self.trained += [(flags["rate"], seeds, "validation" in flags) for flags in settings]
                return [[seed_result(seed, {"1e-3": 0.9}.get(flags["rate"], 0.8)) for seed in range(1, seeds + 1)] for flags in settings]
        with tempfile.TemporaryDirectory() as folder:
            for model in ("none", "csp", "none"):
                runs = FakeRuns()
                runs.trained = []
                search.make_search(parse(["--search", "small/digits", "--models", model, "--seeds", "2", "--results", folder]), runs, "today")
                self.assertEqual(runs.trained, [("3e-4", 1, True), ("1e-3", 1, True), ("3e-3", 1, True), ("1e-3", 2, False)])
            entries = search.read_entries(Path(folder) / "search.json")
            text = (Path(folder) / "search-small-digits.md").read_text(encoding="utf-8")
        self.assertEqual([(entry["model"], entry["rate"], entry["accuracy"]) for entry in entries],
                         [("csp", "1e-3", [0.9, 0.9]), ("none", "1e-3", [0.9, 0.9])])
        self.assertEqual(text.count("| 1e-3 | 90.0 % +- 0.0 |"), 2)

    def test_a_search_of_generated_samples_tests_the_last_runs_again(self) -> None:
        runs = mock.Mock(program=Path("slicesort_train"))
        runs.ensure_all.side_effect = lambda settings, seeds: [[seed_result(seed, 0.4) for seed in range(1, seeds + 1)] for _ in settings]
        runs.accuracy_of.side_effect = lambda run, samples: run.seed / 8
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(search, "run_baselines", return_value={"nothing": 0.17}) as baselines:
            search.make_search(parse(["--search", "small/listops-100", "--models", "csp", "--seeds", "2", "--results", folder]), runs, "today")
            entry, = search.read_entries(Path(folder) / "search.json")
        self.assertEqual((entry["more samples"], entry["more accuracy"], entry["accuracy"]), (20000, [0.125, 0.25], [0.4, 0.4]))
        self.assertEqual({call.args[1] for call in runs.accuracy_of.call_args_list}, {20000})
        self.assertEqual(baselines.call_args.args[1]["test-samples"], "20000")


if __name__ == "__main__":
    sys.exit(unittest.main())
