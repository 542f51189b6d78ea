# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors as rows for the extension module: where they lie, without a copy.

Tensors in host memory and on GPUs are used where they are. What has a result whose size the library finds out,
allgather and alltoall, copies tensors of CUDA to pinned host memory, and the result back.

ValueError for a tensor that is not contiguous, or of an element type or device that has no row; TypeError for
what is no tensor.
"""
from typing import Any, Optional, Sequence, Tuple

import numpy
import torch

from . import _cuda
from .._collectives import BFLOAT16, DTYPE_NAMES, ELEMENT_SIZES, Gathered, Row

# Numbers of enum hvd_dtype by element type of this version of PyTorch.
DTYPES = {getattr(torch, name): number for number, name in enumerate(DTYPE_NAMES) if hasattr(torch, name)}


def refuse(tensor: Any, name: Optional[str]) -> None:
    """Say why check() does not accept the tensor."""
    which = "" if name is None else f"tensor '{name}': "
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{which}expected a torch.Tensor, not {type(tensor).__name__}")
    if tensor.layout is not torch.strided or tensor.dtype not in DTYPES:
        raise ValueError(f"{which}Tensor type {tensor.type()} is not supported.")
    if not tensor.is_contiguous():
        raise ValueError(
            f"{which}Tensor is required to be contiguous, but its strides are {tensor.stride()}. "
            "tensor.contiguous() makes a copy that is."
        )
    raise ValueError(f"{which}Tensor on device {tensor.device} is not supported, only cpu and cuda.")


def check(tensor: Any, name: Optional[str] = None) -> int:
    """The number of the tensor's element type; raises when the tensor cannot be used."""
    if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided or not tensor.is_contiguous():
        refuse(tensor, name)
    dtype = DTYPES.get(tensor.dtype)
    if dtype is None or tensor.device.type not in ("cpu", "cuda"):
        refuse(tensor, name)
    return dtype


def check_in_place(tensor: torch.Tensor) -> None:
    """A result in the middle of a graph must not change under autograd; a leaf may, like its `data`."""
    if tensor.requires_grad and not tensor.is_leaf and torch.is_grad_enabled():
        raise ValueError(
            "the tensor is the result of an operation that autograd records, and changing it in place would make "
            "gradients wrong: use the call without _, or tensor.detach()"
        )


def row(name: Optional[str], source: torch.Tensor, target: Optional[torch.Tensor], dtype: int, *where: int) -> Row:
    """The row of tensors; `where` is that of place()."""
    if target is None:
        return (name, source.data_ptr(), 0, 0, dtype, source.shape)
    return (
        name,
        source.data_ptr(),
        target.data_ptr(),
        target.numel() * ELEMENT_SIZES[dtype],
        dtype,
        source.shape,
        *where,
    )


def place(tensor: torch.Tensor, name: Optional[str]) -> Tuple[Tuple[int, ...], Any]:
    """What row() wants to know of the memory of `tensor`, and what must stay alive; see _cuda.place()."""
    if not tensor.is_cuda:
        return (), None
    number, event = _cuda.place(tensor, name)
    return (number, event.cuda_event), event


def to_host(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in pinned memory. It is complete when the call returns."""
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    host.copy_(tensor.detach())
    return host


def gathered(result: Tuple, dtype: int, shape: Sequence[int]) -> torch.Tensor:
    """A tensor over the rows that the library has gathered; `shape` is that of the input."""
    address, rows, size, _, owner = result
    whole = (rows, *shape[1:])
    if size == 0:
        return torch.empty(whole, dtype=getattr(torch, DTYPE_NAMES[dtype]))
    tensor = torch.from_numpy(numpy.asarray(Gathered(address, whole, dtype, owner)).view(_carrier(dtype)))
    return tensor.view(torch.bfloat16) if dtype == BFLOAT16 else tensor


def _carrier(dtype: int) -> str:
    """The element type under which NumPy passes the bytes to PyTorch."""
    return "int16" if dtype == BFLOAT16 else DTYPE_NAMES[dtype]
