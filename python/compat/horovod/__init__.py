# SPDX-License-Identifier: Apache-2.0
"""Scripts that say `import horovod.torch as hvd` run on libhvd with this package on their path.

It has the names that scripts import from Horovod 0.28.1; hvd.torch does the work.
"""
__version__ = "0.28.1"

try:
    from .runner import run
except ModuleNotFoundError as error:
    if error.name != "hvd":
        raise
    raise ImportError(
        "horovod on libhvd needs the package hvd, which this Python does not have: pip install ./python in the sources "
        "of hvdrun, or use the Python for which hvdrun was configured"
    ) from error
