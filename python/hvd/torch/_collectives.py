# SPDX-License-Identifier: Apache-2.0
"""The collectives of PyTorch's tensors, asynchronous and in place where Horovod has those forms.

Every asynchronous call returns a Handle; synchronize() waits for it and returns the result. The Handle keeps the
tensors: `keep` is (finish, output, inputs). finish(raw) makes the result from what the library has given, and is
None when `output` is the result.

Every rank of the process set submits a tensor of the same name, element type and shape. Names are matched between
ranks; tensors without a name are matched by their order among the nameless tensors of the same kind. A collective
on which the ranks disagree raises HorovodInternalError on every rank, with the ranks and their values, and the
world goes on. A mistake of this rank alone raises ValueError or TypeError and submits nothing.
"""
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from .. import _hvd
from .. import _collectives as _common
from .._collectives import Average, Sum, check_factor, check_group, full_name, member_name, op_name, reduce_op
from ..exceptions import HorovodInternalError
from ..process_sets import ProcessSet, global_process_set, process_set_number
from ._tensors import check, check_in_place, gathered, place, row, to_host

Handle = _hvd.Handle

_submit, _run = _hvd.submit, _hvd.run
_ALLREDUCE, _ALLGATHER, _BROADCAST = _hvd.ALLREDUCE, _hvd.ALLGATHER, _hvd.BROADCAST
_ALLTOALL, _REDUCESCATTER = _hvd.ALLTOALL, _hvd.REDUCESCATTER


def poll(handle: Handle) -> bool:
    """True when synchronize() would return at once. ValueError for a handle that was synchronized already."""
    return handle.poll()


def synchronize(handle: Any) -> Any:
    """Wait until the collective is done and return its result; None for a handle that was synchronized already."""
    if callable(handle):
        return handle()
    if not isinstance(handle, Handle) or not handle.pending:
        return None
    finish, output, _ = handle.keep
    raw = handle.wait()
    return output if finish is None else finish(raw)


def _call(kind: int, tensor_row: Any, op: int, number: int, prescale: float, postscale: float, splits: Any, keep: Any):
    """_submit() and synchronize() in one, on the short way of a blocking call. For one tensor."""
    raw = _run(kind, tensor_row, op, number, prescale, postscale, splits, keep)
    finish, output, _ = keep
    return output if finish is None else finish(raw)


# ---- allreduce ----


def _allreduce(
    start: Any,
    tensor: torch.Tensor,
    in_place: bool,
    name: Optional[str],
    op: int,
    prescale: float,
    postscale: float,
    process_set: ProcessSet,
) -> Any:
    """`start` is _submit, for a Handle, or _call, for the result."""
    dtype = check(tensor, name)
    output = tensor if in_place else torch.empty_like(tensor, requires_grad=False)
    where, event = place(tensor, name)
    return start(
        _ALLREDUCE,
        row(full_name("allreduce", name), tensor, output, dtype, *where),
        op,
        process_set_number(process_set),
        check_factor("prescale_factor", prescale),
        check_factor("postscale_factor", postscale),
        None,
        (None, output, (tensor, event)),
    )


