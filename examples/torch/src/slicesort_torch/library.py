# SPDX-License-Identifier: Apache-2.0
"""The compiled operators, `torch.ops.slicesort`: those of the installed package, unless the program has loaded its own
build with `torch.utils.cpp_extension.load` before."""
from pathlib import Path

import torch

if not hasattr(torch.ops.slicesort, "slicing_sort"):
    _built = sorted(Path(__file__).parent.glob("_C*.so"))
    if not _built:
        raise ImportError("slicesort_torch is not built: pip install ./examples/torch, or load its sources first "
                          "(examples/torch/recipe.py)")
    torch.ops.load_library(_built[0])

ops = torch.ops.slicesort
