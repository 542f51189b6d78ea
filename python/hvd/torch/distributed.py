# SPDX-License-Identifier: Apache-2.0
"""libhvd under torch.distributed: a backend, and a hook for DistributedDataParallel.

    $ hvdrun --torch-env -np 4 python train.py

    import hvd.torch.distributed                              # registers the backend
    torch.distributed.init_process_group("hvd")
    model = DistributedDataParallel(model)                    # gradients travel over libhvd

Scripts that keep another backend for the rest give libhvd the gradients alone:

    import hvd.torch
    from hvd.torch.distributed import allreduce_hook
    hvd.torch.init()
    model.register_comm_hook(None, allreduce_hook)

The backend has what DistributedDataParallel and ZeroRedundancyOptimizer need and more: allreduce, broadcast,
allgather, reduce_scatter, alltoall, reduce, gather, scatter and barrier, on the group of all ranks, and on groups that
new_group() of this module makes. Those of torch.distributed.new_group(), send and recv raise NotImplementedError.

All ranks call the collectives of a group in the same order. A collective has a name that follows from the two before it
(_Names): ranks that disagree about one therefore use the same name, and libhvd tells them. Names come again when a
program repeats itself, and then cost less. Tensors must be contiguous.
"""
import atexit
import itertools
import os
import queue
import threading
import warnings
import zlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch
import torch.distributed as distributed

from .. import _world
from .._collectives import Average, Max, Min, Product, Sum, WholeName
from ..exceptions import HorovodInternalError
from ..process_sets import ProcessSet, add_process_set, global_process_set
from . import _collectives
from ._tensors import check

# Collectives of one name before its number that may be in flight; the next one waits for the first.
_IN_FLIGHT = 4

# Names without their number. More make collisions rarer, after which the name costs more.
_NAMES = 4096

_MISMATCH = -9

# How long the end of the process waits for futures that nobody has waited for.
_EXIT_S = 5

_OPS = {
    distributed.ReduceOp.SUM: Sum,
    distributed.ReduceOp.AVG: Average,
    distributed.ReduceOp.MIN: Min,
    distributed.ReduceOp.MAX: Max,
    distributed.ReduceOp.PRODUCT: Product,
}


def _op_of(options: Any) -> int:
    for op, number in _OPS.items():
        if options.reduceOp == op:
            return number
    raise ValueError(f"{options.reduceOp}: the backend hvd has SUM, AVG, MIN, MAX and PRODUCT")


