# SPDX-License-Identifier: Apache-2.0
"""The operators of slicesort for PyTorch: as functions (`functional`), as modules under the papers' names (`nn`), and
`sort`, `argsort` and `top_k`, drop-in replacements for `torch.sort`, `torch.argsort` and `torch.topk`."""
from importlib import metadata

from . import functional, nn
from .sort import argsort, sort, top_k

__all__ = ["argsort", "functional", "nn", "sort", "top_k"]

try:
    __version__ = metadata.version("slicesort-torch")
except metadata.PackageNotFoundError:  # imported from a checkout
    __version__ = "unknown"