def allreduce_async(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start to reduce `tensor` over all ranks with `op` (Average unless given) into a new tensor of its shape.

    Each rank's tensor is multiplied by `prescale_factor` first, the result by `postscale_factor`. Average of
    integers truncates toward zero. `average` is the older form of `op`.
    """
    op = reduce_op(op, average)
    return _allreduce(_submit, tensor, False, name, op, prescale_factor, postscale_factor, process_set)


def allreduce_now(
    tensor: torch.Tensor, name: Optional[str], op: int, prescale: float, postscale: float, process_set: ProcessSet
) -> torch.Tensor:
    """Like allreduce_async() and synchronize()."""
    return _allreduce(_call, tensor, False, name, op, prescale, postscale, process_set)


def allreduce_async_(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Like allreduce_async(), into `tensor` itself, which must not be touched until the result is there."""
    op = reduce_op(op, average)
    if tensor.requires_grad:
        check_in_place(tensor)
    return _allreduce(_submit, tensor, True, name, op, prescale_factor, postscale_factor, process_set)


def allreduce_(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """Reduce `tensor` in place, see allreduce_async(), and return it."""
    dtype = check(tensor, name)
    if tensor.is_cuda or tensor.requires_grad:
        return synchronize(
            allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor, process_set)
        )
    address = tensor.data_ptr()
    _run(
        _ALLREDUCE,
        (full_name("allreduce", name), address, address, 0, dtype, tensor.shape),
        reduce_op(op, average),
        process_set_number(process_set),
        check_factor("prescale_factor", prescale_factor),
        check_factor("postscale_factor", postscale_factor),
        None,
        tensor,
    )
    return tensor


def _grouped_allreduce(
    tensors: Sequence[torch.Tensor],
    in_place: bool,
    name: Optional[str],
    op: int,
    prescale: float,
    postscale: float,
    process_set: ProcessSet,
) -> Handle:
    tensors = check_group(tensors)
    dtypes = [check(tensor, name) for tensor in tensors]
    outputs = tensors if in_place else [torch.empty_like(tensor, requires_grad=False) for tensor in tensors]
    places = [place(tensor, name) for tensor in tensors]
    count = len(tensors)
    rows = [
        row(member_name("allreduce", name, index, count), tensor, outputs[index], dtypes[index], *places[index][0])
        for index, tensor in enumerate(tensors)
    ]
    return _submit(
        _ALLREDUCE,
        rows,
        op,
        process_set_number(process_set),
        check_factor("prescale_factor", prescale),
        check_factor("postscale_factor", postscale),
        None,
        (None, outputs, (tensors, places)),
    )


def grouped_allreduce_async(
    tensors: Sequence[torch.Tensor],
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Like allreduce_async() for a list of tensors, which are reduced when all ranks have submitted all of them."""
    op = reduce_op(op, average)
    return _grouped_allreduce(tensors, False, name, op, prescale_factor, postscale_factor, process_set)


def grouped_allreduce_async_(
    tensors: Sequence[torch.Tensor],
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Like grouped_allreduce_async(), into the tensors themselves."""
    op = reduce_op(op, average)
    for tensor in check_group(tensors):
        if isinstance(tensor, torch.Tensor):
            check_in_place(tensor)
    return _grouped_allreduce(tensors, True, name, op, prescale_factor, postscale_factor, process_set)


def grouped_allreduce_(
    tensors: Sequence[torch.Tensor],
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> List[torch.Tensor]:
    """Reduce the tensors in place, see grouped_allreduce_async(), and return them."""
    return synchronize(
        grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor, process_set)
    )


def sparse_allreduce_async(
    tensor: torch.Tensor, name: Optional[str], op: int, process_set: ProcessSet = global_process_set
):
    """Start to add up the sparse tensors of all ranks; returns a function that waits and returns the sum.

    Indices and values are gathered. `op` is Average or Sum; ValueError for others.
    """
    if not isinstance(tensor, torch.Tensor) or not tensor.is_sparse:
        raise ValueError(f"expected a sparse tensor, not {type(tensor).__name__} of layout {tensor.layout}")
    if op not in (Average, Sum):
        raise ValueError(f"op is {op_name(op)}: sparse tensors are averaged or summed")
    tensor = tensor if tensor.is_coalesced() else tensor.coalesce()
    indices = allgather_async(
        tensor.indices().t().contiguous(), None if name is None else f"{name}.indices", process_set
    )
    values = allgather_async(
        tensor.values().contiguous(), None if name is None else f"{name}.values", process_set
    )

    def finish() -> torch.Tensor:
        all_values = synchronize(values)
        all_indices = synchronize(indices).t()
        if op == Average:
            all_values = all_values / process_set.size()
        if all_indices.numel() == 0 or all_values.numel() == 0:
            return torch.sparse_coo_tensor(size=tensor.size(), dtype=tensor.dtype, device=tensor.device)
        return torch.sparse_coo_tensor(all_indices, all_values, tensor.size())

    return finish


# ---- allgather ----


def _gathered_on(tensor: torch.Tensor, result: Tuple, dtype: int) -> torch.Tensor:
    rows = gathered(result, dtype, tensor.shape)
    return rows.to(tensor.device) if tensor.is_cuda else rows


def _allgather(start: Any, tensor: torch.Tensor, name: Optional[str], process_set: ProcessSet) -> Any:
    dtype = check(tensor, name)
    source = to_host(tensor) if tensor.is_cuda else tensor
    return start(
        _ALLGATHER,
        row(full_name("allgather", name), source, None, dtype),
        0,
        process_set_number(process_set),
        1.0,
        1.0,
        None,
        (lambda results: _gathered_on(tensor, results[0], dtype), None, source),
    )


def allgather_async(
    tensor: torch.Tensor, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Start to put the tensors of all ranks one after the other along dimension 0, which may differ between ranks."""
    return _allgather(_submit, tensor, name, process_set)


def allgather_now(tensor: torch.Tensor, name: Optional[str], process_set: ProcessSet) -> torch.Tensor:
    """Like allgather_async() and synchronize()."""
    return _allgather(_call, tensor, name, process_set)


def grouped_allgather_async(
    tensors: Sequence[torch.Tensor], name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> Handle:
    """Like allgather_async() for a list of tensors, which are gathered when all ranks have submitted all of them."""
    tensors = check_group(tensors)
    dtypes = [check(tensor, name) for tensor in tensors]
    sources = [to_host(tensor) if tensor.is_cuda else tensor for tensor in tensors]
    count = len(tensors)
    rows = [
        row(member_name("allgather", name, index, count), sources[index], None, dtypes[index])
        for index in range(count)
    ]

    def finish(results: List[Tuple]) -> List[torch.Tensor]:
        return [_gathered_on(*each) for each in zip(tensors, results, dtypes)]

    keep = (finish, None, sources)
    return _submit(_ALLGATHER, rows, 0, process_set_number(process_set), 1.0, 1.0, None, keep)


# ---- broadcast ----


def _broadcast(
    start: Any, target: torch.Tensor, root_rank: int, name: Optional[str], process_set: ProcessSet
) -> Any:
    dtype = check(target, name)
    where, event = place(target, name)
    return start(
        _BROADCAST,
        row(full_name("broadcast", name), target, target, dtype, *where),
        root_rank,
        process_set_number(process_set),
        1.0,
        1.0,
        None,
        (None, target, event),
    )


def broadcast_async(
    tensor: torch.Tensor,
    root_rank: int,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start to copy the tensor of rank `root_rank` of the world into a new tensor on every rank of the set."""
    check(tensor, name)
    return _broadcast(_submit, tensor.detach().clone(), root_rank, name, process_set)


def broadcast_now(
    tensor: torch.Tensor, root_rank: int, name: Optional[str], process_set: ProcessSet
) -> torch.Tensor:
    """Like broadcast_async() and synchronize()."""
    check(tensor, name)
    return _broadcast(_call, tensor.detach().clone(), root_rank, name, process_set)


def broadcast_async_(
    tensor: torch.Tensor,
    root_rank: int,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Like broadcast_async(), into `tensor` itself. Parameters that require gradients may be broadcast."""
    if isinstance(tensor, torch.Tensor):
        check_in_place(tensor)
    return _broadcast(_submit, tensor, root_rank, name, process_set)


def broadcast_(
    tensor: torch.Tensor,
    root_rank: int,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """Copy the tensor of `root_rank` into `tensor` on every rank, and return it."""
    if isinstance(tensor, torch.Tensor):
        check_in_place(tensor)
    return _broadcast(_call, tensor, root_rank, name, process_set)


# ---- alltoall ----


def _splits_tuple(splits: Union[torch.Tensor, Sequence[int]]) -> Tuple[int, ...]:
    if not isinstance(splits, torch.Tensor):
        splits = torch.tensor(splits, dtype=torch.int32)
    if splits.dim() != 1:
        raise ValueError(f"splits has the shape {tuple(splits.shape)}, expected one dimension")
    if splits.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"splits is of {splits.dtype}, expected torch.int32")
    return tuple(splits.tolist())


def _alltoall(
    start: Any,
    tensor: torch.Tensor,
    splits: Optional[Union[torch.Tensor, Sequence[int]]],
    name: Optional[str],
    process_set: ProcessSet,
) -> Any:
    dtype = check(tensor, name)
    source = to_host(tensor) if tensor.is_cuda else tensor
    numbers = None if splits is None else _splits_tuple(splits)

    def finish(results: List[Tuple]) -> Any:
        rows = _gathered_on(tensor, results[0], dtype)
        received = torch.tensor(results[0][3], dtype=torch.int32, device=tensor.device)
        return rows if splits is None else (rows, received)

    return start(
        _ALLTOALL,
        row(full_name("alltoall", name), source, None, dtype),
        0,
        process_set_number(process_set),
        1.0,
        1.0,
        numbers,
        (finish, None, source),
    )


def alltoall_async(
    tensor: torch.Tensor,
    splits: Optional[Union[torch.Tensor, Sequence[int]]] = None,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> Handle:
    """Start to send splits[i] rows, taken in order, to rank i of the set, and to receive rows from each rank.

    Without splits every rank gets an equal share. The result is the received rows in order of rank; with splits it
    is (rows, received_splits).
    """
    return _alltoall(_submit, tensor, splits, name, process_set)


def alltoall_now(
    tensor: torch.Tensor,
    splits: Optional[Union[torch.Tensor, Sequence[int]]],
    name: Optional[str],
    process_set: ProcessSet,
) -> Any:
    """Like alltoall_async() and synchronize()."""
    return _alltoall(_call, tensor, splits, name, process_set)


# ---- reducescatter ----


def _share(tensor: torch.Tensor, process_set: ProcessSet) -> torch.Tensor:
    """Room for this rank's part of the rows; the library refuses a scalar."""
    shape = list(tensor.shape)
    if shape and process_set.included():
        shape[0] = _hvd.share(shape[0], process_set.size(), process_set.rank())
    return tensor.new_empty(shape)


def _check_scatter_op(op: int) -> None:
    """Horovod lets the collective fail for other operations, and scripts catch that class."""
    if op not in (Average, Sum):
        raise HorovodInternalError(f"reducescatter: op is {op_name(op)}, only Average and Sum are possible")


def _reducescatter(
    start: Any,
    tensor: torch.Tensor,
    name: Optional[str],
    op: int,
    process_set: ProcessSet,
    prescale_factor: float,
    postscale_factor: float,
) -> Any:
    _check_scatter_op(op)
    dtype = check(tensor, name)
    target = _share(tensor, process_set)
    where, event = place(tensor, name)
    return start(
        _REDUCESCATTER,
        row(full_name("reducescatter", name), tensor, target, dtype, *where),
        op,
        process_set_number(process_set),
        check_factor("prescale_factor", prescale_factor),
        check_factor("postscale_factor", postscale_factor),
        None,
        (None, target, (tensor, event)),
    )


def reducescatter_async(
    tensor: torch.Tensor,
    name: Optional[str] = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Handle:
    """Start to reduce `tensor` over all ranks (Average or Sum) and leave each rank its share of the rows.

    The first ranks have one row more when the rows do not divide by the size of the set.
    """
    return _reducescatter(_submit, tensor, name, op, process_set, prescale_factor, postscale_factor)


def reducescatter_now(
    tensor: torch.Tensor, name: Optional[str], op: int, process_set: ProcessSet, prescale: float, postscale: float
) -> torch.Tensor:
    """Like reducescatter_async() and synchronize()."""
    return _reducescatter(_call, tensor, name, op, process_set, prescale, postscale)


def grouped_reducescatter_async(
    tensors: Sequence[torch.Tensor],
    name: Optional[str] = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Handle:
    """Like reducescatter_async() for a list of tensors, reduced when all ranks have submitted all of them."""
    tensors = check_group(tensors)
    dtypes = [check(tensor, name) for tensor in tensors]
    _check_scatter_op(op)
    targets = [_share(tensor, process_set) for tensor in tensors]
    places = [place(tensor, name) for tensor in tensors]
    count = len(tensors)
    rows = [
        row(member_name("reducescatter", name, index, count), tensor, targets[index], dtypes[index], *places[index][0])
        for index, tensor in enumerate(tensors)
    ]
    return _submit(
        _REDUCESCATTER,
        rows,
        op,
        process_set_number(process_set),
        check_factor("prescale_factor", prescale_factor),
        check_factor("postscale_factor", postscale_factor),
        None,
        (None, targets, (tensors, places)),
    )


# ---- barrier, join ----


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Wait until every rank of the set has called barrier()."""
    _common.barrier(process_set_number(process_set))


def join(device: int = -1) -> int:
    """Say that this rank has no more data: it takes part in the allreduces of others with zeros.

    Waits until all ranks have joined and returns the rank that joined last. `device` is not used.
    """
    return _common.join()
