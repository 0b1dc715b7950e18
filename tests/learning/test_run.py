# SPDX-License-Identifier: Apache-2.0
"""Tests of examples/learning/run and of the training program LEARNING_PROGRAM (skipped without it):
`LEARNING_PROGRAM=.. PYTHONPATH=examples/learning:bench python3 -m unittest discover -s tests/learning -p 'test_*.py'`."""
import contextlib
import dataclasses
import io
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import digits
from command import figures, page, papers, presets, tables
from command.options import UsageError, parse
from command.runs import Result, Run, Runs, read_run_log
from report.command.build import python_with

PROGRAM = os.environ.get("LEARNING_PROGRAM")
SMALL = {"task": "adding", "length": "32", "model": "chord", "block": "bare", "width": "16", "hidden": "16", "pool": "flatten", "batch": "20",
         "test-samples": "200"}


def command_line(flags: dict[str, str], **more: str) -> list[str]:
    return [str(PROGRAM)] + [word for name, value in {**flags, **more}.items() for word in ("--" + name.replace("_", "-"), value)]


def tensor_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return data[8 + struct.unpack("<Q", data[:8])[0]:]


def finished_run(model: str, accuracy: float, step: int, steps: int = 100, seed: int = 1) -> tuple[Run, Result]:
    test = {"event": "test", "step": step, "accuracy": accuracy, "loss": 1.0, "samples": 2000, "seconds": 90.0}
    return Run({"model": model, "steps": str(steps)}, seed, Path()), Result({}, [], [test], {"reason": "steps"})


class Tables(unittest.TestCase):
    BASELINES = {"nothing": 0.17, "the first token": 0.36, "more": 0.43}

    def test_a_baseline_is_beaten_by_two_standard_errors(self) -> None:
        error = tables.standard_error(0.38, 2000)
        self.assertAlmostEqual(error, 0.01085, places=5)
        both = 0.015261  # with the error of the baseline, 36 % of 2,000: sqrt(0.010854^2 + 0.010733^2)
        for accuracy, expected in ((0.36 + 2.01 * both, "the first-token classifier"), (0.36 + 1.99 * both, "the majority class"), (0.17, "no baseline")):
            self.assertEqual(tables.describe_beaten_baseline(accuracy, error, self.BASELINES, 2000), f"beats {expected}")

    def test_baselines_have_the_samples_of_the_run(self) -> None:
        flags = {"task": "listops", "model": "none", "length": "40", "shortest": "10", "training-samples": "3000", "test-samples": "500", "data-seed": "5"}
        with mock.patch.object(tables, "output_of", return_value='{"event": "baselines", "nothing": 0.17}') as output_of:
            self.assertEqual(tables.run_baselines(Runs(Path(sys.executable), Path(), None, 1, None), flags), {"nothing": 0.17})
        words = output_of.call_args.args[2:]
        self.assertEqual(dict(zip(words[::2], words[1::2])),
                         {"--length": "40", "--shortest": "10", "--training-samples": "3000", "--test-samples": "500", "--data-seed": "5"})

    def test_a_large_spread_of_seeds_beats_less(self) -> None:
        self.assertAlmostEqual(tables.standard_error_of_mean(0.5, None, 1, 2500), 0.01)
        self.assertAlmostEqual(tables.standard_error_of_mean(0.5, 0.03, 4, 2500), 0.0180278, places=7)  # sqrt(0.01^2 + 0.015^2)
        near = tables.accuracy_row([finished_run("csp", 0.415, 100), finished_run("csp", 0.425, 100, seed=2)], self.BASELINES, None, [])
        far = tables.accuracy_row([finished_run("csp", 0.22, 100), finished_run("csp", 0.62, 100, seed=2)], self.BASELINES, None, [])
        self.assertEqual((near[1], near[4]), ("42.0 % +- 0.7", "beats the first-token classifier"))
        self.assertEqual((far[1], far[4]), ("42.0 % +- 28.3", "beats no baseline"))

    def test_means_spreads_and_what_is_scaled(self) -> None:
        row = tables.accuracy_row([finished_run("csp", 0.40, 100), finished_run("csp", 0.44, 100, seed=2)], self.BASELINES, [37.65, "a paper"], [])
        self.assertEqual(row, ["csp", "42.0 % +- 2.8", "2", "ours", "beats the first-token classifier", "100", "1.5", "37.65 %", "quoted: a paper"])
        row = tables.accuracy_row([finished_run("none", 0.17, 50)], self.BASELINES, None, ["width 16, not 64"])
        self.assertEqual(row[1:5], ["17.0 %", "1", "ours, scaled: width 16, not 64; 50 of 100 steps", "beats no baseline"])

    def test_a_run_without_a_test_has_a_row(self) -> None:
        run, result = finished_run("none", 0.17, 50)
        result.test.clear()
        row = tables.accuracy_row([(run, result)], self.BASELINES, [37.65, "a paper"], [])
        self.assertEqual(row, ["none", "", "", "no test yet", "", "", "", "37.65 %", "quoted: a paper"])

    def test_a_table_on_the_page(self) -> None:
        table = tables.Table("A & B", ["It says <so>."], ["x", "y"], [["1", "<2>"]])
        text = page.html_from_markdown(table.markdown())
        for part in ("<h2>A &amp; B</h2>", "<p>It says &lt;so&gt;.</p>", "<th>y</th>", "<td>&lt;2&gt;</td>"):
            self.assertIn(part, text)
        quoted = page.html_from_markdown(tables.Table("A", [], ["x", "published"], [["1", "2"]]).markdown())
        self.assertIn('<td>1</td><td class="soft">2</td>', quoted)


