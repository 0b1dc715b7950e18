# SPDX-License-Identifier: Apache-2.0
"""Without installing anything: torch compiles the operators on the first run, and finds them compiled on the next.
Copy this into your program, with `root` where this repository lies."""
import sys
from pathlib import Path

from torch.utils.cpp_extension import load

root = Path(__file__).parents[2]
load(name="slicesort_ops", sources=[str(path) for path in sorted(root.glob("examples/torch/csrc/*.cpp"))],
     extra_include_paths=[str(root / "include")], is_python_module=False,
     extra_cflags=["-O2", "-std=c++17", "-fvisibility=hidden", "-DTORCH_TARGET_VERSION=0x020a000000000000"])
sys.path.append(str(root / "examples/torch/src"))
from slicesort_torch.functional import slicing_sort  # noqa: E402,F401
