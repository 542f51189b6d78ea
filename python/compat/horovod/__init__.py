# SPDX-License-Identifier: Apache-2.0
"""Scripts that say `import horovod.torch as hvd` run on libhvd with this package on their path.

It has the names that scripts import from Horovod 0.28.1; hvd.torch does the work.
"""
import glob as _glob
import os as _os

__version__ = "0.28.1"


def _remedy() -> str:
    """What to do without hvd. It may be installed below the prefix of this package, where this Python does not look."""
    prefix = _os.path.abspath(__file__)
    for _ in range(5):  # PREFIX/share/hvdrun/compat/horovod/__init__.py
        prefix = _os.path.dirname(prefix)
    found = sorted(_glob.glob(_os.path.join(_glob.escape(prefix), "lib*", "python3*", "*-packages", "hvd")))
    if found:
        return f"add {_os.path.dirname(found[-1])}, where it is, to PYTHONPATH"
    return "pip install ./python in the sources of hvdrun, or use the Python for which hvdrun was configured"


try:
    from .runner import run
except ModuleNotFoundError as error:
    if error.name != "hvd":
        raise
    raise ImportError("horovod on libhvd needs the package hvd, which this Python does not have: " + _remedy()) from error
