# SPDX-License-Identifier: Apache-2.0
"""Usage: check_safetensors.py PROGRAM, a test program that writes a checkpoint. Parses the checkpoint as a safetensors file
in plain Python and, if the package `safetensors` is installed, compares the tensors with what it reads."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

SIZES = {"F32": (4, "f"), "F64": (8, "d")}


def require_unique_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f"a name comes twice: {names}"
    return dict(pairs)


def parse(data: bytes) -> tuple[dict[str, list[float]], dict[str, str]]:
    (length,) = struct.unpack("<Q", data[:8])
    assert length <= 100_000_000 and 8 + length <= len(data), "the header's length"
    assert (8 + length) % 8 == 0, "the data do not begin at a multiple of 8"
    header = data[8:8 + length].decode("utf-8")
    assert header[0] == "{", "the header does not begin with {"
    entries = json.loads(header, object_pairs_hook=require_unique_names)
    metadata = entries.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values()), "metadata are strings"
    expected_begin, tensors = 0, {}
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        assert set(entry) == {"dtype", "shape", "data_offsets"}, name
        size, code = SIZES[entry["dtype"]]
        begin, end = entry["data_offsets"]
        assert begin == expected_begin and end - begin == size * math.prod(entry["shape"]), f"{name}: offsets"
        tensors[name] = list(struct.unpack(f"<{(end - begin) // size}{code}", data[8 + length + begin:8 + length + end]))
        expected_begin = end
    assert 8 + length + expected_begin == len(data), "there are bytes behind the last tensor"
    return tensors, metadata


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/checkpoint.safetensors"
        subprocess.run([os.path.abspath(sys.argv[1])], env={**os.environ, "LEARNING_SAFETENSORS_FILE": path}, cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            tensors, metadata = parse(file.read())
        assert metadata == {"step": "1", "settings": 'a="b"'}, metadata
        assert sorted(tensors) == sorted(prefix + name for name in "ab" for prefix in ("", "adam.m.", "adam.v.")), sorted(tensors)
        assert [len(tensors[name]) for name in "ab"] == [6, 4]
        assert tensors["adam.m.a"] == [0, 5, 0, 0, 0, 0] and tensors["adam.v.b"] == [0, 0, 0, 6]
        assert len(set(tensors["a"] + tensors["b"])) == 10, "initial values repeat"
        try:
            from safetensors import numpy as package
        except ImportError:
            print("read by the format's rules; the package safetensors is not installed: comparison skipped")
            return
        package_tensors = package.load_file(path)
        assert {name: array.ravel().tolist() for name, array in package_tensors.items()} == tensors
        print("read by the format's rules and by the package safetensors")


main()
