# SPDX-License-Identifier: Apache-2.0
"""Scripts that say `import horovod.torch as hvd` run on libhvd with this package on their path.

It has the names that scripts import from Horovod 0.28.1; hvd.torch does the work.
"""
import glob as _glob
import importlib.machinery as _machinery
import importlib.util as _util
import os as _os
import sys as _sys

__version__ = "0.28.1"


def _installed_beside() -> str:
    """The directory of this Python's package hvd below the prefix of this package, "" if there is none."""
    prefix = _os.path.abspath(__file__)
    for _ in range(5):  # PREFIX/share/hvdrun/compat/horovod/__init__.py
        prefix = _os.path.dirname(prefix)
    for version in (f"python{_sys.version_info.major}.{_sys.version_info.minor}", "python3"):
        found = sorted(_glob.glob(_os.path.join(_glob.escape(prefix), "lib*", version, "*-packages", "hvd")))
        if found:
            return _os.path.dirname(found[0])
    return ""


def _import_hvd() -> None:
    """Import hvd, also from below the prefix of this package, where this Python does not look.

    The directory does not become part of the path: it may have packages of another Python.
    """
    try:
        import hvd  # noqa: F401

        return
    except ModuleNotFoundError as error:
        if error.name != "hvd":
            raise
    directory = _installed_beside()
    spec = _machinery.PathFinder.find_spec("hvd", [directory]) if directory else None
    if spec is None or spec.loader is None:
        raise ImportError(
            "horovod on libhvd needs the package hvd, which this Python does not have: pip install ./python in the sources of "
            "hvdrun, or use the Python for which hvdrun was configured"
        )
    _sys.modules["hvd"] = module = _util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        for name in [name for name in _sys.modules if name.split(".")[0] == "hvd"]:
            del _sys.modules[name]
        raise


_import_hvd()

from .runner import run  # noqa: E402
