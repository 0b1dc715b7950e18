#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every text file names its licence in its first lines (JSON, which has no comments: anywhere)."""
from common import files, finish, name

MARK = "SPDX-License-" + "Identifier: Apache-2.0"
DATA = (".png", ".svg", ".csv", ".npy", ".bin")

complaints = []
for path in files():
    if path.name == "LICENSE" or path.suffix in DATA or "corpus" in path.parts:
        continue
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        complaints.append(f"{name(path)}: not text")
        continue
    if path.suffix != ".json":
        text = "\n".join(text.splitlines()[:5])
    if MARK not in text:
        complaints.append(f"{name(path)}: no '{MARK}' in its first five lines")
finish("spdx", complaints)
