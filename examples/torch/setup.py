# SPDX-License-Identifier: Apache-2.0
"""Compiles the operators against the installed torch: one unit for each operator, and, with a GPU and nvcc, another for
CUDA. SLICESORT_CUDA=1 or 0 decides where there is no GPU, or none is wanted."""
import os
from pathlib import Path

import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension

here = Path(__file__).resolve().parent
with_cuda = os.environ.get("SLICESORT_CUDA", str(int(torch.cuda.is_available() and CUDA_HOME is not None))) == "1"
sources = sorted(here.glob("csrc/*.cpp")) + (sorted(here.glob("csrc/cuda/*.cu")) if with_cuda else [])
# The stable ABI of torch 2.10: what is built here loads into every later torch, and any Python 3.
# -g0: Python's own flags ask for symbols of debugging, which here are ten times the code.
stable = "-DTORCH_TARGET_VERSION=0x020a000000000000"
extension = (CUDAExtension if with_cuda else CppExtension)(
    "slicesort_torch._C",
    [str(path.relative_to(here)) for path in sources],
    include_dirs=[str((here / "../../include").resolve())],
    extra_compile_args={"cxx": ["-O2", "-g0", "-std=c++17", "-fvisibility=hidden", stable],
                        "nvcc": ["-O3", "-std=c++17", "-Xcompiler", "-fvisibility=hidden", "-DUSE_CUDA", stable]},
    py_limited_api=True,
)

made = (here / "../../build/examples-torch").resolve()
made.mkdir(parents=True, exist_ok=True)

setup(
    ext_modules=[extension],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp310"}, "build": {"build_base": str(made)}, "egg_info": {"egg_base": str(made)}},
)
