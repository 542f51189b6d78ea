# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving the world, the ranks and sizes, the timeline, and what libhvd was built with.

A process joins its world by init() and leaves it by shutdown(), after which calls fail. init() joins the next epoch:
in an elastic job with other members, in another job with the same ranks, all of which must come again.
"""
import os
import sys
from typing import Iterable, Optional, Sequence, Union

from . import _hvd
from . import process_sets as _sets
from ._interruptible import interruptible
from .exceptions import HorovodInternalError
from .process_sets import ProcessSet

_PEER_LEFT, _PEER_LOST = -11, -10  # of enum hvd_status in hvd.h
_JOINS_MAX = 10  # worlds in a row that break while they are joined; as ELASTIC_JOINS_MAX in lib/training

last_place = None  # rank and size in the last world; hvd.run() asks after shutdown(), too


def _check_comm(comm: Optional[Sequence[int]]) -> None:
    if comm is not None and not isinstance(comm, (list, tuple, range)):
        raise ValueError(f"comm is {comm!r}: libhvd has no MPI, so comm is None or a list of all ranks")


def _check_ranks(comm: Optional[Sequence[int]]) -> None:
    if comm and sorted(comm) != list(range(_hvd.size())):
        raise ValueError(f"comm is {list(comm)!r}, but a world has all ranks, 0 to {_hvd.size() - 1}")


def is_elastic() -> bool:
    """Whether this process belongs to an elastic job."""
    return os.environ.get("HOROVOD_ELASTIC") == "1"


def _join_once(sets: list) -> None:
    try:
        interruptible(_hvd.init, sets)
    except ValueError as error:
        process = sys.modules.get("multiprocessing.process")
        if process is None or process.parent_process() is None:
            raise
        raise ValueError(
            f"{error}. multiprocessing has started this process in a rank; only the rank itself calls hvd.init()"
        ) from error


def _join(sets: list) -> None:
    """In an elastic job, a world that loses a rank while the others still join it is followed by another."""
    for joins in range(1, _JOINS_MAX + 1):
        try:
            _join_once(sets)
            return
        except HorovodInternalError as error:
            if not is_elastic() or error.status not in (_PEER_LOST, _PEER_LEFT) or joins == _JOINS_MAX:
                raise
            _hvd.shutdown()


def init(
    comm: Optional[Sequence[int]] = None, process_sets: Optional[Union[str, Iterable[ProcessSet]]] = None
) -> None:
    """Join the world and wait until all ranks have joined. Another call changes nothing.

    hvdrun tells each process its rank. Without hvdrun the process is a world of its own, of size 1.
    `process_sets` are sets that all ranks make at once, the same on all ranks; "dynamic" is accepted, and
    sets can always be added. `comm` exists for scripts that pass a list of all ranks.

    ValueError for an environment or an argument that is not acceptable, HorovodInternalError when the
    rendezvous or another rank fails. In an elastic job init() outlives the loss of a rank: it joins the world of the others.
    """
    global last_place
    _check_comm(comm)
    sets = _sets.as_process_sets(process_sets)
    if not _hvd.is_initialized():
        _join([each.ranks for each in sets])
    _check_ranks(comm)
    _sets.refresh(sets)
    last_place = _hvd.rank(), _hvd.size()


def shutdown() -> None:
    """Leave the world: calls fail until init() joins the next epoch. Without a world it does nothing.

    Waits for no other rank. Collectives that are in flight fail, here and on the ranks that need this one.
    """
    _sets.forget()
    _hvd.shutdown()


def is_initialized() -> bool:
    """True between init() and shutdown()."""
    return _hvd.is_initialized()


def epoch() -> int:
    """How many worlds the job had before this one: 0 at first."""
    return _hvd.epoch()


def rank() -> int:
    """The rank of this process, 0 to size() - 1. ValueError when there is no world; so do the next ones."""
    return _hvd.rank()


def size() -> int:
    """The number of ranks of the world."""
    return _hvd.size()


def local_rank() -> int:
    """The rank of this process among those of its host: it picks the accelerator."""
    return _hvd.local_rank()


def local_size() -> int:
    """The number of ranks on this host."""
    return _hvd.local_size()


def cross_rank() -> int:
    """The rank of this process among those with the same local rank, one for each host."""
    return _hvd.cross_rank()


def cross_size() -> int:
    """The number of ranks with the same local rank."""
    return _hvd.cross_size()


def is_homogeneous() -> bool:
    """True if every host has the same number of ranks."""
    return bool(_hvd.is_homogeneous())


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Record the library's work as Chrome trace events in `file_path` from now on; only rank 0 writes."""
    _hvd.start_timeline(str(file_path), int(mark_cycles))


def stop_timeline() -> None:
    """End the timeline; without one it does nothing."""
    _hvd.stop_timeline()


def mpi_threads_supported() -> bool:
    """False: libhvd has no MPI, so that no other thread may use MPI because of it."""
    _hvd.size()
    return False


def mpi_enabled() -> bool:
    """False: libhvd has no MPI."""
    return False


def mpi_built() -> bool:
    """False: libhvd has no MPI."""
    return False


def gloo_enabled() -> bool:
    """True: scripts ask this to learn whether collectives work without MPI, and they do."""
    return True


def gloo_built() -> bool:
    """True, see gloo_enabled()."""
    return True


def nccl_built() -> int:
    """0: libhvd does not call NCCL."""
    return 0


def ddl_built() -> bool:
    """False: libhvd has no DDL."""
    return False


def ccl_built() -> bool:
    """False: libhvd has no oneCCL."""
    return False


def cuda_built() -> bool:
    """False: libhvd is not built with CUDA; it loads a module and the driver when it gets a tensor of CUDA."""
    return False


def rocm_built() -> bool:
    """False: libhvd is not built with ROCm."""
    return False
