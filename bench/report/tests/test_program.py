# SPDX-License-Identifier: Apache-2.0
"""Tests of bench/run with a built program: shapes, CSV, the program of another commit, output of Google Benchmark."""
import csv
import json
import os
import shutil
import subprocess
import sys
import unittest

from report.command.options import ROOT
from report.entries import ENTRIES, entry_of
from report.results import parse_case
from report.summary import WIDTH
from report.tests import InFolder

PROGRAM = os.environ.get("SLICESORT_BENCH_PROGRAM")
ONE_CASE = "^max_exchange/host/forward/f32/ascending/text/B:2/N:37/C:24/T:1$"


@unittest.skipUnless(PROGRAM, "no program is built")
class Calls(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.text = self.folder / "short.txt"
        self.text.write_text("a text of thirty-two characters.", encoding="ascii")

    def run_bench(self, *argv: str, status: int = 0) -> str:
        command = [sys.executable, "-m", "report.command", "--program", PROGRAM, "--no-pictures", *argv]
        if "--list" not in argv:
            command += ["--json", str(self.folder / "out.json")]
        if "--filter" not in argv and "--list" not in argv and "--compare" not in argv:
            command += ["--round-seconds", "0.002"]
        process = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(process.returncode, status, process.stdout + process.stderr)
        return process.stdout + process.stderr

    def load_benchmarks(self, name: str) -> list[dict]:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))["benchmarks"]

    def test_shapes_of_the_arena(self) -> None:
        output = self.run_bench("--channels", "10,12", "--heads", "2,3", "--lengths", "20,33", "--batch", "3", "--rounds", "2", "--dtypes", "bf16",
                                "--text", str(self.text), "--csv")
        cases = [parse_case(name) for name in {row["name"] for row in self.load_benchmarks("out.json")}]
        self.assertEqual({(c.b, c.n, c.c, c.dtype, c.input) for c in cases},
                         {(3, n, c, "bf16", text) for n, text in ((20, "text"), (33, "repeated_text")) for c in (10, 12)})
        self.assertEqual({(c.c, c.heads) for c in cases if c.heads}, {(10, 2), (12, 2), (12, 3)})
        # --dtypes includes every operator in 16 bits.
        self.assertIn("sparse_mix", {c.subject for c in cases})
        self.assertIn("multi_permutation", {c.subject for c in cases})
        self.assertIn("3x33x12 repeated_text", output)
        self.assertIn("softmax, streaming, 3 heads", output)
        with (self.folder / "out.csv").open(encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        self.assertEqual({row["case"] for row in table}, {c.name for c in cases})
        for row in table:
            self.assertGreater(float(row["seconds"]), 0)
            self.assertNotEqual(row["error"], "")
            self.assertNotEqual(row["peak"], "")

    def test_other_inputs(self) -> None:
        output = self.run_bench("--input", "constant", "--lengths", "20", "--channels", "8", "--batch", "1", "--rounds", "1")
        cases = [parse_case(row["name"]) for row in self.load_benchmarks("out.json")]
        self.assertEqual({(case.input, case.dtype) for case in cases}, {("constant", "f32")})
        # The default has one entry per method, all in the summary.
        found = {entry_of(case) for case in cases}
        self.assertEqual(found, {entry for entry in ENTRIES if entry.is_default or entry.is_custom and entry in found})
        summary = output[output.index("How many times as fast as softmax attention, at 20 rows"):output.index("such models learn")]
        self.assertLessEqual(max(map(len, summary.splitlines())), WIDTH)
        for entry in found:
            self.assertIn(f"\n  {entry.label.removeprefix('softmax, ')}", summary)

    def test_shapes_of_the_list(self) -> None:
        names = self.run_bench("--list", "N:50/C:6/", "--lengths", "50", "--channels", "6", "--dtypes", "f32").split()
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({parse_case(name).dtype for name in names}, {"f32"})
        self.assertTrue({"csp", "sparse_mix", "softmax_attention", "slicing_sort", "baseline_std_sort"} <= {parse_case(name).subject for name in names})
        self.assertTrue(all("-H:2/" in name for name in names if "softmax" in name))

    def test_the_same_program_against_itself(self) -> None:
        output = self.run_bench("--channels", "24", "--lengths", "37", "--batch", "2", "--rounds", "3", "--dtypes", "f32", "--against", "other",
                                "--against-program", PROGRAM)
        current, base = self.load_benchmarks("out.json"), self.load_benchmarks("out-against.json")
        self.assertEqual([row["name"] for row in current], [row["name"] for row in base])
        self.assertNotEqual([row["real_time"] for row in current], [row["real_time"] for row in base])
        cases = len({row["name"] for row in current})
        self.assertIn(f"of {cases} cases 0 faster, 0 slower", output)  # three rounds are too few
        self.assertIn("against other, round by round", output)

    def test_output_of_a_filter(self) -> None:
        output = self.run_bench("--filter", ONE_CASE, "--benchmark_min_time=0.001")
        self.assertIn("max_exchange/host", output)
        self.assertNotIn("DEBUG", output)
        two = ONE_CASE.replace("forward", "(forward|backward)")
        self.assertNotIn("out-before.json", self.run_bench("--filter", two, "--benchmark_min_time=0.001"))
        self.assertIn("note: out.json held 2 cases and now holds 1", self.run_bench("--filter", ONE_CASE, "--benchmark_min_time=0.001"))
        self.assertEqual(len(self.load_benchmarks("out-before.json")), 2)
        self.assertEqual(self.run_bench("--filter", "nothing has this name", status=2).strip(), "bench/run: no case matches the filter")
        self.assertEqual(len(self.load_benchmarks("out.json")), 1)  # a run without results keeps the old file
        process = subprocess.run([PROGRAM, "--benchmark_filter=nothing has this name"], capture_output=True, encoding="utf-8", check=False)
        self.assertEqual((process.returncode, process.stdout, process.stderr), (2, "", "bench: no case matches the filter\n"))

    @unittest.skipUnless(os.getuid() != 0 or shutil.which("setpriv"), "root can write to read-only files")
    def test_a_checkout_that_is_read_only(self) -> None:
        """Runs in a read-only copy, with a cmake that copies the program instead of building it."""
        self.folder.chmod(0o755)
        copy, build = self.folder / "copy", self.folder / "build"
        shutil.copytree(ROOT / "bench", copy / "bench")
        (copy / "tests").mkdir()
        shutil.copy(ROOT / "tests/install_deps", copy / "tests")
        subprocess.run(["chmod", "-R", "a-w,a+rX", str(copy)], check=True)
        self.addCleanup(subprocess.run, ["chmod", "-R", "u+w", str(copy)], check=True)
        build.mkdir()
        build.chmod(0o777)
        shutil.copy(PROGRAM, self.folder / "program")
        cmake = self.folder / "cmake"
        cmake.write_text('#!/bin/sh\n[ "$1" != --build ] || { mkdir -p "$2/bench" && cp "${0%/*}/program" "$2/bench/slicesort_bench"; }\n', encoding="utf-8")
        cmake.chmod(0o755)
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
        call = [*other, copy / "bench/run", "--no-cuda", "--build", str(build), "--filter", ONE_CASE, "--benchmark_min_time=0.001"]
        process = subprocess.run(call, env={"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(build)}, capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        self.assertTrue((build / "bench-results/filter.json").exists())

    def test_compared_with_itself(self) -> None:
        self.run_bench("--filter", ONE_CASE, "--benchmark_min_time=0.001")
        old = self.folder / "out.json"
        self.assertIn("byte for byte", self.run_bench("--compare", str(old)))
        self.assertNotIn("byte for byte", self.run_bench("--compare", str(old), "--filter", ONE_CASE, "--benchmark_min_time=0.001"))
