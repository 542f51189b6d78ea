# SPDX-License-Identifier: Apache-2.0
"""The collectives of NumPy's arrays, and of everything that lies in host memory like them.

    import hvd.numpy as hvd

An argument may be an array of NumPy, an object with the buffer protocol (bytearray, array.array, memoryview), or
one with DLPack (JAX on CPU and others). It is read where it lies, without a copy; the calls with _ write there,
too. A result is an array of NumPy. float16 is numpy.float16; bfloat16 comes from DLPack only, and in place or
to be broadcast.

Every rank submits the same names, element types and shapes. A disagreement raises HorovodInternalError on every
rank, with the ranks and their values, and the world goes on. This rank's own mistake raises at once: TypeError for
what is no array, or has no element type that can be sent (objects, strings, other byte orders); ValueError for an
array that is not contiguous, read-only when it is to be written, or not in host memory.
"""
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as _numpy

from . import *  # noqa: F401,F403
from . import __all__ as _world_calls
from . import _collectives as _common
from . import _hvd
from . import elastic
from ._collectives import (
    BFLOAT16,
    DTYPE_NAMES,
    ELEMENT_SIZES,
    Adasum,
    Average,
    Gathered,
    Max,
    Min,
    Product,
    Row,
    Sum,
    check_factor,
    check_group,
    full_name,
    member_name,
)
from ._objects import allgather_object, broadcast_object
from .process_sets import ProcessSet, global_process_set, process_set_number

_HOST = 1

Handle = _hvd.Handle


class _Array:
    """Where the elements of an argument are. `owner` keeps the memory."""

    __slots__ = ("address", "shape", "dtype", "owner", "count")

    def __init__(self, array: Any, writes: bool) -> None:
        description = _hvd.describe(array)
        if description is None:
            try:
                array = _numpy.asarray(memoryview(array))
            except TypeError:
                raise TypeError(
                    f"expected an array or an object with the buffer protocol or DLPack, not {type(array).__name__}"
                ) from None
            description = _hvd.describe(array)
        self.address, self.shape, self.dtype, writable, contiguous, device, self.owner = description
        if self.dtype < 0:
            raise TypeError(f"an array of {getattr(array, 'dtype', 'this element type')} cannot be sent")
        if device != _HOST:
            raise ValueError(f"the array is on device {device} of DLPack, expected host memory ({_HOST})")
        if not contiguous:
            raise ValueError("the array is not contiguous: numpy.ascontiguousarray() makes a copy that is")
        if writes and not writable:
            raise ValueError("the array is read-only, and the result is to be written there")
        self.count = 1
        for dim in self.shape:
            self.count *= dim

    def row(self, name: Optional[str], target: Optional["_Array"]) -> Row:
        if target is None:
            return (name, self.address, 0, 0, self.dtype, self.shape)
        size = target.count * ELEMENT_SIZES[self.dtype]
        return (name, self.address, target.address, size, self.dtype, self.shape)

    def new(self, shape: Sequence[int]) -> _numpy.ndarray:
        """A new array of this element type."""
        if self.dtype == BFLOAT16:
            raise TypeError("NumPy has no bfloat16 for the result: use the call with _")
        return _numpy.empty(shape, dtype=DTYPE_NAMES[self.dtype])


def poll(handle: Handle) -> bool:
    """True when synchronize() would return at once."""
    return handle.poll()


def synchronize(handle: Handle) -> Any:
    """Wait until the collective is done and return its result; None for a handle that was synchronized already."""
    if not handle.pending:
        return None
    finish, output, _ = handle.keep
    raw = handle.wait()
    return output if finish is None else finish(raw)


def _submit(
    kind: int,
    rows: Union[Row, List[Row]],
    op_or_root: int,
    process_set: ProcessSet,
    factors: Tuple[float, float],
    splits: Optional[Tuple[int, ...]],
    keep: Tuple,
) -> Handle:
    number = process_set_number(process_set)
    prescale, postscale = check_factor("prescale_factor", factors[0]), check_factor("postscale_factor", factors[1])
    return _hvd.submit(kind, rows, op_or_root, number, prescale, postscale, splits, keep)


