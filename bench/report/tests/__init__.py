# SPDX-License-Identifier: Apache-2.0
"""Tests of this package: `PYTHONPATH=bench python3 -m unittest discover -s bench/report/tests -t bench`. `bench/run --smoke` runs them
with its program in SLICESORT_BENCH_PROGRAM. Without that variable, tests that need a program are skipped."""
import tempfile
import unittest
from pathlib import Path


class InFolder(unittest.TestCase):
    """Tests with a temporary folder."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
