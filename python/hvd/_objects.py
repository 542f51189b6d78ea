# SPDX-License-Identifier: Apache-2.0
"""Python objects between ranks: pickled, with cloudpickle where it is installed, so that functions travel too.

Unpickling runs what the other ranks have sent; all of them belong to the same job.
"""
import pickle
from typing import Any, List, Optional

import numpy

from . import _hvd
from ._collectives import DTYPE_NAMES, Gathered, full_name
from .process_sets import ProcessSet, global_process_set, process_set_number

try:
    import cloudpickle as pickler
except ImportError:
    pickler = pickle

# Ranks that have joined or left meanwhile have counted other nameless tensors, so objects have a
# name of their own.
_NAME = "hvd.object"

_UINT8, _INT64 = DTYPE_NAMES.index("uint8"), DTYPE_NAMES.index("int64")


def _pickled(value: Any) -> numpy.ndarray:
    return numpy.frombuffer(pickler.dumps(value), dtype=numpy.uint8)


def _broadcast(array: numpy.ndarray, root_rank: int, name: Optional[str], number: int, dtype: int) -> None:
    address = array.ctypes.data
    row = (full_name("broadcast", name), address, address, array.nbytes, dtype, array.shape)
    _hvd.run(_hvd.BROADCAST, row, root_rank, number, 1.0, 1.0, None, array)


def broadcast_object(
    obj: Any = None,
    root_rank: int = 0,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Return the object of rank `root_rank` on every rank of the set. Other ranks' `obj` is not used."""
    number = process_set_number(process_set)
    name = _NAME if name is None else name
    is_root = _hvd.rank() == root_rank
    data = _pickled(obj) if is_root else numpy.empty(0, dtype=numpy.uint8)
    length = numpy.array([data.size], dtype=numpy.int64)
    _broadcast(length, root_rank, f"{name}.sz", number, _INT64)
    if not is_root:
        data = numpy.empty(int(length[0]), dtype=numpy.uint8)
    _broadcast(data, root_rank, f"{name}.t", number, _UINT8)
    return obj if is_root else pickle.loads(data)


def allgather_object(
    obj: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> List[Any]:
    """Return the objects of all ranks of the set, in order of rank."""
    data = _pickled(obj)
    row = (full_name("allgather", name or _NAME), data.ctypes.data, 0, 0, _UINT8, data.shape)
    number = process_set_number(process_set)
    ((address, rows, _, counts, owner),) = _hvd.run(_hvd.ALLGATHER, row, 0, number, 1.0, 1.0, None, data)
    everything = memoryview(numpy.asarray(Gathered(address, (rows,), _UINT8, owner)))
    objects, start = [], 0
    for count in counts:
        objects.append(pickle.loads(everything[start : start + count]))
        start += count
    return objects
