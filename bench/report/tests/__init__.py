# SPDX-License-Identifier: Apache-2.0
"""Tests of this package: `PYTHONPATH=bench python3 -m unittest discover -s bench/report/tests -t bench`. `bench/run --smoke` runs
them, and tells them by SLICESORT_BENCH_PROGRAM which program it has built; without one, those that need it are skipped."""
import tempfile
import unittest
from pathlib import Path


class InFolder(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
