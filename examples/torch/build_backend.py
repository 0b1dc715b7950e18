# SPDX-License-Identifier: Apache-2.0
"""Build backend: setuptools with the installed packages visible in pip's isolated build. Nothing is downloaded, and the
extension is compiled against the torch that will load it."""
import site
import sys

sys.path.extend(path for path in site.getsitepackages() if path not in sys.path)

from setuptools.build_meta import *  # noqa: E402,F403


def get_requires_for_build_wheel(config_settings=None):
    """Returns no requirements. Before version 70.1, setuptools would request a download of wheel."""
    try:
        from setuptools.command import bdist_wheel  # noqa: F401
    except ImportError:
        try:
            import wheel  # noqa: F401
        except ImportError:
            raise SystemExit('wheels need a newer setuptools: pip install "setuptools>=70.1,<82"') from None
    return []
