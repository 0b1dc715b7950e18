# SPDX-License-Identifier: Apache-2.0
"""Loads the compiled operators, `torch.ops.slicesort`, from the installed package, unless the program has loaded a
build of its own with `torch.utils.cpp_extension.load`."""
from pathlib import Path

import torch

if not hasattr(torch.ops.slicesort, "slicing_sort"):
    _built = sorted(Path(__file__).parent.glob("_C*.so"))
    if not _built:
        raise ImportError("slicesort_torch is not built: pip install ./examples/torch, or load its sources first "
                          "(examples/torch/recipe.py)")
    torch.ops.load_library(_built[0])

ops = torch.ops.slicesort
