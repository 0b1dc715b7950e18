# SPDX-License-Identifier: Apache-2.0
"""setuptools, seen from within pip's isolated build together with the JAX that is already installed: nothing is
downloaded, and the extension is built against the JAX that will load it."""
import site
import sys

sys.path.extend(path for path in site.getsitepackages() if path not in sys.path)

from setuptools.build_meta import *  # noqa: E402,F403


def get_requires_for_build_wheel(config_settings=None):
    """Nothing, which setuptools older than 70.1 would answer with a package to download."""
    try:
        from setuptools.command import bdist_wheel  # noqa: F401
    except ImportError:
        try:
            import wheel  # noqa: F401
        except ImportError:
            raise SystemExit('wheels need a newer setuptools: pip install "setuptools>=70.1,<82"') from None
    return []
