# SPDX-License-Identifier: Apache-2.0
"""Checks user-defined entries in the results and in the table: python3 check.py RESULTS.json TABLE."""
import json
import sys
from pathlib import Path

rows = {row["name"]: row for row in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["benchmarks"]}
table = Path(sys.argv[2]).read_text(encoding="utf-8")


def row(subject: str, direction: str, dtype: str = "f32") -> dict:
    return rows[f"{subject}/host/{direction}/{dtype}/custom/text/B:2/N:64/C:256/T:1"]


for dtype, rounding in (("f32", 1e-5), ("bf16", 2e-2)):
    for direction in ("forward_values", "training"):
        assert row("reverse", direction, dtype)["max_error"] == 0
        assert 0 < row("running_mean", direction, dtype)["max_error"] < rounding, row("running_mean", direction, dtype)
tensor_bytes = 2 * 64 * 256 * 4
inference, training = row("gate", "forward_values"), row("gate", "training")
assert inference["max_error"] < 1e-5 and training["max_error"] < 1e-5
assert (inference["saved_bytes"], training["saved_bytes"]) == (0, tensor_bytes)
assert abs(inference["flops_per_byte"] * 4 * tensor_bytes - 3 * tensor_bytes / 4) < 1e-3, inference  # q, k, v and y
assert "max_error" not in row("bare", "forward_values")
assert not any(name.startswith("bare/host/training") for name in rows), "bare has no backward"
assert len(rows) == 2 * 4 + 2 + 1, list(rows)
for label, cell in (("reverse", "forward + backward"), ("gate", "131.1 kB"), ("bare", "unchecked")):
    assert any(line.startswith(label) and cell in line for line in table.splitlines()), f"no {label} with {cell} in\n{table}"
print("user-defined entries are in the table")
