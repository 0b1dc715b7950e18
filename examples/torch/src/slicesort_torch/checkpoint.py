# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of `slicesort_train`, the C++ program of examples/learning, as models in torch.

Such a file has the parameters under the names that they have in `nn.Encoder`, Adam's moments as
`adam.m.<name>` and `adam.v.<name>`, and as metadata the settings of the run (`nn.settings`)."""
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from .nn.catalog import encoder_of
from .nn.encoder import Encoder
from .nn.settings import Settings

MOMENTS = ("adam.m.", "adam.v.")


def load(path: str | os.PathLike) -> Encoder:
    """The model of a checkpoint, on the CPU and in evaluation mode. Raises a ValueError that says
    what is missing or does not fit."""
    with opened(path) as file:
        model = encoder_of(settings_in(file))
        fill(model, file)
    return model.eval()


def load_into(model: Encoder, path: str | os.PathLike) -> None:
    """Reads the parameters of a checkpoint into a model, which must have the same names and shapes.
    Raises a ValueError as `load` does, and then has changed nothing."""
    with opened(path) as file:
        fill(model, file)


def settings_of(path: str | os.PathLike) -> Settings:
    """The settings of the run that wrote a checkpoint."""
    with opened(path) as file:
        return settings_in(file)


@contextmanager
def opened(path: str | os.PathLike) -> Iterator[Any]:
    """An open file, in whose errors stands its name."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            yield file
    except SafetensorError as error:
        raise ValueError(f"{os.fspath(path)} is no safetensors file: {error}") from error
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def settings_in(file: Any) -> Settings:
    text = (file.metadata() or {}).get("settings")
    if text is None:
        raise ValueError("there are no settings in its metadata: slicesort_train did not write it")
    return Settings.parse(text)


def fill(model: Encoder, file: Any) -> None:
    wanted = model.state_dict()
    found = {name for name in file.keys() if not name.startswith(MOMENTS)}
    complaints = []
    for name, to in wanted.items():
        must = list(to.shape)
        if name not in found:
            complaints.append(f"has no tensor {name}, {must}")
        elif (shape := list(file.get_slice(name).get_shape())) != must:
            complaints.append(f"has {name} of shape {shape}, must be {must}")
    for name in sorted(found - wanted.keys()):
        complaints.append(f"has a tensor {name}, which the model does not have")
    if complaints:
        raise ValueError("; ".join(complaints))
    with torch.no_grad():
        for name, to in wanted.items():
            to.copy_(file.get_tensor(name))
