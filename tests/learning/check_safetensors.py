# SPDX-License-Identifier: Apache-2.0
"""Checks that a checkpoint is a safetensors file, with an independent reader in plain Python: check_safetensors.py PROGRAM,
the test program that writes a checkpoint. If the package `safetensors` is installed, it must read the same numbers."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

SIZES = {"F32": (4, "f"), "F64": (8, "d")}


def no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"a name comes twice: {names}"
    return dict(pairs)


def read(data: bytes) -> tuple[dict[str, list[float]], dict[str, str]]:
    (length,) = struct.unpack("<Q", data[:8])
    assert length <= 100_000_000 and 8 + length <= len(data), "the header's length"
    assert (8 + length) % 8 == 0, "the data do not begin at a multiple of 8"
    header = data[8:8 + length].decode("utf-8")
    assert header[0] == "{", "the header does not begin with {"
    entries = json.loads(header, object_pairs_hook=no_duplicates)
    metadata = entries.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values()), "metadata are strings"
    end, numbers = 0, {}
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        assert set(entry) == {"dtype", "shape", "data_offsets"}, name
        size, code = SIZES[entry["dtype"]]
        first, last = entry["data_offsets"]
        assert first == end and last - first == size * math.prod(entry["shape"]), f"{name}: offsets"
        numbers[name] = list(struct.unpack(f"<{(last - first) // size}{code}", data[8 + length + first:8 + length + last]))
        end = last
    assert 8 + length + end == len(data), "there are bytes behind the last tensor"
    return numbers, metadata


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/checkpoint.safetensors"
        subprocess.run([os.path.abspath(sys.argv[1])], env={**os.environ, "LEARNING_SAFETENSORS_FILE": path}, cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            numbers, metadata = read(file.read())
        assert metadata == {"step": "1", "settings": 'a="b"'}, metadata
        assert sorted(numbers) == sorted(prefix + name for name in "ab" for prefix in ("", "adam.m.", "adam.v.")), sorted(numbers)
        assert [len(numbers[name]) for name in "ab"] == [6, 4]
        assert numbers["adam.m.a"] == [0, 5, 0, 0, 0, 0] and numbers["adam.v.b"] == [0, 0, 0, 6]
        assert len(set(numbers["a"] + numbers["b"])) == 10, "initial values repeat"
        try:
            from safetensors import numpy as package
        except ImportError:
            print("read by the format's rules; the package safetensors is not installed: comparison skipped")
            return
        theirs = package.load_file(path)
        assert {name: array.ravel().tolist() for name, array in theirs.items()} == numbers
        print("read by the format's rules and by the package safetensors")


main()
