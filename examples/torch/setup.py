# SPDX-License-Identifier: Apache-2.0
"""Compiles the operators against the installed torch: a unit per operator and, with a GPU and nvcc, another one for
CUDA. SLICESORT_CUDA=1 or 0 overrides the choice."""
import os
from pathlib import Path

import python_package
import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension

FOLDER = Path(__file__).resolve().parent
with_cuda = os.environ.get("SLICESORT_CUDA", str(int(torch.cuda.is_available() and CUDA_HOME is not None))) == "1"
sources = sorted(FOLDER.glob("csrc/*.cpp")) + (sorted(FOLDER.glob("csrc/cuda/*.cu")) if with_cuda else [])
# The stable ABI of torch 2.10: the build loads into every later torch, and any Python 3.
# -g0: Python's default flags request debug symbols, which are ten times as large as the code.
stable = "-DTORCH_TARGET_VERSION=0x020a000000000000"
extension = (CUDAExtension if with_cuda else CppExtension)(
    "slicesort_torch._C",
    [str(path.relative_to(FOLDER)) for path in sources],
    include_dirs=[str((FOLDER / "../../include").resolve())],
    extra_compile_args={"cxx": ["-O2", "-g0", "-std=c++17", "-fvisibility=hidden", stable],
                        "nvcc": ["-O3", "-std=c++17", "-Xcompiler", "-fvisibility=hidden", "-DUSE_CUDA", stable]},
    py_limited_api=True,
)

BUILD = (FOLDER / "../../build/examples-torch").resolve()
BUILD.mkdir(parents=True, exist_ok=True)

setup(
    version=python_package.version(), license="Apache-2.0",
    ext_modules=[extension],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}, "build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}},
)
