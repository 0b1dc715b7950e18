# SPDX-License-Identifier: Apache-2.0
"""The operators of slicesort for PyTorch: as functions (`functional`), as modules under the papers' names (`nn`), and
`sort`, a drop-in replacement for `torch.sort`."""
from . import functional, nn
from .sort import sort

__all__ = ["functional", "nn", "sort"]
__version__ = "0.2.0"
