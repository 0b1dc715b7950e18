# SPDX-License-Identifier: Apache-2.0
"""Tests of the costs of models and of the figure of accuracy, speed and memory, without training."""
import argparse
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from command import costs, search, speed, tradeoff
from command.__main__ import main
from command.build import Failed
from command.options import UsageError, parse
from command.runs import Runs
from command.stored import is_same, read_entries, title_of, write_entry

PAGES = [(Path(__file__).parents[2] / "docs/learning" / name).read_text(encoding="utf-8") for name in ("README.md", "results/README.md")]
ENTRY = {"preset": "small/listops-100", "model": "csp", "settings": {"group": "16"}, "rate": "1e-3", "accuracy": [0.3, 0.4], "test samples": 625}


class FakeRuns:
    """Has a "training program" that the tests never start."""
    program, results, data = Path("/bin/true"), Path(), None

    def check_flags(self, flags: dict[str, str]) -> None:
        pass


class Costs(unittest.TestCase):
    def test_seconds_are_differences_and_memory_is_the_peak_of_training(self) -> None:
        calls = []

        def fake(command: list[str]) -> costs.Usage:
            flags = dict(zip(command[1::2], command[2::2]))
            calls.append(flags)
            return costs.Usage(5 + 2 * int(flags["--steps"]) + 0.25 * int(flags["--test-samples"]), 100 * int(flags["--steps"]))
        with mock.patch.object(costs, "usage_of", fake):
            found = costs.measure(FakeRuns(), {"model": "csp", "batch": "8", "steps": "9"}, 3)
        self.assertEqual(found, {"training seconds": 2, "inference seconds": 2, "peak bytes": 400})  # a batch is 8 samples of 0.25
        self.assertTrue(all((call["--threads"], call["--test-every"]) == ("1", "0") for call in calls))

    def test_the_usage_of_a_process(self) -> None:
        used = costs.usage_of([sys.executable, "-c", "sum(range(10**6)); x = bytearray(64 << 20)"])
        self.assertGreater(used.seconds, 0)
        self.assertGreater(used.peak, 64 << 20)
        with self.assertRaisesRegex(Failed, "ended with status 3"):
            costs.usage_of([sys.executable, "-c", "raise SystemExit(3)"])
        with self.assertRaisesRegex(Failed, "ended with status 1, there is no flag: "):
            costs.usage_of([sys.executable, "-c", "raise SystemExit('a long text' * 10**5 + chr(10) + 'there is no flag')"])

    def test_measured_entries_are_kept(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(costs, "measure") as measure:
            measure.return_value = {"training seconds": 2.0, "inference seconds": 0.5, "peak bytes": 3e8}
            for models in ("none", "none,csp"):
                options = parse(["--table", "costs", "--models", models, "--lengths", "1000", "--results", folder])
                with contextlib.redirect_stderr(io.StringIO()):
                    table = costs.make_table(options, FakeRuns(), "today")
        self.assertEqual(measure.call_count, 2)
        self.assertEqual(table.rows, [[f"`{model}`", "1,000", "4,000", "16,000", "300"] for model in ("none", "csp")])

    def test_stored_entries_replace_those_of_the_same_runs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "new" / "file.json"
            self.assertEqual(read_entries(path), [])
            for entry in (ENTRY, {**ENTRY, "settings": {}}, {**ENTRY, "rate": "3e-3"}):
                written = write_entry(path, entry)
            self.assertEqual(read_entries(path), written)
        self.assertEqual([(title_of(entry), entry["rate"]) for entry in written], [("csp", "1e-3"), ("csp group=16", "3e-3")])

    def test_wrong_options(self) -> None:
        for wrong in (["--table", "costs", "--set", "length=8"], ["--figure", "tradeoff", "--lengths", "8"]):
            with self.assertRaises(UsageError):
                parse(wrong)


class Identities(unittest.TestCase):
    def test_a_folder_has_one_identity(self) -> None:
        def folder_of(data: Path | None) -> str:
            return Runs(Path(sys.executable), Path(), None, 1, data).run_of({"task": "mnist"}, 1).folder.name
        self.assertEqual(folder_of(Path("digits")), folder_of(Path.cwd() / "other" / ".." / "digits"))
        self.assertEqual(len({folder_of(data) for data in (None, Path("digits"), Path("other"))}), 3)


class Speed(unittest.TestCase):
    def test_both_programs_have_the_same_threads_and_a_failure_keeps_the_other_rows(self) -> None:
        def fake(runs: Runs, model: str, length: int, _extra: dict[str, str]) -> tuple[float, float, int]:
            if model == "softmax":
                raise Failed("the model needs more memory than there is")
            return 1000.0 * runs.threads, 1.0, 7
        errors = io.StringIO()
        runs = Runs(Path(sys.executable), Path(), None, None, None)
        with mock.patch.object(speed, "measure_ours", fake), mock.patch.object(speed, "measure_in_torch", return_value=(500.0, 2.0)) as in_torch, \
             mock.patch.object(Runs, "check_flags"), mock.patch("os.sched_getaffinity", return_value={0, 1, 2}), contextlib.redirect_stderr(errors):
            table = speed.make_table(runs, ["csp", "softmax"], [8], True, {})
            with self.assertRaisesRegex(Failed, "nothing was measured"):
                speed.make_table(runs, ["softmax"], [8], True, {})
        self.assertEqual(table.rows, [["csp", "8", "3,000", "1", "500", "2", "6.00"], ["softmax", "8", "failed", "", "", "", ""]])
        in_torch.assert_called_once_with("csp", 8, 3, 7)
        self.assertIn("softmax, 8: the model needs more memory than there is", errors.getvalue())
        self.assertIn("3 threads", table.notes[0])


class Tradeoff(unittest.TestCase):
    COSTS = {"training seconds": 0.02, "inference seconds": 0.005, "peak bytes": 5e7}

    def test_tasks_from_files_are_refused_before_the_build(self) -> None:
        with mock.patch("command.__main__.build_program", side_effect=AssertionError):
            with self.assertRaisesRegex(UsageError, "small/digits has the task mnist, which is read from files"):
                main(["--figure", "tradeoff", "--preset", "small/digits"])

    def test_entries_without_costs_are_left_out(self) -> None:
        entries = [ENTRY, {**ENTRY, "model": "none", "accuracy": [0.2]}, {**ENTRY, "model": "chord", "accuracy": [0.4]}]
        measured = [{**{key: entry[key] for key in ("preset", "model", "settings")}, **self.COSTS} for entry in entries[::2]]
        self.assertEqual([entry["model"] for entry in tradeoff.joined(entries, measured)], ["chord", "csp"])

    def test_the_headline_has_other_tasks(self) -> None:
        entries = [ENTRY, {**ENTRY, "preset": "small/digits", "settings": {"group": "16", "patch": "2"}, "accuracy": [0.5]}]
        row, = tradeoff.headline(entries, [{**{key: ENTRY[key] for key in ("preset", "model", "settings")}, **self.COSTS}]).rows
        # sqrt(0.35 * 0.65 / 625 + 0.0707^2 / 2) = 0.0535
        self.assertEqual(row, ["`csp group=16`", "35.0 % +- 5.4", "50.0 % +- 2.0", "to run", "50", "200", "50"])
        # More tests replace the others, except those of long lists.
        more = {"more samples": 2500, "more accuracy": [0.5]}
        tested_more = [{**ENTRY, **more}, {**ENTRY, **more, "preset": "small/listops-1999", "accuracy": [0.4]}]
        row, = tradeoff.headline(tested_more, [{**{key: ENTRY[key] for key in ("preset", "model", "settings")}, **self.COSTS}]).rows
        self.assertEqual((row[1], row[3]), ("50.0 % +- 1.0", "40.0 % +- 2.0"))

    def test_only_missing_models_are_trained_and_measured(self) -> None:
        def fake_search(o: argparse.Namespace, _runs: FakeRuns, _origin: str) -> None:
            for model in o.models:
                write_entry(o.results / "search.json", {**ENTRY, "preset": o.search, "model": model, "settings": {}})
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tradeoff, "make_search", side_effect=fake_search) as trained, \
             mock.patch.object(tradeoff, "measure", return_value=self.COSTS) as measured, mock.patch.object(tradeoff, "draw") as drawn:
            for models in ("none", "none,csp"):
                with contextlib.redirect_stderr(io.StringIO()):
                    tradeoff.make_figure(parse(["--figure", "tradeoff", "--models", models, "--results", folder]), FakeRuns(), "today")
        self.assertEqual([call.args[0].models for call in trained.call_args_list], [["none"], ["csp"]])
        self.assertEqual(measured.call_count, 2 * tradeoff.REPETITIONS)
        self.assertEqual([entry["model"] for entry in drawn.call_args.args[1]], ["none", "csp"])


class Pages(unittest.TestCase):
    def test_the_pages_have_the_stored_costs(self) -> None:
        for page, table, stored in ((PAGES[0], tradeoff.headline(read_entries(search.STORED), read_entries(tradeoff.STORED)), tradeoff.STORED),
                                    (PAGES[1], costs.table(read_entries(costs.STORED)), costs.STORED)):
            self.assertTrue("\n" + table.markdown().split("\n\n")[-1] in page, f"the page lacks the table of {stored}")
            for entry in read_entries(stored):
                self.assertTrue(all(entry[key] for key in ("origin", "command", "training seconds", "peak bytes")), entry)
        for entry in read_entries(tradeoff.STORED):
            self.assertTrue(any(is_same(entry, other) for other in read_entries(search.STORED)), entry)


if __name__ == "__main__":
    sys.exit(unittest.main())
