#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The versioned namespace carries the major version of version.hpp, everywhere, and what else names the version says the
same. (That CMake and Conan read it there is checked by tests/consumer, where the package is found.)"""
import re

from common import INCLUDE, ROOT, finish, headers, name

text = (INCLUDE / "slicesort/version.hpp").read_text(encoding="utf-8")
version = {part: int(number) for part, number in re.findall(r"SLICESORT_VERSION_(MAJOR|MINOR|PATCH) +(\d+)", text)}
complaints = [f"version.hpp: no SLICESORT_VERSION_{part}" for part in ("MAJOR", "MINOR", "PATCH") if part not in version]
major = version.get("MAJOR")
seen = 0
for path in headers():
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for found in re.findall(r"\bnamespace\s+v(\d+)\b|\bv(\d+)_(?:sm|host)\b", line):
            seen += 1
            if int(found[0] or found[1]) != major:
                complaints.append(f"{name(path)}:{number}: namespace of version {found[0] or found[1]}, must be {major}")
if not seen:
    complaints.append("no versioned namespace found")

whole = ".".join(str(version.get(part)) for part in ("MAJOR", "MINOR", "PATCH"))
minor = whole.rpartition(".")[0]
# The file, how it names the version, and which it must be.
for file, naming, want in (("CITATION.cff", r"^version: (.+)$", whole),
                           ("docs/packaging/vcpkg/vcpkg.json", r'"version": "(.+)"', whole),
                           ("docs/CHANGELOG.md", r"\A(?:.|\n)*?^## (\d\S*)", whole),
                           ("README.md", r"find_package\(slicesort (\S+)|FIND_PACKAGE_ARGS ([\d.]+)", minor)):
    found = [next(filter(None, match.groups())) for match in re.finditer(naming, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)]
    complaints += [f"{file}: names version {other}, must be {want}" for other in found if other != want]
    if not found:
        complaints.append(f"{file}: names no version, must be {want}")
finish("version", complaints)