def _call(
    kind: int,
    row: Row,
    op_or_root: int,
    process_set: ProcessSet,
    factors: Tuple[float, float],
    splits: Optional[Tuple[int, ...]],
    keep: Tuple,
) -> Any:
    """_submit() and synchronize() in one, on the short way of a blocking call. For one array."""
    number = process_set_number(process_set)
    prescale, postscale = check_factor("prescale_factor", factors[0]), check_factor("postscale_factor", factors[1])
    raw = _hvd.run(kind, row, op_or_root, number, prescale, postscale, splits, keep)
    finish, output, _ = keep
    return output if finish is None else finish(raw)


# ---- allreduce ----


def _allreduce(
    start: Any, array: Any, name: Optional[str], op: int, factors: Tuple[float, float], process_set: ProcessSet
) -> Any:
    """Into a new array. `start` is _submit, for a Handle, or _call, for the result."""
    source = _Array(array, False)
    output = source.new(source.shape)
    row = source.row(full_name("allreduce", name), _Array(output, True))
    return start(_hvd.ALLREDUCE, row, op, process_set, factors, None, (None, output, source.owner))


def _allreduce_in_place(
    start: Any, array: Any, name: Optional[str], op: int, factors: Tuple[float, float], process_set: ProcessSet
) -> Any:
    place = _Array(array, True)
    row = place.row(full_name("allreduce", name), place)
    return start(_hvd.ALLREDUCE, row, op, process_set, factors, None, (None, array, place.owner))


