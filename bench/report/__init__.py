# SPDX-License-Identifier: Apache-2.0
"""Runs the bench programs and reports their results. `bench/run` calls `report.command`; run other modules by
PYTHONPATH=bench python3 -m report.NAME."""