class Papers(unittest.TestCase):
    DOCS, RESULTS = ((Path(__file__).parents[2] / "docs/learning" / name).read_text(encoding="utf-8") for name in ("README.md", "results/README.md"))

    def test_every_cell_has_a_state_and_a_reason(self) -> None:
        for name, table in papers.paper_tables().items():
            self.assertEqual(len(table["rows"]), len(set(table["rows"])), name)
            for text in sum(papers.cells(table), []):
                state, _, reason = text.partition(": ")
                self.assertIn(state, papers.STATES, name)
                self.assertTrue(reason, name)
                if state == "to run":
                    self.assertRegex(reason, "^examples/learning/run --", name)
                    parse(reason.split()[1:])

    def test_the_count_of_cells_is_on_the_page(self) -> None:
        total, states = papers.listing().splitlines()[-1].split(" cells: ")
        self.assertEqual(int(total), sum(len(table["rows"]) * len(table["columns"]) for table in papers.paper_tables().values()))
        self.assertEqual(int(total), sum(int(part.split()[0]) for part in states.split(", ")))
        words = {"needs --data": "need `--data`"}
        text = " ".join(self.DOCS.split())
        self.assertIn(f"Of {total} cells, ", text)
        for number, state in (part.split(" ", 1) for part in states.split(", ")):
            self.assertRegex(text, f" {number} (is |are )?{words.get(state, state)}")

    def test_the_count_of_rows_with_a_model_is_on_the_page(self) -> None:
        for title, name, first in (("Paramixer, table 1", "paramixer/1", 0), ("Sliceformer, tables 2 and 3", "sliceformer/2", 0),
                                   ("Sliceformer, tables 2 and 3", "sliceformer/3", 0), ("CSP, table 4, second part", "csp/4", 1)):
            table = papers.paper_tables()[name]
            rows, excluded = table["rows"][first:], table.get("excluded", {})
            self.assertIn(f"| {title} | {len(rows) - len(excluded)} of {len(rows)} |", self.DOCS)
            for model in {papers.model_of(row) for row in rows} - {*excluded}:
                self.assertRegex(self.DOCS, rf"\| {title} \|[^\n]*`{model}`", name)

    def test_the_page_has_the_stored_results(self) -> None:
        self.assertIn(papers.results_table() + "\n\n", self.RESULTS)
        for run in papers.stored_results():
            self.assertTrue(all(run[key] for key in ("date", "machine", "commit", "command", "seeds")), run)

    def test_the_page_has_the_results_with_a_class_token(self) -> None:
        self.assertIn(papers.class_token_table() + "\n\n", self.RESULTS)
        for run in papers.synthetic_runs("cls") + papers.synthetic_runs("flatten"):
            self.assertTrue(all(run[key] for key in ("date", "machine", "commit", "command", "tests")), run)
            self.assertIn(run["model"], papers.SYNTHETIC_MODELS)

    def test_the_page_has_the_table_of_pathfinder(self) -> None:
        self.assertIn("\n" + papers.pathfinder_table().markdown().split("\n\n")[-1], self.RESULTS)
        for run in papers.read_entries(papers.PATHFINDER):
            self.assertTrue(all(run[key] for key in ("date", "machine", "commit", "command", "seeds")), run)
            self.assertEqual(run["tests"][-1], [run["steps"], run["accuracy"]])
            self.assertIn(run["model"], papers.PATHFINDER_MODELS)

    def test_a_cell_has_the_best_run_of_its_model(self) -> None:
        self.assertEqual(papers.cell("listops", "sort-ascending"), "measured: 37.6 % at width 64 (class token, 1e-3)")
        self.assertEqual(papers.cell("listops", "mega-csp"), "to run: examples/learning/run --search small/listops-1999 --models mega-csp")
        self.assertRegex(papers.cell("all rows: adding 256", "chord"), r"^measured: \d+\.\d % after 2,500 steps, one epoch$")
        self.assertEqual(papers.cell("all rows: order 32768", "chord"), "to run: examples/learning/run --figure order --models chord --lengths 32768")
        with self.assertRaises(KeyError):
            papers.paper_table("csp/44")