def allreduce_async(
    array: Any,
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start to reduce `array` over all ranks with `op` into a new array of its shape and element type.

    Each rank's array is multiplied by `prescale_factor` first, the result by `postscale_factor`.
    """
    return _allreduce(_submit, array, name, op, (prescale_factor, postscale_factor), process_set)


def allreduce(
    array: Any,
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> _numpy.ndarray:
    """Reduce `array` over all ranks with `op`; returns a new array. See allreduce_async()."""
    return _allreduce(_call, array, name, op, (prescale_factor, postscale_factor), process_set)


def allreduce_async_(
    array: Any,
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Like allreduce_async(), into `array` itself, which must not be touched until the result is there."""
    return _allreduce_in_place(_submit, array, name, op, (prescale_factor, postscale_factor), process_set)


def allreduce_(
    array: Any,
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Reduce `array` in place, and return it."""
    return _allreduce_in_place(_call, array, name, op, (prescale_factor, postscale_factor), process_set)


def _grouped_allreduce(
    arrays: Sequence[Any],
    outputs: Sequence[Any],
    places: Sequence[_Array],
    name: Optional[str],
    op: int,
    factors: Tuple[float, float],
    process_set: ProcessSet,
) -> Handle:
    sources = [_Array(array, False) for array in arrays]
    rows = [
        source.row(member_name("allreduce", name, index, len(sources)), place)
        for index, (source, place) in enumerate(zip(sources, places))
    ]
    return _submit(_hvd.ALLREDUCE, rows, op, process_set, factors, None, (None, outputs, (sources, places)))


def grouped_allreduce_async(
    arrays: Sequence[Any],
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Like allreduce_async() for a list of arrays, which are reduced when all ranks have submitted all of them."""
    sources = [_Array(array, False) for array in check_group(arrays)]
    outputs = [source.new(source.shape) for source in sources]
    places = [_Array(output, True) for output in outputs]
    factors = (prescale_factor, postscale_factor)
    return _grouped_allreduce(arrays, outputs, places, name, op, factors, process_set)


def grouped_allreduce(
    arrays: Sequence[Any],
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> List[_numpy.ndarray]:
    """Reduce a list of arrays together; returns new arrays."""
    return synchronize(
        grouped_allreduce_async(arrays, name, op, prescale_factor, postscale_factor, process_set)
    )


def grouped_allreduce_async_(
    arrays: Sequence[Any],
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Like grouped_allreduce_async(), into the arrays themselves."""
    places = [_Array(array, True) for array in check_group(arrays)]
    factors = (prescale_factor, postscale_factor)
    return _grouped_allreduce(arrays, arrays, places, name, op, factors, process_set)


def grouped_allreduce_(
    arrays: Sequence[Any],
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Sequence[Any]:
    """Reduce a list of arrays together in place, and return it."""
    return synchronize(
        grouped_allreduce_async_(arrays, name, op, prescale_factor, postscale_factor, process_set)
    )


# ---- allgather ----


def _gathered(result: Tuple, source: _Array) -> _numpy.ndarray:
    address, rows, size, _, owner = result
    shape = (rows, *source.shape[1:])
    if size == 0:
        return source.new(shape)
    return _numpy.asarray(Gathered(address, shape, source.dtype, owner))


def allgather_async(
    array: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Start to put the arrays of all ranks one after the other along dimension 0, which may differ between ranks."""
    source = _Array(array, False)
    keep = (lambda results: _gathered(results[0], source), None, source.owner)
    row = source.row(full_name("allgather", name), None)
    return _submit(_hvd.ALLGATHER, row, 0, process_set, (1.0, 1.0), None, keep)


def allgather(
    array: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> _numpy.ndarray:
    """Put the arrays of all ranks one after the other along dimension 0."""
    return synchronize(allgather_async(array, name, process_set))


def grouped_allgather_async(
    arrays: Sequence[Any], name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Like allgather_async() for a list of arrays."""
    sources = [_Array(array, False) for array in check_group(arrays)]
    rows = [
        source.row(member_name("allgather", name, index, len(sources)), None)
        for index, source in enumerate(sources)
    ]

    def finish(results: List[Tuple]) -> List[_numpy.ndarray]:
        return [_gathered(*each) for each in zip(results, sources)]

    keep = (finish, None, [source.owner for source in sources])
    return _submit(_hvd.ALLGATHER, rows, 0, process_set, (1.0, 1.0), None, keep)


def grouped_allgather(
    arrays: Sequence[Any], name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> List[_numpy.ndarray]:
    """Like allgather() for a list of arrays."""
    return synchronize(grouped_allgather_async(arrays, name, process_set))


# ---- broadcast ----


def _broadcast(start: Any, array: Any, root_rank: int, name: Optional[str], process_set: ProcessSet) -> Any:
    place = _Array(array, True)
    row = place.row(full_name("broadcast", name), place)
    keep = (None, array, place.owner)
    return start(_hvd.BROADCAST, row, root_rank, process_set, (1.0, 1.0), None, keep)


def broadcast_async_(
    array: Any, root_rank: int, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Start to copy the array of rank `root_rank` of the world into `array` on every other rank of the set."""
    return _broadcast(_submit, array, root_rank, name, process_set)


def broadcast_(
    array: Any, root_rank: int, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> Any:
    """Copy the array of `root_rank` into `array` on every rank, and return it."""
    return _broadcast(_call, array, root_rank, name, process_set)


def broadcast_async(
    array: Any, root_rank: int, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Like broadcast_async_(), into a new array."""
    source = _Array(array, False)
    output = source.new(source.shape)
    output[...] = _numpy.asarray(Gathered(source.address, source.shape, source.dtype, source.owner))
    return broadcast_async_(output, root_rank, name, process_set)


def broadcast(
    array: Any, root_rank: int, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> _numpy.ndarray:
    """Return the array of rank `root_rank`, on every rank of the set."""
    return synchronize(broadcast_async(array, root_rank, name, process_set))


# ---- alltoall ----


def alltoall_async(
    array: Any,
    splits: Optional[Sequence[int]] = None,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start to send splits[i] rows, taken in order, to rank i of the set, and to receive rows from each rank.

    Without splits every rank gets an equal share. The result is the received rows in order of rank; with splits it
    is (rows, received_splits).
    """
    source = _Array(array, False)
    numbers = None if splits is None else tuple(int(each) for each in splits)

    def finish(results: List[Tuple]) -> Any:
        rows = _gathered(results[0], source)
        return rows if splits is None else (rows, _numpy.array(results[0][3], dtype=_numpy.int32))

    row = source.row(full_name("alltoall", name), None)
    return _submit(_hvd.ALLTOALL, row, 0, process_set, (1.0, 1.0), numbers, (finish, None, source.owner))


def alltoall(
    array: Any,
    splits: Optional[Sequence[int]] = None,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> Union[_numpy.ndarray, Tuple[_numpy.ndarray, _numpy.ndarray]]:
    """Send splits[i] rows to rank i of the set; returns the received rows, and with splits (rows, received_splits)."""
    return synchronize(alltoall_async(array, splits, name, process_set))


# ---- reducescatter ----


def _share(source: _Array, process_set: ProcessSet) -> _numpy.ndarray:
    shape = list(source.shape)
    if shape and process_set.included():
        shape[0] = _hvd.share(shape[0], process_set.size(), process_set.rank())
    return source.new(shape)


def reducescatter_async(
    array: Any,
    name: Optional[str] = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Handle:
    """Start to reduce `array` over all ranks (Average or Sum) and leave each rank its share of the rows.

    The first ranks have one row more when the rows do not divide by the size of the set.
    """
    source = _Array(array, False)
    output = _share(source, process_set)
    row = source.row(full_name("reducescatter", name), _Array(output, True))
    factors = (prescale_factor, postscale_factor)
    return _submit(_hvd.REDUCESCATTER, row, op, process_set, factors, None, (None, output, source.owner))


def reducescatter(
    array: Any,
    name: Optional[str] = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> _numpy.ndarray:
    """Reduce `array` over all ranks and return this rank's share of the rows."""
    return synchronize(
        reducescatter_async(array, name, op, process_set, prescale_factor, postscale_factor)
    )


def grouped_reducescatter_async(
    arrays: Sequence[Any],
    name: Optional[str] = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Handle:
    """Like reducescatter_async() for a list of arrays."""
    sources = [_Array(array, False) for array in check_group(arrays)]
    outputs = [_share(source, process_set) for source in sources]
    rows = [
        source.row(member_name("reducescatter", name, index, len(sources)), _Array(output, True))
        for index, (source, output) in enumerate(zip(sources, outputs))
    ]
    keep = (None, outputs, [source.owner for source in sources])
    factors = (prescale_factor, postscale_factor)
    return _submit(_hvd.REDUCESCATTER, rows, op, process_set, factors, None, keep)


def grouped_reducescatter(
    arrays: Sequence[Any],
    name: Optional[str] = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> List[_numpy.ndarray]:
    """Like reducescatter() for a list of arrays."""
    return synchronize(
        grouped_reducescatter_async(arrays, name, op, process_set, prescale_factor, postscale_factor)
    )


# ---- barrier, join ----


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Wait until every rank of the set has called barrier()."""
    _common.barrier(process_set_number(process_set))


def join() -> int:
    """Say that this rank has no more data: it takes part in the allreduces of others with zeros.

    Waits until all ranks have joined and returns the rank that joined last.
    """
    return _common.join()


__all__ = _world_calls + [
    "elastic",
    "Adasum",
    "Average",
    "Handle",
    "Max",
    "Min",
    "Product",
    "Sum",
    "allgather",
    "allgather_async",
    "allgather_object",
    "allreduce",
    "allreduce_",
    "allreduce_async",
    "allreduce_async_",
    "alltoall",
    "alltoall_async",
    "barrier",
    "broadcast",
    "broadcast_",
    "broadcast_async",
    "broadcast_async_",
    "broadcast_object",
    "grouped_allgather",
    "grouped_allgather_async",
    "grouped_allreduce",
    "grouped_allreduce_",
    "grouped_allreduce_async",
    "grouped_allreduce_async_",
    "grouped_reducescatter",
    "grouped_reducescatter_async",
    "join",
    "poll",
    "reducescatter",
    "reducescatter_async",
    "synchronize",
]
