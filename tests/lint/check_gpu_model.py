#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/gpu_model.md match those that bench/report/gpu_model.py computes from the golden counts."""
import subprocess
import sys

from common import ROOT, finish

check = subprocess.run([sys.executable, "-m", "report.gpu_model", "--check"], cwd=ROOT / "bench", capture_output=True, encoding="utf-8")
finish("gpu_model", (check.stdout + check.stderr).splitlines() if check.returncode else [])