class Figures(unittest.TestCase):
    @staticmethod
    def run_of(model: str, accuracies: dict[int, float], steps: int) -> tuple[Run, Result]:
        tests = [{"step": step, "accuracy": accuracy} for step, accuracy in accuracies.items()]
        return Run({"model": model, "steps": str(steps)}, 1, Path()), Result({}, [], tests, {})

    def test_a_curve_is_where_all_seeds_have_a_test(self) -> None:
        seeds = [self.run_of("chord", {10: 0.2, 20: 0.5, 30: 0.9}, 30), self.run_of("chord", {10: 0.4, 20: 0.6}, 30)]
        curve = figures.curve_of(seeds, ["1 epoch of 50"])
        self.assertEqual((curve.steps, curve.least, curve.greatest), ([10, 20], [0.2, 0.5], [0.4, 0.6]))
        self.assertAlmostEqual(curve.mean[0], 0.3)
        self.assertEqual(curve.kind, "ours, scaled: 1 epoch of 50; 20 of 30 steps")
        self.assertIsNone(figures.curve_of([self.run_of("chord", {}, 30)], []))

    def test_captions_name_what_is_scaled(self) -> None:
        whole, part = (figures.curve_of([self.run_of(model, {end: 0.5}, 20)], []) for model, end in (("none", 20), ("csp", 10)))
        self.assertEqual(figures.captions([whole, part], 1), ("one seed; dashed: the control without mixing", "none: ours\ncsp: ours, scaled: 10 of 20 steps"))
        self.assertIn("none can win here: the head reads all rows", figures.captions([dataclasses.replace(whole, pool="flatten"), part], 1)[1])
        self.assertEqual(figures.captions([part, part], 3), ("mean of 3 seeds, band from the least to the greatest", "all: ours, scaled: 10 of 20 steps"))


    def test_the_measures_of_models(self) -> None:
        python = python_with("numpy")
        if subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no Python here has numpy")
        process = subprocess.run([python, Path(__file__).with_name("check_model_figures.py")],
                                 capture_output=True, encoding="utf-8", check=False)
        self.assertEqual((process.returncode, process.stdout), (0, "4 checks\n"), process.stderr)


