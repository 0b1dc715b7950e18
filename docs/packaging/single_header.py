#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the library's host backend as one file, for online compilers and for projects that want a single header:
    docs/packaging/single_header.py > slicesort.hpp
    docs/packaging/single_header.py slicesort/csp.hpp > csp.hpp
By default it holds what <slicesort/slicesort.hpp> includes; arguments name other headers of include/."""
import re
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "include"
# The file that foreach_target.inl includes is named by a macro, once for every instruction set.
TEXT = re.compile(r"#\s*define SLICESORT_TARGET_INCLUDE <(.+)>")
OURS = re.compile(r"\s*#\s*include (?:<(slicesort/.+)>|SLICESORT_TARGET_INCLUDE)")
LICENCE = "// SPDX-License-" "Identifier: Apache-2.0"  # apart, so that it is not taken for this file's
CONDITION = re.compile(r"\s*#\s*(if|endif)")


class Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.written: set[str] = set()
        self.target_text = ""

    def write(self, header: str) -> None:
        """The file with what it includes, but for CUDA's part."""
        if header in self.written or header.endswith(".cuh"):
            return
        text = (INCLUDE / header).read_text(encoding="utf-8")
        if "\n#pragma once\n" in text:
            self.written.add(header)
        self.lines.append(f"// {header}")
        depth = 0
        for line in text.splitlines():
            if found := CONDITION.match(line):
                depth += 1 if found[1] == "if" else -1
            if found := TEXT.match(line):
                self.target_text = found[1]
            if found := OURS.match(line):
                if depth and (found[1] or "").endswith(".hpp"):
                    raise SystemExit(f"single_header.py: {header} includes {found[1]} under a condition")
                self.write(found[1] or self.target_text)
            elif line not in ("#pragma once", LICENCE):
                self.lines.append(line)


def main() -> None:
    headers = sys.argv[1:] or ["slicesort/slicesort.hpp"]
    writer = Writer()
    for header in headers:
        if not (INCLUDE / header).is_file():
            raise SystemExit(f"single_header.py: there is no {header} in {INCLUDE}")
        writer.write(header)
    version = ".".join(re.findall(r"#define SLICESORT_VERSION_\w+ (\d+)", (INCLUDE / "slicesort/version.hpp").read_text(encoding="utf-8")))
    print("// SPDX-FileCopyright" "Text: 2026 The slicesort authors", LICENCE,
          f"// slicesort {version} in one file, written by docs/packaging/single_header.py; not to be edited.",
          "#pragma once", *writer.lines, sep="\n")


if __name__ == "__main__":
    main()
