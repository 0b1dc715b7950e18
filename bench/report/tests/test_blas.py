# SPDX-License-Identifier: Apache-2.0
"""Tests that the context names the BLAS kernels, and that OpenBLAS runs the best ones for this CPU."""
import json
import os
import platform
import subprocess
import unittest
from pathlib import Path

from report.entries import weak_baseline_warning
from report.results import parse_case
from report.tests import InFolder

PROGRAM = os.environ.get("SLICESORT_BENCH_PROGRAM")
CASE = "softmax_attention/host/forward/f32/materialized-full-H:4/text/B:2/N:37/C:24/T:1"
# For LD_PRELOAD: reports an OpenBLAS that does not know this CPU but obeys OPENBLAS_CORETYPE.
OLD_OPENBLAS = """#include <stdlib.h>
char const* openblas_get_corename(void) {
  char const* name = getenv("OPENBLAS_CORETYPE");
  return name && *name ? name : "Prescott";
}
"""


class Warnings(unittest.TestCase):
    def test_weak_baselines(self) -> None:
        cases = [parse_case(CASE)]
        weak_context = {"blas": "OpenBLAS 0.3.21, Prescott kernels", "weak_blas": "they leave this processor's AVX2 unused"}
        self.assertIn("Prescott kernels: they leave", weak_baseline_warning(weak_context, cases))
        self.assertIn("plain loops", weak_baseline_warning({"blas": "plain loops"}, cases))
        self.assertEqual(weak_baseline_warning({"blas": "OpenBLAS 0.3.21, SkylakeX kernels"}, cases), "")
        self.assertEqual(weak_baseline_warning(weak_context, [parse_case(CASE.replace("materialized", "streaming"))]), "")


@unittest.skipUnless(PROGRAM, "SLICESORT_BENCH_PROGRAM is not set")
@unittest.skipUnless(platform.machine() == "x86_64", "kernels are chosen only on x86")
class Kernels(InFolder):
    def setUp(self) -> None:
        super().setUp()
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii").partition("flags")[2].partition("\n")[0].split()
        self.best_kernels = "SKYLAKEX" if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= {*flags} else "HASWELL" if {"avx2", "fma"} <= {*flags} else "Prescott"
        if "kernels" not in self.run_for_context()["blas"]:
            self.skipTest("this BLAS does not say which kernels it runs")

    def run_for_context(self, **environment: str) -> dict:
        inherited = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
        out = self.folder / "out.json"
        subprocess.run([PROGRAM, "--batch", "2", "--lengths", "37", "--channels", "24", "--heads", "4", f"--benchmark_filter=^{CASE}$", f"--benchmark_out={out}",
                        "--benchmark_out_format=json", "--benchmark_min_time=0.0001"], env={**inherited, **environment}, capture_output=True, check=True)
        results = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual([row["name"] for row in results["benchmarks"]], [CASE])
        return results["context"]

    def build_old_openblas(self) -> str:
        source, library = self.folder / "old.c", self.folder / "old.so"
        source.write_text(OLD_OPENBLAS, encoding="ascii")
        subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        return str(library)

    def test_kernels_are_overridden(self) -> None:
        context = self.run_for_context(LD_PRELOAD=self.build_old_openblas())
        default = "" if self.best_kernels == "Prescott" else " (by itself: Prescott)"
        self.assertTrue(context["blas"].endswith(f", {self.best_kernels} kernels{default}"), context["blas"])
        self.assertNotIn("weak_blas", context)

    def test_kernels_of_the_user_cause_a_warning(self) -> None:
        context = self.run_for_context(LD_PRELOAD=self.build_old_openblas(), OPENBLAS_CORETYPE="Nehalem")
        self.assertTrue(context["blas"].endswith(", Nehalem kernels"), context["blas"])
        self.assertEqual("weak_blas" in context, self.best_kernels != "Prescott")

    def test_the_installed_blas_is_not_a_weak_baseline(self) -> None:
        """A BLAS may be built without the best kernels."""
        context = self.run_for_context()
        self.assertTrue("weak_blas" not in context or "(by itself: " in context["blas"], context)