class Presets(unittest.TestCase):
    def test_models_change_a_preset_and_settings_come_last(self) -> None:
        flags = presets.flags_of("paramixer/adding", None, "sort-ascending", {"width": "48"})
        self.assertEqual((flags["block"], flags["width"], flags["model"]), ("pre_norm", "48", "sort-ascending"))
        self.assertEqual(presets.flags_of("paramixer/adding", None, None, {})["block"], "bare")

    def test_differences_from_the_paper_are_listed(self) -> None:
        def differences(name: str, free: tuple[str, ...] = (), **extra: str) -> list[str]:
            return presets.scaled_by(name, presets.flags_of(name, None, "csp", {key.replace("_", "-"): value for key, value in extra.items()}), free)
        self.assertEqual(differences("nystromformer/listops"), [])
        self.assertEqual(differences("nystromformer/listops", test_every="7", rate="1e-4"), [])  # the same rate as 0.0001
        self.assertEqual(differences("nystromformer/listops", steps="40", clip="1"), ["clip 1, not as usual", "steps 40, not 5000"])
        self.assertEqual(differences("paramixer/adding", ("length",), length="512", pool="cls"), ["1 epoch of 50", "pool cls, not flatten"])

    def test_digits_are_written_in_the_format_of_mnist(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            digits.write_split(Path(folder), "train", [[[0.0, 8.0, 16.0], [1.0, 2.0, 3.0]]], [7])
            images, labels = ((Path(folder) / f"train-{kind}-ubyte").read_bytes() for kind in ("images-idx3", "labels-idx1"))
        self.assertEqual(images, bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 128, 255, 16, 32, 48]))
        self.assertEqual(labels, bytes([0, 0, 8, 1, 0, 0, 0, 1, 7]))

    def test_unknown_ones_name_the_nearest_first(self) -> None:
        with self.assertRaisesRegex(UsageError, "there is no preset 'paramixer/addin'; there are paramixer/adding, "):
            presets.preset("paramixer/addin")

    def test_wrong_options(self) -> None:
        for call, says in (([], "say what to train"), (["--table", "listops", "--figure", "adding"], "do not go together"),
                           (["--task", "adding", "--lengths", "3"], "are for --table and --figure"), (["--seeds", "0"], "not a positive number"),
                           (["--set", "width"], "is not NAME=VALUE"), (["--set", "seed=3"], "option of its own: --seeds"),
                           (["--table", "listops", "--models", "csp,,none"], "has an empty name"),
                           (["--table", "listops", "--model", "csp"], "tables and figures take --models"),
                           (["--table", "listops", "--lengths", "64"], "it is --set length=N"),
                           (["--figure", "adding", "--set", "length=64"], "here it is --lengths"), (["--figure", "adding", "--torch"], "for --table speed"),
                           (["--figure", "spectra", "--lengths", "9"], "--lengths is not for --figure spectra"), (["--minutes", "-1"], "not a number of minutes")):
            with self.assertRaisesRegex(UsageError, says):
                parse(call)


