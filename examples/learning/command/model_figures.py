# SPDX-License-Identifier: Apache-2.0
"""Figures of the rows between the layers of trained models, and of a task's samples. They need numpy."""
import json
import struct
import tempfile
from pathlib import Path

import numpy

from .build import output_of
from .figures import Chart, Line, draw_chart, write_data
from .runs import Run, Runs

MODELS = ["sort-ascending", "csp", "softmax", "none"]
TRAINED = {"layers": "4", "steps": "500", "test-every": "500"}
SETTINGS = {"rank-collapse": TRAINED, "spectra": TRAINED, "permutation": {"layers": "4", "positions": "none", "steps": "1"}}  # the last: initial weights
PRESET = "small/listops"
NORM_EPSILON = 1e-6  # the program's default
Tensors = dict[str, numpy.ndarray]


def read_safetensors(path: Path) -> Tensors:
    data = path.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:end]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            tensors[name] = numpy.frombuffer(data[end + first:end + last], {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def probe(runs: Runs, run: Run) -> Tensors:
    """Returns the rows between the layers of a run's model for the first test batch (learning/probe.hpp)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "probe"
        output_of(*runs.command(run), "--checkpoint", run.checkpoint, "--probe", path)
        return read_safetensors(path)


def layers_of(tensors: Tensors) -> int:
    return sum(name.startswith("rows.") for name in tensors) - 1


def relative_residual(rows: numpy.ndarray) -> float:
    """Returns `rank_collapse(x).relative()` of the library: the norm of the rows minus their mean, relative to the norm of
    the rows `[length, width]`. The norm is the root of the 1-norm times the infinity norm."""
    def composite(x: numpy.ndarray) -> float:
        return float(numpy.sqrt(numpy.linalg.norm(x, 1) * numpy.linalg.norm(x, numpy.inf)))
    rows = rows.astype(float)
    return composite(rows - rows.mean(axis=0)) / composite(rows)


def residuals_by_depth(tensors: Tensors) -> list[float]:
    return [float(numpy.mean([relative_residual(rows) for rows in tensors[f"rows.{layer}"]])) for layer in range(layers_of(tensors) + 1)]


def permutation_error_by_depth(tensors: Tensors) -> list[float]:
    """Returns the relative change of the class token's row, row 0, when the other rows are shuffled, as a mean over samples."""
    def error(layer: int) -> float:
        before, after = (tensors[f"{name}.{layer}"][:, 0].astype(float) for name in ("rows", "shuffled"))
        return float(numpy.mean(numpy.linalg.norm(after - before, axis=1) / numpy.linalg.norm(before, axis=1)))
    return [error(layer) for layer in range(1, layers_of(tensors) + 1)]


def attention_maps(weights: Tensors, layer: int, rows: numpy.ndarray, heads: int) -> numpy.ndarray:
    """Returns the maps softmax(q k^T / sqrt(D)) `[heads, length, length]` of a `pre_norm` layer with input `rows`."""
    prefix = f"layers.{layer}"
    x = rows - rows.mean(axis=1, keepdims=True)
    x = x / numpy.sqrt((x**2).mean(axis=1, keepdims=True) + NORM_EPSILON) * weights[f"{prefix}.norm1.weight"] + weights[f"{prefix}.norm1.bias"]
    projected = x @ weights[f"{prefix}.mixer.in_proj.weight"].T
    q, k, _ = (part.reshape(len(rows), heads, -1).transpose(1, 0, 2) for part in numpy.split(projected, 3, axis=1))
    logits = q @ k.transpose(0, 2, 1) / numpy.sqrt(q.shape[2])
    exponentials = numpy.exp(logits - logits.max(axis=2, keepdims=True))
    return exponentials / exponentials.sum(axis=2, keepdims=True)


def attention_spectra(weights: Tensors, tensors: Tensors, heads: int) -> list[numpy.ndarray]:
    """Returns the singular values of each layer's maps, relative to the greatest one: means over samples and heads."""
    spectra = []
    for layer in range(layers_of(tensors)):
        maps = numpy.concatenate([attention_maps(weights, layer, rows.astype(float), heads) for rows in tensors[f"rows.{layer}"]])
        values = numpy.linalg.svd(maps, compute_uv=False)
        spectra.append((values / values[:, :1]).mean(axis=0))
    return spectra


def draw_depth(runs: Runs, figure: str, found: list[Run], path: Path, origin: str) -> None:
    """Draws a measure of every model by depth."""
    measure, first = {"rank-collapse": (residuals_by_depth, 0), "permutation": (permutation_error_by_depth, 1)}[figure]
    values = {run.model: measure(probe(runs, run)) for run in found}
    floor = 1e-8  # of the logarithmic axis
    shown = [Line(model, list(range(first, first + len(y))), [max(v, floor) for v in y], f"{y[-1]:.2g}") for model, y in values.items()]
    chart = {
        "rank-collapse": Chart("How different rows stay with depth", "residual of the mean row, relative to the norm of the rows; dashed: the control without mixing",
                               "layer", "relative residual", "last layer", (0, 1.05 * max(map(max, values.values())))),
        "permutation": Chart("Change of the class token when rows are shuffled", "initial weights, no positions; 0 is drawn as 10^-8; dashed: the control without mixing",
                             "layer", "change of its row, relative to the row", "last layer", (floor / 2, 4), True)}[figure]
    draw_chart(path, chart, shown, origin, {"title": chart.title, "subtitle": chart.subtitle, "origin": origin, "by_model": values})


def draw_spectra(runs: Runs, found: list[Run], path: Path, origin: str) -> None:
    """Draws the singular values of softmax attention's maps in every layer, beside those of a permutation."""
    run = next(run for run in found if run.model == "softmax")
    spectra = attention_spectra(read_safetensors(run.checkpoint), probe(runs, run), int(run.flags["heads"]))
    values = {"sort, CSP: a permutation": [1.0] * len(spectra[0])} | {f"softmax, layer {i}": list(map(float, s)) for i, s in enumerate(spectra, 1)}
    shown = [Line(label, list(range(1, len(y) + 1)), y, f"{sum(v > 0.01 for v in y)}") for label, y in values.items()]
    chart = Chart("Singular values of a layer's map", "relative to the greatest one; softmax: means over heads and samples of a trained model",
                  "index", "relative singular value", "above 1 %", (min(map(min, values.values())) / 2, 2), True)
    draw_chart(path, chart, shown, origin, {"title": chart.title, "subtitle": chart.subtitle, "origin": origin, "by_layer": values})


def draw_shifts(program: Path, path: Path, origin: str, rows: int = 64) -> None:
    """Draws the rows by which CSP moves each channel, for layers of 16 channels and four heads."""
    output = output_of(program, "--shifts", str(rows), "--layers", "2", "--width", "16", "--heads", "4")
    values = {entry["shift"]: entry["rows"] for entry in map(json.loads, output.splitlines())}
    shown = [Line(name, list(range(len(y))), y, str(y[-1])) for name, y in values.items()]
    chart = Chart("Shifts of CSP", f"rows by which a channel moves, of {rows}: two layers of 16 channels, four heads", "layer times 16 + channel", "rows", "last channel", (-2, rows))
    draw_chart(path, chart, shown, origin, {"title": chart.title, "subtitle": chart.subtitle, "origin": origin, "by_shift": values})


def draw_samples(runs: Runs, settings: list[dict[str, str]], titles: list[str], path: Path, origin: str, count: int = 8) -> None:
    """Draws test images of Pathfinder, a row of images for each of `settings`."""
    images = [probe(runs, runs.run_of(flags, 1)) for flags in settings]
    data = {"title": "Our Pathfinder", "origin": origin, "labels": [tensors["labels"][:count].astype(int).tolist() for tensors in images]}
    if not write_data(path, data):
        return
    from report.pictures.style import finish, ink, plt, save  # require matplotlib

    def figure_of(_theme: str):
        figure, axes = plt.subplots(len(settings), count, figsize=(1.12 * count, 1.3 * len(settings)))
        for row, tensors, title in zip(axes, images, titles):
            for axis, tokens, label in zip(row, tensors["tokens"], tensors["labels"]):
                axis.imshow(tokens.reshape(32, 32), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
                axis.set_xticks([])
                axis.set_yticks([])
                axis.set_xlabel("one path" if label else "two paths", labelpad=2, fontsize=8)
            row[0].set_ylabel(title, color=ink())
        finish(figure, "Our Pathfinder", "test images of seed 1: are both disks at the ends of one path?", origin)
        return figure
    save(figure_of, path)
