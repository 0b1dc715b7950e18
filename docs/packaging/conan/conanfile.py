# SPDX-License-Identifier: Apache-2.0
# `conan create docs/packaging/conan` packages this checkout; find_package(slicesort) then finds what installing it by
# CMake would have given, components included. For Conan 2.
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

REQUIRED_FILES = ("CMakeLists.txt", "LICENSE", "include/*")


class Slicesort(ConanFile):
    name = "slicesort"
    description = "Attention operators that sort, permute and mix, and softmax attention to compare them with"
    license = "Apache-2.0"
    topics = ("attention", "sorting", "permutation", "simd", "cuda", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    @property
    def _root(self) -> Path:
        return Path(self.recipe_folder).parents[2]

    def set_version(self) -> None:
        text = (self._root / "include/slicesort/version.hpp").read_text(encoding="utf-8")
        self.version = ".".join(re.findall(r"#define SLICESORT_VERSION_\w+ (\d+)", text))

    def export_sources(self) -> None:
        for pattern in REQUIRED_FILES:
            copy(self, pattern, src=self._root, dst=self.export_sources_folder)

    def layout(self) -> None:
        cmake_layout(self)

    def package_id(self) -> None:
        self.info.clear()  # headers are the same for every compiler

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCH", "EXAMPLES"):
            toolchain.cache_variables[f"SLICESORT_BUILD_{part}"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def package(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.install()
        copy(self, "LICENSE", src=self.source_folder, dst=Path(self.package_folder) / "licenses")

    def package_info(self) -> None:
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        # The package's own slicesortConfig.cmake, which knows the components, rather than one that Conan writes.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/slicesort"]
