# SPDX-License-Identifier: Apache-2.0
"""Compiles csrc/*.cpp to a shared library of XLA's handlers; with SLICESORT_CUDA=1 nvcc makes a second one of the
same sources. The library's headers are those of the checkout around this folder."""
import os
from pathlib import Path

import jax
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = Path(__file__).resolve().parent
SOURCES = sorted(str(path.relative_to(FOLDER)) for path in (FOLDER / "csrc").glob("*.cpp"))
INCLUDE = [word for path in (jax.ffi.include_dir(), FOLDER / "../../include") for word in ("-isystem", str(path))]
HEADERS = [str(path) for folder in ("csrc", "../bindings", "../../include") for path in (FOLDER / folder).rglob("*")]


class BuildLibraries(build_ext):
    def get_ext_filename(self, fullname: str) -> str:
        # No Python module, so without the suffix of one: ctypes opens it.
        return os.path.join(*fullname.split(".")) + ".so"

    def build_extension(self, extension: Extension) -> None:
        if extension.name != CUDA.name:
            return super().build_extension(extension)
        nvcc = os.environ.get("NVCC", "nvcc")
        architecture = os.environ.get("SLICESORT_CUDA_ARCH", "native")
        objects = []
        for source in extension.sources:
            to = Path(self.build_temp) / "cuda" / (Path(source).stem + ".o")
            to.parent.mkdir(parents=True, exist_ok=True)
            objects.append(str(to))
            self.spawn([nvcc, "-x", "cu", "-std=c++17", "-O2", f"-arch={architecture}", "-Xcompiler",
                        "-fPIC,-fvisibility=hidden", *INCLUDE, "-c", source, "-o", str(to)])
        library = Path(self.get_ext_fullpath(extension.name))
        library.parent.mkdir(parents=True, exist_ok=True)
        self.spawn([nvcc, "-shared", f"-arch={architecture}", *objects, "-o", str(library)])


# -g0: Python's own flags ask for symbols of debugging, which here are ten times the code.
HOST = Extension("slicesort_jax.host", SOURCES, language="c++", depends=HEADERS, extra_link_args=["-pthread"],
                 extra_compile_args=["-std=c++17", "-O2", "-g0", "-fvisibility=hidden", *INCLUDE])
CUDA = Extension("slicesort_jax.cuda", [s for s in SOURCES if not s.endswith("library.cpp")])

MADE = (FOLDER / "../../build/examples-jax").resolve()
MADE.mkdir(parents=True, exist_ok=True)

setup(ext_modules=[HOST, CUDA] if os.environ.get("SLICESORT_CUDA") == "1" else [HOST],
      cmdclass={"build_ext": BuildLibraries},
      options={"build": {"build_base": str(MADE)}, "egg_info": {"egg_base": str(MADE)}})
