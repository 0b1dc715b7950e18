# SPDX-License-Identifier: Apache-2.0
"""The operators of slicesort for PyTorch. `functional` has them as functions, `nn` as modules by the papers' names;
`sort` stands in for `torch.sort`."""
from . import functional, nn
from .sort import sort

__all__ = ["functional", "nn", "sort"]
__version__ = "0.2.0"
