# SPDX-License-Identifier: Apache-2.0
"""Compiles csrc/*.cpp to a shared library of XLA handlers and, with SLICESORT_CUDA=1, to a second one with nvcc. Uses the
library headers of this checkout."""
import os
from pathlib import Path

import jax
import python_package
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FOLDER = Path(__file__).resolve().parent
SOURCES = sorted(str(path.relative_to(FOLDER)) for path in (FOLDER / "csrc").glob("*.cpp"))
INCLUDE = [word for path in (jax.ffi.include_dir(), FOLDER / "../../include") for word in ("-isystem", str(path))]
HEADERS = [str(path) for folder in ("csrc", "../bindings", "../../include") for path in (FOLDER / folder).rglob("*")]


class WheelOfLibraries(python_package.bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class BuildLibraries(build_ext):
    def get_ext_filename(self, fullname: str) -> str:
        # Omits the suffix of Python modules: the library is opened by ctypes.
        return os.path.join(*fullname.split(".")) + ".so"

    def build_extension(self, extension: Extension) -> None:
        if extension.name != CUDA.name:
            return super().build_extension(extension)
        nvcc = os.environ.get("NVCC", "nvcc")
        architecture = os.environ.get("SLICESORT_CUDA_ARCH", "native")
        objects = []
        for source in extension.sources:
            object_file = Path(self.build_temp) / "cuda" / (Path(source).stem + ".o")
            object_file.parent.mkdir(parents=True, exist_ok=True)
            objects.append(str(object_file))
            self.spawn([nvcc, "-x", "cu", "-std=c++17", "-O2", f"-arch={architecture}", "-Xcompiler",
                        "-fPIC,-fvisibility=hidden", *INCLUDE, "-c", source, "-o", objects[-1]])
        library = Path(self.get_ext_fullpath(extension.name))
        library.parent.mkdir(parents=True, exist_ok=True)
        self.spawn([nvcc, "-shared", f"-arch={architecture}", *objects, "-o", str(library)])


# -g0: Python's default flags request debug symbols, which are ten times as large as the code.
HOST = Extension("slicesort_jax.host", SOURCES, language="c++", depends=HEADERS, extra_link_args=["-pthread"],
                 extra_compile_args=["-std=c++17", "-O2", "-g0", "-fvisibility=hidden", *INCLUDE])
CUDA = Extension("slicesort_jax.cuda", [s for s in SOURCES if not s.endswith("library.cpp")])

BUILD = (FOLDER / "../../build/examples-jax").resolve()
BUILD.mkdir(parents=True, exist_ok=True)

setup(version=python_package.version(), license="Apache-2.0", ext_modules=[HOST, CUDA] if os.environ.get("SLICESORT_CUDA") == "1" else [HOST],
      cmdclass={"bdist_wheel": WheelOfLibraries, "build_ext": BuildLibraries},
      options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}})
