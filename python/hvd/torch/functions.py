# SPDX-License-Identifier: Apache-2.0
"""The same parameters and the same optimizer's state on all ranks."""
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

import torch

from .._objects import broadcast_object
from ..process_sets import ProcessSet, global_process_set
from ._collectives import broadcast_async_, synchronize


def _named(params: Any) -> List[Tuple[Optional[str], Any]]:
    if isinstance(params, dict):
        return sorted(params.items())
    if isinstance(params, (list, tuple)) or hasattr(params, "__next__"):
        return [each if isinstance(each, tuple) else (None, each) for each in params]
    raise ValueError(f"params is a {type(params).__name__}, expected a dict or a list of tensors or (name, tensor)")


def broadcast_parameters(
    params: Union[Dict[str, torch.Tensor], Iterable[Any]],
    root_rank: int,
    process_set: ProcessSet = global_process_set,
) -> None:
    """Copy parameters from rank `root_rank` to all ranks, in place.

    `params` is model.state_dict(), or a list (or iterator) of tensors or of (name, tensor), such as
    model.named_parameters(). All are in flight at once.
    """
    copies, handles = [], []
    for name, tensor in _named(params):
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(f"parameter {name!r} is a {type(tensor).__name__}, expected a torch.Tensor")
        target = tensor if tensor.is_contiguous() else tensor.detach().contiguous()
        if target is not tensor:
            copies.append((tensor, target))
        handles.append(broadcast_async_(target, root_rank, name, process_set))
    for handle in handles:
        synchronize(handle)
    for tensor, target in copies:
        tensor.data.copy_(target)


def _sparse_parameters(model: Optional[torch.nn.Module]) -> set:
    modules = [] if model is None else model.modules()
    embeddings = [each for each in modules if isinstance(each, torch.nn.Embedding) and each.sparse]
    return {id(parameter) for module in embeddings for parameter in module.parameters()}


def _make_state(optimizer: torch.optim.Optimizer, model: Optional[torch.nn.Module]) -> None:
    """Let a new optimizer make its state by one step with gradients of zero, of this rank alone.

    The step may change parameters all the same (weight decay), so they are put back.
    """
    sparse = _sparse_parameters(model)
    parameters = [each for group in optimizer.param_groups for each in group["params"] if each.requires_grad]
    before = [each.detach().clone() for each in parameters]
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
        if isinstance(optimizer, torch.optim.SparseAdam) or (
            isinstance(optimizer, torch.optim.SGD) and id(parameter) in sparse
        ):
            parameter.grad = parameter.grad.to_sparse()
    getattr(optimizer, "local_step", optimizer.step)()
    for parameter, value in zip(parameters, before):
        parameter.data.copy_(value)


class _State:
    """The tensors and the other values of an optimizer's state, with names that are the same on all ranks."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.tensors: List[Tuple[str, torch.Tensor]] = []
        self.values: Dict[str, Any] = {}
        self.assign: Dict[str, Callable[[Any], None]] = {}
        for index, group in enumerate(optimizer.param_groups):
            for option in group:
                if option != "params":
                    self._add(f"{option}.{index}", group, option)
            for place, parameter in enumerate(group["params"]):
                state = optimizer.state.get(parameter, {})
                for key in state:
                    self._add(f"{key}.{index}.{place}", state, key)

    def _add(self, name: str, holder: Dict, key: Any) -> None:
        if isinstance(holder[key], torch.Tensor):
            self.tensors.append((name, holder[key]))
        else:
            self.values[name] = holder[key]
            self.assign[name] = lambda value: holder.__setitem__(key, value)


def broadcast_optimizer_state(
    optimizer: torch.optim.Optimizer, root_rank: int, model: Optional[torch.nn.Module] = None
) -> None:
    """Copy an optimizer's state and options from rank `root_rank` to all ranks.

    An optimizer without a state makes one first. `model` tells which parameters are sparse. ValueError for LBFGS,
    whose state cannot be broadcast.
    """
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("the state of torch.optim.LBFGS cannot be broadcast")
    if not optimizer.state_dict()["state"]:
        _make_state(optimizer, model)
    state = _State(optimizer)
    values = broadcast_object(state.values, root_rank)
    broadcast_parameters(state.tensors, root_rank)
    for name, value in values.items():
        if name in state.assign:
            state.assign[name](value)