def _one(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    if len(tensors) != 1:
        raise ValueError(f"{len(tensors)} tensors for one rank: the backend hvd takes one")
    check(tensors[0])
    return tensors[0]


class _Work(distributed._Work):
    """A collective in flight. The first thread that waits finishes it; all see the same result or exception."""

    def __init__(self, handle: Any, finish: Callable[[Any], List[torch.Tensor]], on_done: Callable):
        super().__init__()
        self._handle, self._finish, self._on_done = handle, finish, on_done
        self._lock = threading.Lock()
        self._done = False
        self._error: Optional[Exception] = None
        self._result: List[torch.Tensor] = []
        self._future: Optional[torch.futures.Future] = None

    def _complete(self) -> None:
        """An interrupt passes through, and the collective can be waited for again."""
        with self._lock:
            if self._done:
                return
            try:
                self._result = self._finish(_collectives.synchronize(self._handle))
            except Exception as error:
                self._error = error
            self._done, self._handle, self._finish = True, None, None
        self._on_done(self._error)

    def wait(self, timeout: Any = None) -> bool:
        self._complete()
        if self._error is not None:
            raise self._error
        return True

    synchronize = wait

    def is_completed(self) -> bool:
        handle = self._handle
        if self._done or handle is None:
            return True
        try:
            return _collectives.poll(handle)
        except ValueError:  # another thread has just finished it
            return True

    def is_success(self) -> bool:
        return self._done and self._error is None

    def exception(self) -> Optional[Exception]:
        return self._error

    def result(self) -> List[torch.Tensor]:
        self.wait()
        return self._result

    def get_future(self) -> torch.futures.Future:
        with _completer.lock:
            is_new = self._future is None
            if is_new:
                self._future = torch.futures.Future()
        if is_new:
            _completer.put(self)
        return self._future

    def _fulfil(self) -> None:
        self._complete()
        if self._error is not None:
            self._future.set_exception(self._error)
        else:
            self._future.set_result(self._result)


class _Completer:
    """A thread that completes the collectives for whose futures somebody has asked. It starts with the first."""

    def __init__(self) -> None:
        self._works: "queue.SimpleQueue[Optional[_Work]]" = queue.SimpleQueue()
        self.lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None

    def put(self, work: _Work) -> None:
        with self.lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hvd.torch.distributed", daemon=True)
                self._thread.start()
                atexit.register(self._stop, self._thread)
        self._works.put(work)

    def _run(self) -> None:
        while True:
            work = self._works.get()
            if work is None:
                return
            work._fulfil()

    def _stop(self, thread: threading.Thread) -> None:
        """At exit: a thread that the interpreter ends inside PyTorch's code would end the process with SIGABRT."""
        if thread is self._thread:  # not in a forked child
            self._works.put(None)
            thread.join(_EXIT_S)


_completer = _Completer()
os.register_at_fork(after_in_child=_completer.__init__)  # the thread and the holder of the lock stay with the parent


class _Names:
    """Names that are the same on all ranks, because all ranks call the collectives of a group in the same order.

    A name follows from the two collectives before, which all ranks have agreed on. After a disagreement the ranks
    begin anew, so that the next collective has the same name again.
    """

    def __init__(self, prefix: str):
        self._prefix = prefix
        self._lock = threading.Lock()
        self._in_flight: Dict[str, _Work] = {}
        self._counts: Dict[int, int] = {}
        self._before = ("", "")

    def submit(self, kind: str, tensor: torch.Tensor, start: Callable, finish: Callable) -> _Work:
        """Waits for the collective that had the name before, and starts this one with `start(name)`."""
        with self._lock:
            key = zlib.crc32("/".join(self._before).encode()) % _NAMES
            count = self._counts.get(key, 0)
            name = f"{self._prefix}.{key}.{count % _IN_FLIGHT}"
            before = self._in_flight.get(name)
            if before is not None:
                before._complete()
            work = _Work(start(WholeName(name)), finish, lambda error: self._forget(name, work, error))
            self._in_flight[name], self._counts[key] = work, count + 1
            self._before = (self._before[1], f"{kind}.{tensor.dtype}.{tensor.numel()}")
        return work

    def _forget(self, name: str, work: _Work, error: Optional[Exception]) -> None:
        if self._in_flight.get(name) is work:
            self._in_flight.pop(name, None)
        if isinstance(error, HorovodInternalError) and error.status == _MISMATCH:
            self._before = ("", "")


# Groups of one process set so far; its ranks create them in the same order.
_group_numbers: Dict[int, Iterator[int]] = {}
_set_of_next_group: List[ProcessSet] = []  # while new_group() calls torch.distributed.new_group()


def new_group(ranks: Optional[Sequence[int]] = None, **options: Any) -> Any:
    """Like torch.distributed.new_group() with the backend hvd. All ranks of the world call it, in the same order.

    Every call makes a process set of libhvd; groups of the same ranks share it.
    """
    size = distributed.get_world_size()
    members = list(range(size)) if ranks is None else sorted(ranks)
    _set_of_next_group.append(_set_of(members))
    try:
        return distributed.new_group(ranks=members, backend="hvd", **options)
    finally:
        _set_of_next_group.clear()


_sets: Dict[tuple, ProcessSet] = {}


def _set_of(members: List[int]) -> ProcessSet:
    if members == global_process_set.ranks:
        return global_process_set
    known = _sets.get(tuple(members))
    if known is None or known.process_set_id is None:
        known = _sets[tuple(members)] = add_process_set(members)
    return known


class ProcessGroupHvd(distributed.ProcessGroup):
    """A group of ranks over libhvd. torch.distributed creates it and calls its methods."""

    def __init__(self, store: Any, rank: int, size: int, timeout: Any):
        super().__init__(rank, size)
        _world.init()
        self._set = _set_of_next_group[0] if _set_of_next_group else global_process_set
        if self._set.size() != size or self._set.rank() != rank:
            raise NotImplementedError(
                f"rank {rank} of {size} is rank {_world.rank()} of {_world.size()} in the job: "
                "groups of some ranks come from hvd.torch.distributed.new_group(), which all ranks call"
            )
        self._rank, self._size = rank, size
        numbers = _group_numbers.setdefault(self._set.process_set_id, itertools.count())
        self._names = _Names(f"torch.distributed.{next(numbers)}")

    def getBackendName(self) -> str:
        return "hvd"

    def _submit(self, kind: str, tensor: torch.Tensor, start: Callable, finish: Callable) -> _Work:
        return self._names.submit(kind, tensor, start, finish)

    # ---- in place ----

    def allreduce(self, tensors: List[torch.Tensor], options: Any = None) -> _Work:
        tensor, op = _one(tensors), _op_of(options or distributed.AllreduceOptions())
        return self._submit(
            f"allreduce{op}",
            tensor,
            lambda name: _collectives.allreduce_async_(tensor.detach(), name=name, op=op, process_set=self._set),
            lambda _: [tensor],
        )

    def broadcast(self, tensors: List[torch.Tensor], options: Any = None) -> _Work:
        tensor, root = _one(tensors), options.rootRank if options else 0
        return self._submit(
            f"broadcast{root}",
            tensor,
            lambda name: _collectives.broadcast_async_(tensor.detach(), self._set.ranks[root], name, self._set),
            lambda _: [tensor],
        )

    def reduce(self, tensors: List[torch.Tensor], options: Any) -> _Work:
        tensor, op = _one(tensors), _op_of(options)
        target = tensor if self._rank == options.rootRank else tensor.clone()
        return self._submit(
            f"reduce{op}",
            tensor,
            lambda name: _collectives.allreduce_async_(target.detach(), name=name, op=op, process_set=self._set),
            lambda _: [tensor],
        )

    def barrier(self, opts: Any = None) -> _Work:
        tensor = torch.zeros(1, dtype=torch.uint8)
        return self._submit(
            "barrier",
            tensor,
            lambda name: _collectives.allreduce_async_(tensor, name=name, op=Sum, process_set=self._set),
            lambda _: [],
        )

    # ---- one tensor to many ----

    def _gather(self, kind: str, tensor: torch.Tensor, finish: Callable) -> _Work:
        row = tensor.detach().reshape(1, -1)
        return self._submit(kind, tensor, lambda name: _collectives.allgather_async(row, name, self._set), finish)

    def allgather(self, outputs: List[List[torch.Tensor]], inputs: List[torch.Tensor], options: Any = None) -> _Work:
        tensor = _one(inputs)

        def finish(rows: torch.Tensor) -> List[Any]:
            for output, row in zip(outputs[0], rows):
                output.copy_(row.reshape(output.shape))
            return [outputs[0]]

        return self._gather("allgather", tensor, finish)

    def _allgather_base(self, output: torch.Tensor, tensor: torch.Tensor, options: Any = None) -> _Work:
        check(tensor)

        def finish(rows: torch.Tensor) -> List[torch.Tensor]:
            output.copy_(rows.reshape(output.shape))
            return [output]

        return self._gather("allgather", tensor, finish)

    def gather(self, outputs: List[List[torch.Tensor]], inputs: List[torch.Tensor], options: Any) -> _Work:
        tensor, is_root = _one(inputs), self._rank == options.rootRank

        def finish(rows: torch.Tensor) -> List[Any]:
            for output, row in zip(outputs[0] if is_root else [], rows):
                output.copy_(row.reshape(output.shape))
            return [outputs[0]] if is_root else []

        return self._gather("gather", tensor, finish)

    # ---- many tensors to one ----

    def _reduce_rows(self, rows: torch.Tensor, output: torch.Tensor, op: int) -> _Work:
        if op not in (Sum, Average):
            raise ValueError("reduce_scatter: the backend hvd has SUM and AVG")

        def finish(share: torch.Tensor) -> List[torch.Tensor]:
            output.copy_(share.reshape(output.shape))
            return [output]

        return self._submit(
            f"reducescatter{op}",
            rows,
            lambda name: _collectives.reducescatter_async(rows, name, op, self._set),
            finish,
        )

    def reduce_scatter(self, outputs: List[torch.Tensor], inputs: List[List[torch.Tensor]], options: Any) -> _Work:
        rows = torch.stack([tensor.detach().reshape(-1) for tensor in inputs[0]])
        return self._reduce_rows(rows, _one(outputs), _op_of(options))

    def _reduce_scatter_base(self, output: torch.Tensor, tensor: torch.Tensor, options: Any) -> _Work:
        return self._reduce_rows(tensor.detach().reshape(self._size, -1), output, _op_of(options))

    # ---- each to each ----

    def _exchange(self, kind: str, flat: torch.Tensor, splits: List[int], finish: Callable) -> _Work:
        key = flat.new_empty(0)  # ranks may send different numbers of elements, under the same name
        return self._submit(
            kind,
            key,
            lambda name: _collectives.alltoall_async(flat, splits, name, self._set),
            lambda got: finish(got[0]),
        )

    def alltoall(self, outputs: List[torch.Tensor], inputs: List[torch.Tensor], options: Any = None) -> _Work:
        flat = torch.cat([tensor.detach().reshape(-1) for tensor in inputs])

        def finish(received: torch.Tensor) -> List[torch.Tensor]:
            for output, part in zip(outputs, received.split([output.numel() for output in outputs])):
                output.copy_(part.reshape(output.shape))
            return outputs

        return self._exchange("alltoall", flat, [tensor.numel() for tensor in inputs], finish)

    def alltoall_base(
        self,
        output: torch.Tensor,
        tensor: torch.Tensor,
        output_splits: List[int],
        input_splits: List[int],
        options: Any = None,
    ) -> _Work:
        rows = input_splits or [len(tensor) // self._size] * self._size
        width = tensor[0].numel() if len(tensor) else 1

        def finish(received: torch.Tensor) -> List[torch.Tensor]:
            output.copy_(received.reshape(output.shape))
            return [output]

        return self._exchange("alltoall", tensor.detach().reshape(-1), [count * width for count in rows], finish)

    def scatter(self, outputs: List[torch.Tensor], inputs: List[List[torch.Tensor]], options: Any) -> _Work:
        output = _one(outputs)
        if self._rank == options.rootRank:
            flat = torch.cat([tensor.detach().reshape(-1) for tensor in inputs[0]])
            splits = [tensor.numel() for tensor in inputs[0]]
        else:
            flat, splits = output.new_empty(0), [0] * self._size

        def finish(received: torch.Tensor) -> List[torch.Tensor]:
            output.copy_(received.reshape(output.shape))
            return [output]

        return self._exchange("scatter", flat, splits, finish)

    # ---- what is not there ----

    def _refuse(self, *_: Any) -> None:
        raise NotImplementedError("the backend hvd has no send and no recv: use the backend gloo for them")

    send = recv = recv_anysource = _refuse


_hook_names = _Names("ddp")


def allreduce_hook(state: Any, bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A communication hook of DistributedDataParallel: averages the bucket over libhvd. `state` is not used."""
    tensor = bucket.buffer()
    work = _hook_names.submit(
        "bucket",
        tensor,
        lambda name: _collectives.allreduce_async_(tensor, name=name, op=Average),
        lambda _: [tensor],
    )
    return work.get_future().then(lambda future: future.value()[0])


if "HOROVOD_RANK" in os.environ and "RANK" not in os.environ:
    warnings.warn("RANK is not set: for torch.distributed.init_process_group() start with hvdrun --torch-env")


def _create(store: Any, rank: int, size: int, timeout: Any) -> ProcessGroupHvd:
    return ProcessGroupHvd(store, rank, size, timeout)


distributed.Backend.register_backend("hvd", _create)
