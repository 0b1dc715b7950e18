# SPDX-License-Identifier: Apache-2.0
"""Runs the bench programs and reports what they measured. `bench/run` calls `report.command`; others are called as
python3 -m report.NAME, with `bench` on PYTHONPATH."""
