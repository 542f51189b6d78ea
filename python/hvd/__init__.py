# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training with libhvd: the world and its ranks.

    import hvd.torch as hvd     collectives of PyTorch's tensors, optimizers, helpers
    import hvd.numpy as hvd     collectives of NumPy's arrays and of everything that lies in memory like them

Both have the calls of this module as well. doc/python.md has a table of all calls.
"""
import sys as _sys

from .exceptions import HorovodInternalError, HostsUpdatedInterrupt

try:
    import numpy as _numpy  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "numpy":
        raise
    raise ImportError(
        f"hvd needs NumPy, which {_sys.executable} does not have: install it there (pip install numpy; Debian: python3-numpy)"
    ) from None

try:
    from . import _hvd
except ImportError as error:
    raise ImportError(
        f"hvd cannot load libhvd ({error}). Install libhvd (make install, then ldconfig; or the package that has "
        "libhvd.so.0), or name its directory in LD_LIBRARY_PATH; then build this package again if it was not built yet"
    ) from error

from . import elastic  # noqa: F401
from ._run import run
from ._world import (
    ccl_built,
    cross_rank,
    cross_size,
    cuda_built,
    ddl_built,
    epoch,
    gloo_built,
    gloo_enabled,
    init,
    is_homogeneous,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nccl_built,
    rank,
    rocm_built,
    shutdown,
    size,
    start_timeline,
    stop_timeline,
)
from .process_sets import ProcessSet, add_process_set, global_process_set, remove_process_set

__version__ = _hvd.version()

__all__ = [
    "HorovodInternalError",
    "HostsUpdatedInterrupt",
    "ProcessSet",
    "add_process_set",
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "epoch",
    "global_process_set",
    "gloo_built",
    "gloo_enabled",
    "init",
    "is_homogeneous",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "remove_process_set",
    "rocm_built",
    "run",
    "shutdown",
    "size",
    "start_timeline",
    "stop_timeline",
]
