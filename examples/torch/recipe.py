# SPDX-License-Identifier: Apache-2.0
"""Uses the operators without installation: torch compiles them on the first run and caches the result. Copy this into
your program and set `root` to your clone of this repository."""
import sys
from pathlib import Path

from torch.utils.cpp_extension import load

root = Path(__file__).parents[2]
load(name="slicesort_ops", sources=[str(path) for path in sorted(root.glob("examples/torch/csrc/*.cpp"))],
     extra_include_paths=[str(root / "include")], is_python_module=False,
     extra_cflags=["-O2", "-std=c++17", "-fvisibility=hidden", "-DTORCH_TARGET_VERSION=0x020a000000000000"])
sys.path.append(str(root / "examples/torch/src"))
from slicesort_torch.functional import slicing_sort  # noqa: E402,F401
