#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The versioned namespace has the major version of version.hpp in every header, and other files name the same version.
tests/consumer checks that CMake and Conan read it from version.hpp."""
import re

from common import INCLUDE, ROOT, finish, headers, relative_name

text = (INCLUDE / "slicesort/version.hpp").read_text(encoding="utf-8")
version = {part: int(number) for part, number in re.findall(r"SLICESORT_VERSION_(MAJOR|MINOR|PATCH) +(\d+)", text)}
errors = [f"version.hpp: no SLICESORT_VERSION_{part}" for part in ("MAJOR", "MINOR", "PATCH") if part not in version]
major = version.get("MAJOR")
namespaces = 0
for path in headers():
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for found in re.findall(r"\bnamespace\s+v(\d+)\b|\bv(\d+)_(?:sm|host)\b", line):
            namespaces += 1
            if int(found[0] or found[1]) != major:
                errors.append(f"{relative_name(path)}:{number}: namespace of version {found[0] or found[1]}, must be {major}")
if not namespaces:
    errors.append("no versioned namespace found")

full_version = ".".join(str(version.get(part)) for part in ("MAJOR", "MINOR", "PATCH"))
minor_version = full_version.rpartition(".")[0]
# File, regular expression of the version in it, and the required version.
for file, pattern, expected in (("CITATION.cff", r"^version: (.+)$", full_version),
                           ("docs/packaging/vcpkg/vcpkg.json", r'"version": "(.+)"', full_version),
                           ("docs/CHANGELOG.md", r"\A(?:.|\n)*?^## (\d\S*)", full_version),
                           ("README.md", r"GIT_TAG v([\d.]+)", full_version),
                           ("README.md", r"find_package\(slicesort (\S+)|FIND_PACKAGE_ARGS ([\d.]+)", minor_version),
                           ("examples/separate_compilation/CMakeLists.txt", r"find_package\(slicesort (\S+)", minor_version)):
    found = [next(filter(None, match.groups())) for match in re.finditer(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)]
    errors += [f"{file}: names version {found_version}, must be {expected}" for found_version in found if found_version != expected]
    if not found:
        errors.append(f"{file}: names no version, must be {expected}")
finish("version", errors)
