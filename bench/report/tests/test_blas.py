# SPDX-License-Identifier: Apache-2.0
"""Which kernels a BLAS runs is said, and with OpenBLAS they are those that the processor deserves."""
import json
import os
import platform
import subprocess
import unittest
from pathlib import Path

from report.contestants import weak_opponent
from report.results import case_named
from report.tests import InFolder

PROGRAM = os.environ.get("SLICESORT_BENCH_PROGRAM")
CASE = "softmax_attention/host/forward/f32/materialized-full-H:4/text/B:2/N:37/C:24/T:1"
# An OpenBLAS whose list of processors ends long before this one, and which lets itself be told.
OLD_OPENBLAS = """#include <stdlib.h>
char const* openblas_get_corename(void) {
  char const* asked = getenv("OPENBLAS_CORETYPE");
  return asked && *asked ? asked : "Prescott";
}
"""


class Warnings(unittest.TestCase):
    def test_of_opponents_that_are_weak(self) -> None:
        cases = [case_named(CASE)]
        weak = {"blas": "OpenBLAS 0.3.21, Prescott kernels", "weak_blas": "they leave this processor's AVX2 unused"}
        self.assertIn("Prescott kernels: they leave", weak_opponent(weak, cases))
        self.assertIn("plain loops", weak_opponent({"blas": "plain loops"}, cases))
        self.assertEqual(weak_opponent({"blas": "OpenBLAS 0.3.21, SkylakeX kernels"}, cases), "")
        self.assertEqual(weak_opponent(weak, [case_named(CASE.replace("materialized", "streaming"))]), "")


@unittest.skipUnless(PROGRAM, "no program is built")
@unittest.skipUnless(platform.machine() == "x86_64", "kernels are told apart on x86 alone")
class Kernels(InFolder):
    def setUp(self) -> None:
        super().setUp()
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii").partition("flags")[2].partition("\n")[0].split()
        self.best = "SKYLAKEX" if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= {*flags} else "HASWELL" if {"avx2", "fma"} <= {*flags} else "Prescott"
        if "kernels" not in self.context()["blas"]:
            self.skipTest("this BLAS does not say which kernels it runs")

    def context(self, **environment: str) -> dict:
        inherited = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
        out = self.folder / "out.json"
        subprocess.run([PROGRAM, "--batch", "2", "--lengths", "37", "--channels", "24", "--heads", "4", f"--benchmark_filter=^{CASE}$", f"--benchmark_out={out}",
                        "--benchmark_out_format=json", "--benchmark_min_time=0.0001"], env={**inherited, **environment}, capture_output=True, check=True)
        found = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual([row["name"] for row in found["benchmarks"]], [CASE])
        return found["context"]

    def old_openblas(self) -> str:
        source, library = self.folder / "old.c", self.folder / "old.so"
        source.write_text(OLD_OPENBLAS, encoding="ascii")
        subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        return str(library)

    def test_what_openblas_does_not_know_it_is_told(self) -> None:
        context = self.context(LD_PRELOAD=self.old_openblas())
        told = "" if self.best == "Prescott" else " (by itself: Prescott)"
        self.assertTrue(context["blas"].endswith(f", {self.best} kernels{told}"), context["blas"])
        self.assertNotIn("weak_blas", context)

    def test_what_the_user_asks_for_is_run_and_complained_of(self) -> None:
        context = self.context(LD_PRELOAD=self.old_openblas(), OPENBLAS_CORETYPE="Nehalem")
        self.assertTrue(context["blas"].endswith(", Nehalem kernels"), context["blas"])
        self.assertEqual("weak_blas" in context, self.best != "Prescott")

    def test_the_installed_one_is_no_weak_opponent(self) -> None:
        """Unless it was built without the kernels that it is asked for."""
        context = self.context()
        self.assertTrue("weak_blas" not in context or "(by itself: " in context["blas"], context)
