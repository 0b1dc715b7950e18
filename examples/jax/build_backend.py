# SPDX-License-Identifier: Apache-2.0
"""The build backend of this package, which examples/bindings/python_package.py has. Installers start it in the folder of
pyproject.toml, which is the top folder of a source distribution."""
import os
import sys
from pathlib import Path

os.chdir(Path(__file__).resolve().parent)
sys.path.append("../bindings")

from python_package import *  # noqa: E402,F403