class RunLogs(unittest.TestCase):
    def test_repeated_steps_of_a_resumed_run_count_once(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            lines = [{"event": "start", "step": 0}, {"event": "test", "step": 5, "accuracy": 0.1}, {"event": "test", "step": 10, "accuracy": 0.2},
                     {"event": "start", "step": 5}, {"event": "test", "step": 10, "accuracy": 0.3}, {"event": "end", "reason": "steps"}]
            torn = ['{"event":"te', "[" * 200000, '{"event":' * 100000, "7", '"start"', "null"]
            log.write_text("\n".join([*map(json.dumps, lines), *torn]), encoding="utf-8")
            result = read_run_log(log)
            self.assertEqual([(test["step"], test["accuracy"]) for test in result.test], [(5, 0.1), (10, 0.3)])
            self.assertTrue(result.complete)

    def test_a_run_that_began_again_has_not_ended(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            lines = [{"event": "start", "step": 0}, {"event": "test", "step": 10, "accuracy": 0.2, "seconds": 8.0},
                     {"event": "end", "reason": "steps", "seconds": 9.0}, {"event": "start", "step": 0}, {"event": "train", "step": 3, "seconds": 2.5}]
            log.write_text("\n".join(map(json.dumps, lines)) + "\n5\n", encoding="utf-8")
            result = read_run_log(log)
            self.assertFalse(result.complete)
            self.assertEqual((result.test, result.seconds), ([], 2.5))


@unittest.skipUnless(PROGRAM, "no program is built")
class Program(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name)

    def test_an_interrupted_run_goes_on_with_the_same_bits(self) -> None:
        whole, parts = self.folder / "whole", self.folder / "parts"
        subprocess.run(command_line(SMALL, steps="400", checkpoint=str(whole), threads="1"), check=True, capture_output=True)
        with subprocess.Popen(command_line(SMALL, steps="400", checkpoint=str(parts), threads="2"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            run.stdout.readline()  # the size, before the first step
            run.send_signal(signal.SIGINT)
        self.assertIn(run.returncode, (130, 0))  # 0: it ended before the signal
        process = subprocess.run(command_line(SMALL, steps="400", checkpoint=str(parts), threads="2"), check=True, capture_output=True, encoding="utf-8")
        self.assertIn("step 400: test loss", process.stdout)
        self.assertEqual(tensor_bytes(whole), tensor_bytes(parts))

    def test_a_call_that_does_not_train_yet_ends_at_once(self) -> None:
        call = [str(PROGRAM), "--baselines", "--test-samples", "16000000"]  # takes minutes
        with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            def waits_for_signals() -> bool:
                caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8"), re.MULTILINE)
                return bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)
            while not waits_for_signals():
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.stdout.read(), b"")
        self.assertEqual(process.returncode, 130)

    def test_a_checkpoint_with_a_wrong_step_is_refused(self) -> None:
        path = self.folder / "checkpoint"
        call = command_line(SMALL, steps="3", checkpoint=str(path))
        subprocess.run(call, check=True, capture_output=True)
        data = path.read_bytes()
        end = 8 + struct.unpack("<Q", data[:8])[0]
        for step in ("-1", "-5", "banana", "", "4", "9223372036854775807", "1e0"):
            header = json.loads(data[8:end])
            header["__metadata__"]["step"] = step
            text = json.dumps(header).encode()
            path.write_bytes(struct.pack("<Q", len(text)) + text + data[end:])
            process = subprocess.run(call, capture_output=True, encoding="utf-8", check=False)
            self.assertEqual((process.returncode, process.stderr), (1, f"slicesort_train: {path}: step is '{step}', must be a whole number from 0 to 3\n"))

    def test_a_run_log_on_a_full_disk_fails_the_run(self) -> None:
        for flag in ("run-log", "journal"):  # the second is deprecated
            process = subprocess.run(command_line({**SMALL, flag: "/dev/full"}, steps="2"), capture_output=True, encoding="utf-8", check=False)
            self.assertEqual((process.returncode, process.stderr), (1, "slicesort_train: cannot write the run log /dev/full: No space left on device\n"))

    def test_the_flag_readers_is_a_deprecated_name_of_baselines(self) -> None:
        call = ["--training-samples", "1000", "--test-samples", "100", "--length", "40", "--shortest", "10"]
        outputs = {subprocess.run([str(PROGRAM), flag, *call], check=True, capture_output=True, encoding="utf-8").stdout for flag in ("--baselines", "--readers")}
        self.assertEqual(len(outputs), 1)
        self.assertEqual(json.loads(outputs.pop())["event"], "baselines")

    def test_a_finished_run_is_tested_on_more_samples(self) -> None:
        runs = Runs(Path(PROGRAM), self.folder, None, 1, None)
        with contextlib.redirect_stderr(io.StringIO()):
            run = runs.ensure({**SMALL, "steps": "3"}, 1, "quiet")
        before = run.log.read_bytes(), run.checkpoint.read_bytes()
        self.assertEqual(runs.accuracy_of(run, 200), run.result().accuracy)
        self.assertNotEqual(runs.accuracy_of(run, 3000), run.result().accuracy)
        self.assertEqual((run.log.read_bytes(), run.checkpoint.read_bytes()), before)

    def test_a_finished_run_without_a_run_log_is_tested_again(self) -> None:
        flags = {**SMALL, "steps": "3", "checkpoint": str(self.folder / "checkpoint")}
        first = subprocess.run(command_line(flags), check=True, capture_output=True, encoding="utf-8").stdout
        again = subprocess.run(command_line(flags, run_log=str(self.folder / "log")), check=True, capture_output=True, encoding="utf-8").stdout
        result = read_run_log(self.folder / "log")
        self.assertTrue(result.complete)
        self.assertEqual(result.step, 3)
        self.assertEqual(first, again)  # the size and the test

    def test_the_system_may_provide_fewer_threads(self) -> None:
        def no_memory_for_stacks() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
        process = subprocess.run(command_line(SMALL, steps="2", threads="4096"), capture_output=True, encoding="utf-8", check=False, preexec_fn=no_memory_for_stacks)
        self.assertEqual(process.returncode, 0, process.stderr)

    def test_an_error_in_a_thread_has_a_message(self) -> None:
        process = subprocess.run(command_line({"task": "listops", "length": "300000", "shortest": "300000", "width": "1", "layers": "1", "batch": "2", "threads": "2",
                                     "training-samples": "2", "model": "none", "pool": "cls"}), capture_output=True, encoding="utf-8", check=False)
        self.assertEqual((process.returncode, process.stderr), (2, "slicesort_train: listops: no tree of such a length was found\n"))

    def test_a_checkpoint_of_another_run_is_refused(self) -> None:
        path = self.folder / "checkpoint"
        subprocess.run(command_line(SMALL, steps="2", checkpoint=str(path)), check=True, capture_output=True)
        process = subprocess.run(command_line({**SMALL, "rate": "0.01"}, steps="2", checkpoint=str(path)), capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(process.returncode, 1)
        self.assertIn("is of another run", process.stderr)

    def test_a_dry_run_says_the_memory_and_trains_nothing(self) -> None:
        process = subprocess.run([*command_line(SMALL, steps="2", checkpoint=str(self.folder / "none")), "--dry-run"], check=True, capture_output=True, encoding="utf-8")
        self.assertRegex(process.stdout, r"chord on adding: \d+ parameters, [\d.]+ MB for them and their moments, [\d.]+ MB for a step")
        self.assertFalse((self.folder / "none").exists())

    def test_a_probe_writes_the_rows_of_a_checkpoint(self) -> None:
        checkpoint, probe = self.folder / "checkpoint", self.folder / "probe"
        flags = {**SMALL, "model": "none", "pool": "cls", "steps": "2", "checkpoint": str(checkpoint)}
        subprocess.run(command_line(flags), check=True, capture_output=True)
        found = []
        for path in (checkpoint, self.folder / "missing"):  # without a checkpoint, of the initial model
            subprocess.run(command_line({**flags, "checkpoint": str(path), "probe": str(probe)}), check=True, capture_output=True)
            found.append(tensor_bytes(probe))
            self.assertIn(b'"rows.0":', probe.read_bytes())
        self.assertFalse((self.folder / "missing").exists())
        self.assertEqual(len(found[0]), len(found[1]))
        self.assertNotEqual(*found)

    def test_the_shifts_of_csp_are_printed(self) -> None:
        call = [str(PROGRAM), "--shifts", "16", "--width", "4", "--layers", "2", "--heads", "2"]
        lines = subprocess.run(call, check=True, capture_output=True, encoding="utf-8").stdout.splitlines()
        shifts = {entry["shift"]: entry["rows"] for entry in map(json.loads, lines)}
        self.assertEqual((shifts["linear"], shifts["per-head"], shifts["modular"]), ([4, 8, 12, 0] * 2, [0, 0, 2, 2] * 2, [0, 1, 2, 3] * 2))
        self.assertEqual((shifts["power"][0], shifts["power"][-1], len(shifts)), (0, 15, 6))

    def test_rejected_arguments(self) -> None:
        for flags, says in (({"model": "chrd"}, "there is no model 'chrd'; there are chord"), ({"steps": "x"}, "--steps is 'x', must be a whole number from 1 to"),
                            ({"pool": "average"}, "--pool is 'average', must be one of"),
                            ({"dropout": "1"}, "--dropout is '1', must be a number from 0 to below 1"),
                            ({"rate": "1e300"}, "--rate is '1e300', must be a number from 0 to 1e15"),
                            *(({name: "1000000000000000"}, f"--{name} is '1000000000000000', must be a whole number from ") for name in
                              ("threads", "layers", "factors", "width", "hidden", "head-hidden", "mixer-hidden", "inner", "heads", "reach", "group", "batch",
                               "length", "training-samples", "test-samples")),
                            ({"threads": "4e9"}, "--threads is '4e9', must be a whole number from 1 to 4096"),
                            ({"stpes": "3"}, "there is no flag --stpes; there are steps")):
            process = subprocess.run(command_line({**SMALL, **flags}), capture_output=True, encoding="utf-8", check=False)
            self.assertEqual(process.returncode, 2, process.stderr)
            self.assertIn(says, process.stderr)

    def test_every_model_takes_a_step(self) -> None:
        listed = subprocess.run([str(PROGRAM), "--list"], check=True, capture_output=True, encoding="utf-8").stdout
        models = [line.split()[1] for line in listed.splitlines() if line.startswith("model ")]
        self.assertGreater(len(models), 30)
        for model in models:
            for pool in ("mean", "cls"):
                flags = {"task": "listops", "length": "40", "shortest": "10", "model": model, "width": "8", "heads": "2", "batch": "4", "pool": pool,
                         "steps": "2", "test-samples": "6", "reach": "9" if model in ("cdil",) else "0"}
                process = subprocess.run(command_line(flags), capture_output=True, encoding="utf-8", check=False)
                self.assertEqual(process.returncode, 0, f"{model}, {pool}: {process.stderr}")
                self.assertIn("step 2: test loss", process.stdout)

    def test_a_mistake_is_noticed_before_anything_is_trained(self) -> None:
        with self.assertRaisesRegex(UsageError, "^there is no model 'chrd'; there are chord"):
            Runs(Path(str(PROGRAM)), self.folder, None, 1, None).ensure_all([{**SMALL, "steps": "2"}, {**SMALL, "model": "chrd"}], 1)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_command_that_is_ended_alone_ends_its_program_and_goes_on_later(self) -> None:
        call = [sys.executable, "-m", "command", "--program", str(PROGRAM), "--results", str(self.folder), "--task", "adding", "--threads", "1"]
        call += [word for name, value in {**SMALL, "steps": "10000000"}.items() if name not in ("task", "model") for word in ("--set", f"{name}={value}")]
        logs = []
        command = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True)
        try:
            while command.poll() is None and not any(read_run_log(path).train for path in logs):
                time.sleep(0.05)
                logs = list(self.folder.glob("runs/*/log.jsonl"))
            self.assertIsNone(command.returncode, "it has not begun to train")
            command.send_signal(signal.SIGTERM)
            _, errors = command.communicate()
        finally:
            with contextlib.suppress(ProcessLookupError):  # ends remaining processes
                os.killpg(command.pid, signal.SIGKILL)
            command.wait()
            command.stderr.close()
        self.assertEqual(command.returncode, 130)
        self.assertIn("the same command resumes the run", errors)
        log, = logs
        result = read_run_log(log)
        self.assertEqual(result.end["reason"], "interrupted")
        self.assertTrue(log.with_name("checkpoint.safetensors").exists())

    def test_tables_are_of_their_task(self) -> None:
        process = subprocess.run([sys.executable, "-m", "command", "--program", str(PROGRAM), "--results", str(self.folder), "--table", "listops", "--preset",
                               "paramixer/adding"], capture_output=True, encoding="utf-8", check=False)
        self.assertEqual((process.returncode, process.stderr), (2, "examples/learning/run: --table listops is of the task listops, not of adding\n"))

    def test_a_dry_run_of_an_unknown_model_fails(self) -> None:
        for model, status in (("chrd", 2), ("chord", 0)):
            process = subprocess.run([sys.executable, "-m", "command", "--program", str(PROGRAM), "--results", str(self.folder), "--preset", "small/listops",
                                   "--model", model, "--dry-run"], capture_output=True, encoding="utf-8", check=False)
            self.assertEqual(process.returncode, status, process.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_models_with_the_same_settings_share_a_figure(self) -> None:
        call = [sys.executable, "-m", "command", "--program", str(PROGRAM), "--results", str(self.folder), "--preset", "small/listops",
                "--set", "steps=2", "--set", "test-every=1", "--set", "test-samples=20"]
        for model in ("chord", "none"):
            process = subprocess.run([*call, "--model", model], capture_output=True, encoding="utf-8", check=False)
            self.assertEqual(process.returncode, 0, process.stderr)
        drawn, = (json.loads(path.read_text(encoding="utf-8")) for path in self.folder.glob("figure-*.json"))
        self.assertEqual([curve["model"] for curve in drawn["curves"]], ["none", "chord"])
        self.assertEqual(list(drawn["lines"])[:2], ["majority", "reads the first token"])

    def test_runs_are_found_again(self) -> None:
        runs = Runs(Path(str(PROGRAM)), self.folder, None, 1, None)
        flags = {**SMALL, "steps": "3"}
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            first = runs.ensure(flags, 1)
            again = runs.ensure(flags, 1)
        self.assertIn("done before", errors.getvalue())
        self.assertEqual(first.folder, again.folder)
        self.assertTrue(again.result().complete)
        self.assertEqual(again.result().step, 3)
        self.assertNotEqual(runs.run_of(flags, 2).folder, first.folder)
        self.assertNotEqual(runs.run_of({**flags, "width": "8"}, 1).folder, first.folder)


if __name__ == "__main__":
    sys.exit(unittest.main())
