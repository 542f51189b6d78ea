# SPDX-License-Identifier: Apache-2.0
"""The state of an elastic training with PyTorch: modules, optimizers and samplers, beside values of any type."""
import copy
from typing import Any, Dict, Optional

import torch

from ..._objects import allgather_object
from ...elastic import ObjectState
from ..functions import broadcast_optimizer_state, broadcast_parameters
from .sampler import ElasticSampler


def _copied(value: Any, room: Any) -> Any:
    """A copy of a state_dict, in the memory of `room`, an older copy, where tensors have the same shape and type."""
    if isinstance(value, torch.Tensor):
        if (
            isinstance(room, torch.Tensor)
            and room.shape == value.shape
            and room.dtype == value.dtype
            and room.device == value.device
        ):
            return room.copy_(value.detach())
        return value.detach().clone()
    if isinstance(value, dict):
        rooms = room if isinstance(room, dict) else {}
        copied = type(value)((key, _copied(each, rooms.get(key))) for key, each in value.items())
        if hasattr(value, "_metadata"):  # of a module's state_dict
            copied._metadata = value._metadata
        return copied
    if isinstance(value, list):
        rooms = room if isinstance(room, list) and len(room) == len(value) else [None] * len(value)
        return [_copied(each, place) for each, place in zip(value, rooms)]
    return copy.deepcopy(value)


class _Kept:
    """A module or an optimizer. The last two copies take turns, so that one is whole at any time."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._copy: Any = None
        self._spare: Any = None
        self.save()

    def save(self) -> None:
        with torch.no_grad():
            copied = _copied(self.value.state_dict(), self._spare)
        self._copy, self._spare = copied, self._copy

    def restore(self) -> None:
        # load_state_dict() of an optimizer may keep the tensors that it is given.
        self.value.load_state_dict(copy.deepcopy(self._copy))


class _Module(_Kept):
    def sync(self, root: int) -> None:
        broadcast_parameters(self.value.state_dict(), root)


class _Optimizer(_Kept):
    def sync(self, root: int) -> None:
        # Gradients that were on their way belong to the world that is gone.
        self.value.load_state_dict(self.value.state_dict())
        broadcast_optimizer_state(self.value, root)


class _Sampler:
    def __init__(self, value: ElasticSampler) -> None:
        self.value = value
        self.save()

    def save(self) -> None:
        self._copy = self.value.kept()

    def restore(self) -> None:
        self.value.restored(self._copy)

    def sync(self, root: int) -> None:
        everywhere = allgather_object(self.value.state_dict(), name="hvd.elastic.sampler")
        epoch = everywhere[root]["epoch"]
        processed = {index for each in everywhere if each["epoch"] == epoch for index in each["processed_indices"]}
        if not everywhere[root]["processed_indices"]:
            processed = set()  # the others are new, and what they have recorded is not the job's
        self.value.load_state_dict(dict(epoch=epoch, processed_indices=sorted(processed)))


_KINDS = ((torch.nn.Module, _Module), (torch.optim.Optimizer, _Optimizer), (ElasticSampler, _Sampler))


def _handler(value: Any) -> Any:
    for kind, handler in _KINDS:
        if isinstance(value, kind):
            return handler(value)
    return None


class TorchState(ObjectState):
    """TorchState(model, optimizer, sampler=sampler, epoch=0): what a training must keep, as attributes.

    Modules and optimizers are kept by their state_dict, in memory that is used again; ElasticSampler by what it has
    recorded; everything else as ObjectState keeps it. Assigning another module, optimizer or sampler keeps it at once.
    """

    def __init__(
        self,
        model: Optional[torch.nn.Module] = None,
        optimizer: Optional[torch.optim.Optimizer] = None,
        **kwargs: Any,
    ) -> None:
        given = {"model": model, "optimizer": optimizer, **kwargs}
        handlers: Dict[str, Any] = {name: _handler(value) for name, value in given.items()}
        self._handlers = {name: handler for name, handler in handlers.items() if handler is not None}
        super().__init__(**{name: value for name, value in given.items() if name not in self._handlers})

    def __getattr__(self, name: str) -> Any:
        handler = self.__dict__.get("_handlers", {}).get(name)
        if handler is None:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return handler.value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_handlers", {}):
            handler = _handler(value)
            if handler is None:
                raise TypeError(f"{name!r} was a {type(self._handlers[name].value).__name__}, not {value!r}")
            self._handlers[name] = handler
        else:
            super().__setattr__(name, value)

    def save(self) -> None:
        """Keep everything as it is now."""
        for handler in self._handlers.values():
            handler.save()
        super().save()

    def restore(self) -> None:
        """Go back to what was kept."""
        for handler in self._handlers.values():
            handler.restore()
        super().restore()

    def sync(self) -> None:
        """Take over everything from the oldest rank, and keep it."""
        root = self.oldest_rank()
        for handler in self._handlers.values():
            handler.sync(root)
        self._sync_values(root)
        for handler in self._handlers.values():
            handler.save()
        self._holds = True
