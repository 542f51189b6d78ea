# SPDX-License-Identifier: Apache-2.0
"""horovod.torch on libhvd: hvd.torch under Horovod's name."""
from hvd.torch import *  # noqa: F401,F403
from hvd.torch import __all__ as _all
from hvd.torch import compression, functions

from . import elastic, mpi_ops

__all__ = list(_all)
