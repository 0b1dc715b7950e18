#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every text file that can hold a comment names its licence in its first lines. .reuse/dep5, which `reuse lint` checks, has the
copyright holders and the licence of the other files."""
import re

from common import ROOT, files, finish, relative_name

LICENSE_TAG = "SPDX-License-" + "Identifier: Apache-2.0"
LICENSE_LINE = re.compile(rf"{re.escape(LICENSE_TAG)}(?: -->| \*/)?$", re.MULTILINE)
NO_COMMENTS = (".png", ".svg", ".csv", ".npy", ".bin", ".json")

errors = []
for path in files():
    if path.name in ("LICENSE", "dep5") or path.suffix in NO_COMMENTS or {"corpus", "LICENSES"} & set(path.relative_to(ROOT).parts):
        continue
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        errors.append(f"{relative_name(path)}: not text")
        continue
    # GitHub requires the heading of an issue template first.
    if not LICENSE_LINE.search("\n".join(text.splitlines()[:6 if "ISSUE_TEMPLATE" in path.relative_to(ROOT).parts else 5])):
        errors.append(f"{relative_name(path)}: no line that ends with '{LICENSE_TAG}' among the first ones")
finish("spdx", errors)
