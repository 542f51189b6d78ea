# SPDX-License-Identifier: Apache-2.0
"""What the collectives of all frameworks have in common: operations, names, and rows for the extension module.

A framework turns each tensor into a row (name, input address, output address, output bytes, dtype, shape) and
passes rows to _hvd.submit() or _hvd.run(), with the objects that must stay alive until the collective is done.
A tuple is one tensor, a list of tuples is a group.
"""
import warnings
from typing import Any, List, Optional, Sequence, Tuple

from . import _hvd

# The numbers are those of enum hvd_op.
Average, Sum, Adasum, Min, Max, Product = range(6)

OP_NAMES = ("Average", "Sum", "Adasum", "Min", "Max", "Product")


def op_name(op: Any) -> str:
    """What a message calls an operation."""
    return OP_NAMES[op] if op in range(len(OP_NAMES)) else repr(op)


# Names of element types in NumPy and PyTorch, by number of enum hvd_dtype.
DTYPE_NAMES = (
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "bool",
    "bfloat16",
)
ELEMENT_SIZES = (1, 1, 2, 2, 4, 8, 2, 4, 8, 1, 2)
BFLOAT16 = DTYPE_NAMES.index("bfloat16")

Row = Tuple[Optional[str], int, int, int, int, Tuple[int, ...]]


def reduce_op(op: Optional[int], average: Optional[bool]) -> int:
    """The operation from `op` and the older argument `average`; average is the default."""
    if average is None:
        return Average if op is None else op
    if op is not None:
        raise ValueError(f"op is {op_name(op)} and average is {average!r}: pass op only")
    warnings.warn("the argument average is deprecated, use op", DeprecationWarning, stacklevel=3)
    return Average if average else Sum


def check_factor(argument: str, factor: float) -> float:
    """A factor as the library takes it, where 0 would mean 1."""
    if factor == 0:
        raise ValueError(f"{argument} is {factor!r}, which would make every result 0")
    return factor


class WholeName(str):
    """A name that is used as it is, so that ranks which submit different kinds of collectives under it disagree."""


def full_name(kind: str, name: Optional[str]) -> Optional[str]:
    """The name that the library and its timeline use. None: matched by order among the nameless of its kind."""
    return name if name is None or isinstance(name, WholeName) else f"{kind}.{name}"


def member_name(kind: str, name: Optional[str], index: int, count: int) -> Optional[str]:
    """The name of a tensor of a group."""
    return None if name is None else f"{kind}.{name}_{index + 1}of{count}"


def check_group(tensors: Sequence[Any]) -> List[Any]:
    """The tensors of a group as a list; TypeError for something else, ValueError when it is empty."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"tensors is a {type(tensors).__name__}, expected a list of tensors")
    if not tensors:
        raise ValueError("tensors is empty, a group has at least one tensor")
    return list(tensors)


class Gathered:
    """Rows that the library has gathered, in its own memory, as an object with NumPy's array interface.

    An array over it keeps it, and it keeps the memory. bfloat16 looks like uint16.
    """

    def __init__(self, address: int, shape: Tuple[int, ...], dtype: int, owner: Any) -> None:
        kind = {"b": "|b1", "f": f"<f{ELEMENT_SIZES[dtype]}"}.get(DTYPE_NAMES[dtype][0])
        if dtype == BFLOAT16:
            kind = "<u2"
        elif DTYPE_NAMES[dtype][0] in "ui":
            kind = f"<{DTYPE_NAMES[dtype][0]}{ELEMENT_SIZES[dtype]}"
        self.owner = owner
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": kind, "data": (address, False)}


def barrier(process_set_number: int) -> None:
    """Wait until every rank of the set has called it."""
    _hvd.run(_hvd.BARRIER, None, 0, process_set_number, 1.0, 1.0, None, None)


def join() -> int:
    """Take part in the allreduces of others with zeros until all ranks have joined; the last rank that did."""
    return _hvd.run(_hvd.JOIN, None, 0, 0, 1.0, 1.0, None, None)
