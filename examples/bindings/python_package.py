# SPDX-License-Identifier: Apache-2.0
"""The build backend that the Python packages of examples/torch and examples/jax share: setuptools with the installed
packages visible in pip's isolated build. Nothing is downloaded, and an extension is compiled against the framework that
will load it. A source distribution has the layout of this repository, reduced to what one package needs."""
import re
import site
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.extend(path for path in site.getsitepackages() if path not in sys.path)

from setuptools import build_meta  # noqa: E402
from setuptools.build_meta import *  # noqa: E402,F403

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        bdist_wheel = None

ROOT = Path(__file__).resolve().parents[2]


def version() -> str:
    """The version of the library, of its header version.hpp."""
    text = (ROOT / "include/slicesort/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define SLICESORT_VERSION_\w+ (\d+)", text))


def get_requires_for_build_wheel(config_settings=None):
    """Returns no requirements. Before version 70.1, setuptools would request a download of wheel."""
    if bdist_wheel is None:
        raise SystemExit('wheels need a newer setuptools: pip install "setuptools>=70.1,<82"')
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel


def build_sdist(sdist_directory, config_settings=None):
    """Packs the library's headers, the bindings and the package of the current folder, under their names here. The
    project file moves to the top, where installers look for it."""
    package = Path.cwd().relative_to(ROOT)
    name = f"slicesort_{package.name}-{version()}"

    def clean(entry: tarfile.TarInfo):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return None if entry.name.endswith(("__pycache__", ".egg-info", ".so")) else entry

    with tempfile.TemporaryDirectory() as folder:
        metadata = Path(folder, build_meta.prepare_metadata_for_build_wheel(folder), "METADATA")
        project = Path(folder, "pyproject.toml")
        text = Path("pyproject.toml").read_text(encoding="utf-8")
        project.write_text(text.replace('backend-path = ["."]', f'backend-path = ["{package}"]'), encoding="utf-8")
        with tarfile.open(Path(sdist_directory, name + ".tar.gz"), "w:gz") as archive:
            archive.add(metadata, f"{name}/PKG-INFO")
            archive.add(project, f"{name}/pyproject.toml")
            for path in ("LICENSE", "include", "examples/bindings", package):
                archive.add(ROOT / path, f"{name}/{path}", filter=clean)
    return name + ".tar.gz"
