# SPDX-License-Identifier: Apache-2.0
"""Loads checkpoints of `slicesort_train`, the C++ program of examples/learning.

The file contains the parameters under the names of `nn.Encoder`, Adam's moments as
`adam.m.<name>` and `adam.v.<name>`, and the settings of the run (`nn.settings`) as metadata."""
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from .nn.catalog import encoder_of
from .nn.encoder import Encoder
from .nn.settings import Settings, parse_setting

MOMENTS = ("adam.m.", "adam.v.")


def load(path: str | os.PathLike) -> Encoder:
    """Returns the model of a checkpoint, on the CPU and in evaluation mode. Raises a ValueError if
    tensors are missing or have the wrong shape or dtype."""
    with open_checkpoint(path) as file:
        settings = settings_in(file)
        count = len(parameters_in(file))
        for name in ("layers", "factors"):  # each of them has at least one tensor
            if getattr(settings, name) > count:
                size = getattr(settings, name)
                raise ValueError(f"{name} is {size}, and there are {count} tensors")
        with torch.device("meta"):  # allocates nothing: sizes are not checked yet
            require_same(encoder_of(settings), file)
        model = encoder_of(settings)
        load_parameters(model, file)
    return model.eval()


def load_into(model: Encoder, path: str | os.PathLike) -> None:
    """Reads the parameters of a checkpoint into a model with the same names and shapes. Raises a
    ValueError as `load` does, and then leaves the model unchanged."""
    with open_checkpoint(path) as file:
        load_parameters(model, file)


def settings_of(path: str | os.PathLike) -> Settings:
    """Returns the settings of the run that wrote a checkpoint."""
    with open_checkpoint(path) as file:
        return settings_in(file)


@contextmanager
def open_checkpoint(path: str | os.PathLike) -> Iterator[Any]:
    """Opens a file, and adds its name to error messages."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            yield file
    except SafetensorError as error:
        raise ValueError(f"{os.fspath(path)} is no safetensors file: {error}") from error
    except (ValueError, RuntimeError, MemoryError) as error:  # raised by torch for sizes that are too large
        raise ValueError(f"{os.fspath(path)}: {error}") from error


def settings_in(file: Any) -> Settings:
    metadata = file.metadata() or {}
    text = metadata.get("settings")
    if text is None:
        raise ValueError("there are no settings in its metadata: slicesort_train did not write it")
    settings = with_image_size(Settings.parse(text), file)
    steps = dict(word.split("=", 1) for word in text.split()).get("steps", "1000")
    step = metadata.get("step", "0")
    if not re.fullmatch("[0-9]{1,18}", step) or int(step) > parse_setting("steps", steps, float):
        raise ValueError(f"step is {step!r}, must be a whole number in 0..{steps} (steps)")
    return settings


def with_image_size(settings: Settings, file: Any) -> Settings:
    """Returns the settings with the length of a model of images in MNIST's format. The settings of
    the run have no size of the images; learned positions have a row for each patch. Without them, the
    images are those of MNIST."""
    if settings.task != "mnist" or settings.positions != "learned":
        return settings
    shape = file.get_slice("positions").get_shape() if "positions" in file.keys() else []
    length = shape[0] - (settings.pool == "cls") if shape else 0
    return replace(settings, length=length) if length > 0 else settings


def parameters_in(file: Any) -> set[str]:
    return {name for name in file.keys() if not name.startswith(MOMENTS)}


def require_same(model: Encoder, file: Any) -> None:
    """Raises a ValueError if the file's tensors are not those of the model."""
    parameters, found = model.state_dict(), parameters_in(file)
    errors = []
    for name, parameter in parameters.items():
        expected = list(parameter.shape)
        if name not in found:
            errors.append(f"has no tensor {name}, {expected}")
        elif (shape := list(file.get_slice(name).get_shape())) != expected:
            errors.append(f"has {name} of shape {shape}, must be {expected}")
        elif (dtype := file.get_slice(name).get_dtype()) != "F32":
            errors.append(f"has {name} of dtype {dtype}, must be F32")
    for name in sorted(found - parameters.keys()):
        errors.append(f"has a tensor {name}, which the model does not have")
    if errors:
        raise ValueError("; ".join(errors))


def load_parameters(model: Encoder, file: Any) -> None:
    require_same(model, file)
    with torch.no_grad():
        for name, parameter in model.state_dict().items():
            parameter.copy_(file.get_tensor(name))
