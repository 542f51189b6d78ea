# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving the world, the ranks and sizes, the timeline, and what libhvd was built with.

    never -> joined -> departed -> joined ...      all ranks have called shutdown() within FAREWELL_S seconds
             joined -> left                        shutdown() otherwise; the end

libhvd joins its world once in the life of a process, but programs call shutdown() and then init() again. When all
ranks call shutdown() at about the same time, none waits for another any more: they depart, calls fail from then on,
and init() takes the world up again, together with all other ranks. Otherwise shutdown() leaves the world: the other
ranks get an error that names this one, and init() fails.
"""
import ctypes
import sys
import time
from typing import Iterable, Optional, Sequence, Union

from . import _hvd
from . import process_sets as _sets
from ._collectives import DTYPE_NAMES
from ._interruptible import interruptible
from .exceptions import HorovodInternalError
from .process_sets import ProcessSet

_departed = _left = False
_farewells = 0  # how often all ranks have departed; the same on all of them

# How long shutdown() waits for the shutdown() of the other ranks, and for collectives that are in flight.
FAREWELL_S = 1.0


def _check_comm(comm: Optional[Sequence[int]]) -> None:
    if comm is not None and not isinstance(comm, (list, tuple, range)):
        raise ValueError(f"comm is {comm!r}: libhvd has no MPI, so comm is None or a list of all ranks")


def _check_ranks(comm: Optional[Sequence[int]]) -> None:
    if comm and sorted(comm) != list(range(_hvd.size())):
        raise ValueError(f"comm is {list(comm)!r}, but a world has all ranks, 0 to {_hvd.size() - 1}")


def _return() -> None:
    """Take up the world that shutdown() has departed from: all ranks meet, and remove their process sets."""
    _hvd.depart(False)
    try:
        interruptible(_hvd.run, _hvd.BARRIER, None, 0, 0, 1.0, 1.0, None, None)
        for number in sorted(_hvd.process_sets()):
            if number != 0:
                interruptible(_hvd.remove_process_set, number)
    except BaseException:
        _hvd.depart(True)
        raise


def _join(sets: list) -> None:
    try:
        interruptible(_hvd.init, sets)
    except ValueError as error:
        process = sys.modules.get("multiprocessing.process")
        if process is None or process.parent_process() is None:
            raise
        raise ValueError(
            f"{error}. multiprocessing has started this process in a rank; only the rank itself calls hvd.init()"
        ) from error


def init(
    comm: Optional[Sequence[int]] = None, process_sets: Optional[Union[str, Iterable[ProcessSet]]] = None
) -> None:
    """Join the world and wait until all ranks have joined. Another call changes nothing.

    hvdrun tells each process its rank. Without hvdrun the process is a world of its own, of size 1.
    `process_sets` are sets that all ranks make at once, the same on all ranks; "dynamic" is accepted, and
    sets can always be added. `comm` exists for scripts that pass a list of all ranks.

    ValueError for an environment or an argument that is not acceptable, HorovodInternalError when the
    rendezvous or another rank fails.
    """
    global _departed
    _check_comm(comm)
    sets = _sets.as_process_sets(process_sets)
    if _left:
        raise HorovodInternalError(
            "hvd.init(): this process has left its world by hvd.shutdown() when other ranks did not call it as well, "
            "or collectives were in flight; a process cannot join its world again"
        )
    if _departed:
        _return()
        _departed = False
        for each in sets:
            _sets.add_process_set(each)
    elif not _hvd.is_initialized():
        _join([each.ranks for each in sets])
    _check_ranks(comm)
    _sets.refresh(sets)


def _all_shut_down() -> bool:
    """True when nothing is in flight and all ranks have come here, within FAREWELL_S seconds.

    An allgather asks, because it fails while a rank waits in join().
    """
    deadline = time.monotonic() + FAREWELL_S
    memory = ctypes.create_string_buffer(1)
    row = (f"hvd.shutdown.{_farewells}", ctypes.addressof(memory), 0, 0, DTYPE_NAMES.index("uint8"), (1,))
    try:
        while _hvd.unfinished() > 0:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        handle = _hvd.submit(_hvd.ALLGATHER, row, 0, 0, 1.0, 1.0, None, memory)
        while not handle.poll():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        handle.wait()
    except HorovodInternalError:  # a rank was lost, has left, or has joined
        return False
    return True


def shutdown() -> None:
    """Leave the world: calls fail until init() is called again. Without a world it does nothing.

    Waits up to FAREWELL_S seconds for the shutdown() of the other ranks. If they do not come, this rank leaves for
    good: their calls raise HorovodInternalError, and so does init() here.
    """
    global _departed, _left, _farewells
    if not _hvd.is_initialized():
        return
    if _all_shut_down():
        _hvd.depart(True)
        _departed = True
        _farewells += 1
    else:
        _left = True
        _hvd.shutdown()


def is_initialized() -> bool:
    """True between init() and shutdown()."""
    return _hvd.is_initialized()


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
    """False: libhvd is not built with CUDA; tensors of CUDA pass through host memory."""
    return False


def rocm_built() -> bool:
    """False: libhvd is not built with ROCm."""
    return False
