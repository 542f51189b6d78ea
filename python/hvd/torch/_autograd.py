# SPDX-License-Identifier: Apache-2.0
"""The collectives that return new tensors, with their gradients.

The gradient of each collective is a collective, so that all ranks must go backwards through it:

    allreduce       allreduce with the same operation and factors
    allgather       the average of all gradients, of which each rank takes its own rows
    broadcast       the average of all gradients at the root, zeros elsewhere
    alltoall        alltoall with the splits that were received
    reducescatter   allgather, times the size of the set for Sum, times the factors

A tensor that requires no gradient is passed on without autograd.
"""
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from .. import _hvd
from .._collectives import Average, Sum, check_group, reduce_op
from ..process_sets import ProcessSet, global_process_set
from ._collectives import (
    allgather_now,
    allreduce_async,
    allreduce_now,
    alltoall_now,
    broadcast_now,
    grouped_allgather_async,
    grouped_allreduce_async,
    grouped_reducescatter_async,
    reducescatter_now,
    synchronize,
)
from .compression import Compression


def _is_recorded(tensors: Sequence[Any]) -> bool:
    return torch.is_grad_enabled() and any(
        isinstance(tensor, torch.Tensor) and tensor.requires_grad for tensor in tensors
    )


class _Allreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, *options):
        ctx.options = options
        return allreduce_now(tensor, name, *options)

    @staticmethod
    def backward(ctx, gradient):
        return (allreduce_now(gradient.contiguous(), None, *ctx.options),) + (None,) * 5


class _GroupedAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, options, *tensors):
        ctx.options = options
        return tuple(synchronize(grouped_allreduce_async(list(tensors), None, name, *options)))

    @staticmethod
    def backward(ctx, *gradients):
        gradients = [gradient.contiguous() for gradient in gradients]
        return (None, None, *synchronize(grouped_allreduce_async(gradients, None, None, *ctx.options)))


def _rows_of_ranks(counts: Sequence[int], process_set: ProcessSet) -> torch.Tensor:
    """The row counts of one or several gathers: a row for each rank of the set."""
    mine = torch.tensor([counts], dtype=torch.int64)
    return allgather_now(mine, None, process_set)


def _own_rows(gradient: torch.Tensor, rows: torch.Tensor, process_set: ProcessSet) -> torch.Tensor:
    start = int(rows[: process_set.rank()].sum())
    return gradient.narrow(0, start, int(rows[process_set.rank()]))


class _Allgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, process_set):
        ctx.process_set = process_set
        ctx.count = tensor.shape[0] if tensor.dim() else 0
        return allgather_now(tensor, name, process_set)

    @staticmethod
    def backward(ctx, gradient):
        total = allreduce_async(gradient.contiguous(), op=Average, process_set=ctx.process_set)
        rows = _rows_of_ranks([ctx.count], ctx.process_set)
        return _own_rows(synchronize(total), rows[:, 0], ctx.process_set), None, None


class _GroupedAllgather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        ctx.process_set = process_set
        ctx.counts = [tensor.shape[0] if tensor.dim() else 0 for tensor in tensors]
        return tuple(synchronize(grouped_allgather_async(list(tensors), name, process_set)))

    @staticmethod
    def backward(ctx, *gradients):
        gradients = [gradient.contiguous() for gradient in gradients]
        totals = grouped_allreduce_async(gradients, op=Average, process_set=ctx.process_set)
        rows = _rows_of_ranks(ctx.counts, ctx.process_set)
        own = [
            _own_rows(total, rows[:, index], ctx.process_set)
            for index, total in enumerate(synchronize(totals))
        ]
        return (None, None, *own)


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.root_rank, ctx.process_set = root_rank, process_set
        return broadcast_now(tensor, root_rank, name, process_set)

    @staticmethod
    def backward(ctx, gradient):
        total = allreduce_now(gradient.contiguous(), None, Average, 1.0, 1.0, ctx.process_set)
        return total if _hvd.rank() == ctx.root_rank else total.zero_(), None, None, None


class _Alltoall(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        count = process_set.size()
        if splits is None:
            if tensor.dim() and tensor.shape[0] % count:
                raise ValueError(
                    f"the tensor has {tensor.shape[0]} rows, which do not divide by the {count} ranks: pass splits"
                )
            splits = [tensor.shape[0] // count] * count if tensor.dim() else [0] * count
        rows, received = alltoall_now(tensor, splits, name, process_set)
        ctx.process_set, ctx.received, ctx.shape = process_set, received, tensor.shape
        ctx.mark_non_differentiable(received)
        return rows, received

    @staticmethod
    def backward(ctx, gradient, _):
        back, _ = alltoall_now(gradient.contiguous(), ctx.received, None, ctx.process_set)
        if back.shape != ctx.shape:  # rows beyond the splits were not sent
            whole = gradient.new_zeros(ctx.shape)
            whole[: back.shape[0]] = back
            back = whole
        return back, None, None, None


def _scattered_scale(op: int, process_set: ProcessSet, prescale: float, postscale: float) -> float:
    return (process_set.size() if op == Sum else 1) * prescale * postscale


class _Reducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, name, op, process_set, prescale, postscale):
        ctx.process_set, ctx.scale = process_set, _scattered_scale(op, process_set, prescale, postscale)
        return reducescatter_now(tensor, name, op, process_set, prescale, postscale)

    @staticmethod
    def backward(ctx, gradient):
        gradient = (gradient * ctx.scale).contiguous()
        return (allgather_now(gradient, None, ctx.process_set),) + (None,) * 5


class _GroupedReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, process_set, prescale, postscale, *tensors):
        ctx.process_set, ctx.scale = process_set, _scattered_scale(op, process_set, prescale, postscale)
        handle = grouped_reducescatter_async(list(tensors), name, op, process_set, prescale, postscale)
        return tuple(synchronize(handle))

    @staticmethod
    def backward(ctx, *gradients):
        gradients = [(gradient * ctx.scale).contiguous() for gradient in gradients]
        return (None,) * 5 + tuple(synchronize(grouped_allgather_async(gradients, None, ctx.process_set)))


