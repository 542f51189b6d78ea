# SPDX-License-Identifier: Apache-2.0
"""Elastic training: ranks come and go, the training goes on (hvdrun --min-np).

    import hvd.numpy as hvd

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, 10):
            ...
            state.commit()

    hvd.init()
    train(hvd.elastic.ObjectState(weights=weights, epoch=0))

run() calls the function, and what breaks the world does not end it:

    a rank is lost        HorovodInternalError    take back the last commit, join the next world, synchronize, call again
    hosts have changed    HostsUpdatedInterrupt   join the next world, synchronize, call again
    this process has no place in the next world   SystemExit(0)

In a job that is not elastic, and when the ranks disagree about a collective, the error is the caller's.
"""
import copy
import functools
import os
import sys
from typing import Any, Callable, Dict, List, Sequence

import numpy

from . import _hvd, _world
from ._collectives import DTYPE_NAMES, Max, full_name
from ._objects import allgather_object, broadcast_object
from ._world import is_elastic
from .exceptions import HorovodInternalError, HostsUpdatedInterrupt

_REMOVED, _MISMATCH = -15, -9  # of enum hvd_status in hvd.h
_HOSTS_REMOVED = 1  # hvd_hosts_updated() in hvd.h; 2: added

_UINT8 = DTYPE_NAMES.index("uint8")


def _hosts_updated() -> int:
    """What any rank knows of a change of hosts; the same on all ranks, all of which call it."""
    mine = _hvd.hosts_updated()
    known = numpy.array([mine & _HOSTS_REMOVED, mine & ~_HOSTS_REMOVED], dtype=numpy.uint8)
    address = known.ctypes.data
    row = (full_name("allreduce", "hvd.elastic.updated"), address, address, known.nbytes, _UINT8, known.shape)
    _hvd.run(_hvd.ALLREDUCE, row, int(Max), 0, 1.0, 1.0, None, known)
    return int(known.sum())


class State:
    """What a training must keep when the world changes. The base of ObjectState, of TorchState and of a class of yours.

    A class of yours defines save(), restore() and sync(). Between reset() and sync() a new rank has a state that
    means nothing; oldest_rank() tells whose state counts.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._reset_callbacks: List[Callable[[], None]] = []
        self._holds = False  # the state of the job: it has been synchronized

    def register_reset_callbacks(self, callbacks: Sequence[Callable[[], None]]) -> None:
        """Call these functions after each change of the world, for instance to scale the learning rate by size()."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self) -> None:
        """A new world has been joined. Called by run()."""
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp: float, update_res: int) -> None:
        """Horovod's notification; libhvd asks for changes in check_host_updates() instead and does not call it."""

    def commit(self) -> None:
        """Save the state in memory, then check_host_updates(). Every rank commits at the same step.

        A lost rank takes the training back to the last commit. Committing less often than at each step costs less.
        """
        self.save()
        self.check_host_updates()

    def check_host_updates(self) -> None:
        """Raise HostsUpdatedInterrupt, on all ranks, when the job is to go on with other members.

        It is a collective: every rank calls it equally often. Outside an elastic job it does nothing.
        """
        if not is_elastic():
            return
        updated = _hosts_updated()
        if updated:
            raise HostsUpdatedInterrupt(updated == _HOSTS_REMOVED)

    def oldest_rank(self) -> int:
        """The lowest rank that has the state of the job, 0 when all are new. Every rank calls it."""
        holds = allgather_object(self._holds, name="hvd.elastic.holds")
        return holds.index(True) if True in holds else 0

    def save(self) -> None:
        """Keep the state as it is now."""
        raise NotImplementedError

    def restore(self) -> None:
        """Go back to the state that was kept."""
        raise NotImplementedError

    def sync(self) -> None:
        """Take over the state of oldest_rank(), and keep it. Every rank calls it; it ends with `self._holds = True`."""
        raise NotImplementedError

    def reset(self) -> None:
        """A new world has been joined; called before the callbacks."""


class ObjectState(State):
    """Values of any type, as attributes: ObjectState(epoch=0, batch=0) has state.epoch and state.batch.

    They are copied (copy.deepcopy) when they are kept, and pickled when another rank takes them over. `bcast_object`
    and `get_rank` are accepted as in Horovod, and not needed.
    """

    def __init__(self, bcast_object: Any = None, get_rank: Any = None, **kwargs: Any) -> None:
        super().__init__()
        self._values = list(kwargs)
        for name, value in kwargs.items():
            setattr(self, name, value)
        self._kept: Dict[str, Any] = {}
        self._keep_values()

    def _keep_values(self) -> None:
        self._kept = {name: copy.deepcopy(getattr(self, name)) for name in self._values}

    def save(self) -> None:
        """Keep the values."""
        self._keep_values()

    def restore(self) -> None:
        """Go back to the values that were kept."""
        for name, value in self._kept.items():
            setattr(self, name, copy.deepcopy(value))

    def sync(self) -> None:
        """Take over the values of the oldest rank, and keep them."""
        self._sync_values(self.oldest_rank())
        self._holds = True

    def _sync_values(self, root: int) -> None:
        if self._values:
            values = broadcast_object({name: getattr(self, name) for name in self._values}, root, "hvd.elastic.values")
            for name, value in values.items():
                setattr(self, name, value)
        self._keep_values()


def _join_next_world() -> None:
    """Leave the world and join the next one. A process that has no place in it exits with status 0."""
    _world.shutdown()
    try:
        _world.init()
    except HorovodInternalError as error:
        if error.status != _REMOVED:
            raise
        worker = os.environ.get("HVD_WORKER")
        process = f"worker {worker}" if worker else "this process"
        print(f"hvd.elastic: {process} has no place in the next world", file=sys.stderr, flush=True)
        raise SystemExit(0) from None


def _reset(state: State) -> None:
    """Join worlds until one holds long enough to tell the state."""
    while True:
        _join_next_world()
        try:
            state.on_reset()
            return
        except HorovodInternalError as error:
            if not _is_survived(error):
                raise


def _is_survived(error: HorovodInternalError) -> bool:
    return is_elastic() and error.status != _MISMATCH


def run(func: Callable) -> Callable:
    """Decorate the training function, whose first argument is the state. See the module's text for what it does."""

    @functools.wraps(func)
    def wrapper(state: State, *args: Any, **kwargs: Any) -> Any:
        while True:
            try:
                state.sync()
                return func(state, *args, **kwargs)
            except HorovodInternalError as error:
                if not _is_survived(error):
                    raise
                state.restore()
            except HostsUpdatedInterrupt:
                pass
            _reset(state)

    return wrapper


__all__ = ["HorovodInternalError", "HostsUpdatedInterrupt", "ObjectState", "State", "run"]
