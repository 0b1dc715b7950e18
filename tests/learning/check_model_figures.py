# SPDX-License-Identifier: Apache-2.0
"""Checks the measures of examples/learning/run's figures of models on small matrices. Needs numpy; test_run.py calls it with a
Python that has it."""
import struct
import sys
import tempfile
from pathlib import Path

import numpy
from command import model_figures


def check_residual() -> None:
    different = numpy.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])  # has mean 0, so the residual is the matrix
    assert model_figures.relative_residual(different) == 1
    assert model_figures.relative_residual(numpy.ones((5, 3), numpy.float32)) == 0
    # Norms of the rows (2, 0), (0, 2): 2 and 2. Without the mean (1, 1): columns and rows of 1 + 1.
    assert model_figures.relative_residual(numpy.array([[2.0, 0.0], [0.0, 2.0]])) == 1
    assert model_figures.relative_residual(numpy.array([[3.0, 1.0], [1.0, 3.0]])) == 0.5
    by_depth = model_figures.residuals_by_depth({"rows.0": numpy.array([different, numpy.ones((3, 2))]), "rows.1": numpy.array([different])})
    assert by_depth == [0.5, 1], by_depth


def check_permutation() -> None:
    rows = numpy.array([[[3.0, 4.0], [7.0, 7.0]]])  # a sample: the class token and a row
    moved = numpy.array([[[3.0, 5.0], [8.0, 8.0]]])
    errors = model_figures.permutation_error_by_depth({"rows.0": rows, "shuffled.0": rows, "rows.1": rows, "shuffled.1": rows, "rows.2": rows, "shuffled.2": moved})
    assert errors == [0, 0.2], errors


def check_spectra() -> None:
    random = numpy.random.default_rng(1)
    heads, width, length = 2, 4, 6
    weights = {"layers.0.norm1.weight": numpy.ones(width), "layers.0.norm1.bias": numpy.zeros(width), "layers.0.mixer.in_proj.weight": random.normal(size=(3 * width, width))}
    rows = random.normal(size=(1, length, width))
    maps = model_figures.attention_maps(weights, 0, rows[0], heads)
    assert maps.shape == (heads, length, length) and numpy.allclose(maps.sum(axis=2), 1)
    # Head 1 by the definition, row by row.
    x = (rows[0] - rows[0].mean(axis=1)[:, None]) / numpy.sqrt(rows[0].var(axis=1)[:, None] + 1e-6)
    q, k = (x @ weights["layers.0.mixer.in_proj.weight"][first:first + 2].T for first in (2, 6))
    for i in range(length):
        scores = [numpy.exp(q[i] @ k[j] / numpy.sqrt(2)) for j in range(length)]
        assert numpy.allclose(maps[1, i], numpy.array(scores) / sum(scores))
    equal = {"rows.0": numpy.ones((2, length, width)), "rows.1": numpy.ones((2, length, width))}
    spectrum, = model_figures.attention_spectra(weights, equal, heads)
    assert numpy.allclose(spectrum, [1, 0, 0, 0, 0, 0], atol=1e-12), spectrum


def check_file() -> None:
    header = b'{"__metadata__":{"step":"3"},"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tensors"
        path.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<2f", 1.5, -2))
        tensors = model_figures.read_safetensors(path)
    assert list(tensors) == ["b"] and tensors["b"].tolist() == [[1.5, -2]]


if __name__ == "__main__":
    for check in (check_residual, check_permutation, check_spectra, check_file):
        check()
    print("4 checks")
    sys.exit(0)