def allreduce(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    compression: Any = Compression.none,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """Reduce `tensor` over all ranks with `op` (Average unless given); returns a new tensor of its shape.

    See allreduce_async() for the arguments. `compression` is applied for the transfer.
    """
    op = reduce_op(op, average)
    small, context = compression.compress(tensor)
    if _is_recorded((small,)):
        total = _Allreduce.apply(small, name, op, prescale_factor, postscale_factor, process_set)
    else:
        total = allreduce_now(small, name, op, prescale_factor, postscale_factor, process_set)
    return compression.decompress(total, context)


def grouped_allreduce(
    tensors: Sequence[torch.Tensor],
    average: Optional[bool] = None,
    name: Optional[str] = None,
    compression: Any = Compression.none,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> List[torch.Tensor]:
    """Like allreduce() for a list of tensors that are reduced together; returns a list of new tensors."""
    options = (reduce_op(op, average), prescale_factor, postscale_factor, process_set)
    pairs = [compression.compress(tensor) for tensor in check_group(tensors)]
    small = [tensor for tensor, _ in pairs]
    if _is_recorded(small):
        totals = _GroupedAllreduce.apply(name, options, *small)
    else:
        totals = synchronize(grouped_allreduce_async(small, None, name, *options))
    return [compression.decompress(total, context) for total, (_, context) in zip(totals, pairs)]


def allgather(
    tensor: torch.Tensor, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> torch.Tensor:
    """Put the tensors of all ranks one after the other along dimension 0, which may differ between ranks."""
    if _is_recorded((tensor,)):
        return _Allgather.apply(tensor, name, process_set)
    return allgather_now(tensor, name, process_set)


def grouped_allgather(
    tensors: Sequence[torch.Tensor], name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> List[torch.Tensor]:
    """Like allgather() for a list of tensors that are gathered together."""
    if _is_recorded(check_group(tensors)):
        return list(_GroupedAllgather.apply(name, process_set, *tensors))
    return synchronize(grouped_allgather_async(tensors, name, process_set))


def broadcast(
    tensor: torch.Tensor,
    root_rank: int,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """Return the tensor of rank `root_rank` of the world, on every rank of the set."""
    if _is_recorded((tensor,)):
        return _Broadcast.apply(tensor, root_rank, name, process_set)
    return broadcast_now(tensor, root_rank, name, process_set)


def alltoall(
    tensor: torch.Tensor,
    splits: Optional[Union[torch.Tensor, Sequence[int]]] = None,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]:
    """Send splits[i] rows to rank i of the set; returns the received rows, and with splits (rows, received_splits)."""
    if _is_recorded((tensor,)):
        rows, received = _Alltoall.apply(tensor, splits, name, process_set)
        return rows if splits is None else (rows, received)
    return alltoall_now(tensor, splits, name, process_set)


def reducescatter(
    tensor: torch.Tensor,
    name: Optional[str] = None,
    compression: Any = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> torch.Tensor:
    """Reduce `tensor` over all ranks and return this rank's share of the rows; see reducescatter_async()."""
    small, context = compression.compress(tensor)
    if _is_recorded((small,)):
        part = _Reducescatter.apply(small, name, op, process_set, prescale_factor, postscale_factor)
    else:
        part = reducescatter_now(small, name, op, process_set, prescale_factor, postscale_factor)
    return compression.decompress(part, context)


def grouped_reducescatter(
    tensors: Sequence[torch.Tensor],
    name: Optional[str] = None,
    compression: Any = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> List[torch.Tensor]:
    """Like reducescatter() for a list of tensors that are reduced together."""
    pairs = [compression.compress(tensor) for tensor in check_group(tensors)]
    small = [tensor for tensor, _ in pairs]
    options = (op, process_set, prescale_factor, postscale_factor)
    if _is_recorded(small):
        parts = _GroupedReducescatter.apply(name, *options, *small)
    else:
        parts = synchronize(grouped_reducescatter_async(small, name, *options))
    return [compression.decompress(part, context) for part, (_, context) in zip(parts, pairs)]
