# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer: an optimizer of PyTorch that reduces gradients over the ranks before its step.

    backward()      a hook on each parameter submits its gradient as soon as it is complete
    step()          waits for all of them, then makes the step of the optimizer itself

The gradients of one parameter pass through these states:

    computing -> submitted -> computing    by synchronize(), which step() calls

Fails when a gradient is computed again while it is submitted, and when gradients are set to zero before they have
been used (AssertionError, as in Horovod); and as collectives fail, in synchronize().
"""
import os
import warnings
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

import torch

from .. import _hvd
from .._collectives import Adasum, Average
from .._objects import broadcast_object
from ..process_sets import ProcessSet, global_process_set
from ._collectives import allreduce_async_, grouped_allreduce_async_, sparse_allreduce_async, synchronize
from .compression import Compression


class _Gradient:
    """The gradient of one parameter on its way."""

    def __init__(self, parameter: torch.Tensor, name: str, passes: int) -> None:
        self.parameter, self.name, self.passes_left = parameter, name, passes
        self.group: Optional["_Group"] = None


class _Group:
    """Gradients that are reduced together: often one, and then not as a group. `wait` is set while submitted."""

    def __init__(self, members: List[_Gradient], is_one: bool) -> None:
        self.members, self.is_one, self.ready = members, is_one, 0
        self.wait: Optional[Callable[[], None]] = None


def _check_names(named: List[Any], param_groups: List[Dict]) -> None:
    if any(not isinstance(each, tuple) for each in named):
        raise ValueError("named_parameters is expected to be made of (name, parameter), as by model.named_parameters()")
    names = [name for name, _ in named]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"named_parameters has names twice: {', '.join(twice)}")
    known = {id(parameter) for _, parameter in named}
    unnamed = [each for group in param_groups for each in group["params"] if id(each) not in known]
    if unnamed:
        shapes = ", ".join(str(tuple(each.shape)) for each in unnamed)
        raise ValueError(f"named_parameters lacks {len(unnamed)} parameters of the optimizer, of the shapes {shapes}")


def _named(named_parameters: Optional[Iterable], param_groups: List[Dict]) -> List[Tuple[str, torch.Tensor]]:
    if named_parameters is None:
        return [
            (f"allreduce.noname.{index}.{place}", parameter)
            for index, group in enumerate(param_groups)
            for place, parameter in enumerate(group["params"])
        ]
    named = list(named_parameters)
    _check_names(named, param_groups)
    return named


def _check_groups(groups: Optional[Union[int, List]]) -> None:
    if groups is None:
        return
    if isinstance(groups, int) and not isinstance(groups, bool) and groups > 0:
        return
    if not isinstance(groups, list):
        raise ValueError(f"groups is {groups!r}, expected a positive number or a list of lists of torch.Tensor")
    members = [each for group in groups for each in group]
    if any(not isinstance(each, torch.Tensor) for each in members):
        raise ValueError("groups is expected to consist of torch.Tensor")
    if len({id(each) for each in members}) < len(members):
        raise ValueError("groups has a parameter twice")


def _split(gradients: List[_Gradient], count: int) -> List[List[_Gradient]]:
    """`count` parts of nearly equal length, the longer ones first."""
    share, more = divmod(len(gradients), count)
    parts, start = [], 0
    for index in range(count):
        end = start + share + (index < more)
        parts.append(gradients[start:end])
        start = end
    return [part for part in parts if part]


class _Reducing:
    """What both kinds of distributed optimizers share; a class is made of one of them and the optimizer's own."""

    def local_step(self) -> Any:
        """The step of the optimizer itself, without other ranks."""
        return super().step()

    def _set_up(self, named_parameters: Optional[Iterable], compression: Any, passes: int) -> None:
        if not isinstance(passes, int) or passes <= 0:
            raise ValueError(f"backward_passes_per_step is {passes!r}, expected 1 or more")
        self._compression = compression
        self.backward_passes_per_step = passes
        named = _named(named_parameters, self.param_groups)
        self._names = {id(parameter): name for name, parameter in named}
        self._parameter_names = {parameter: name for name, parameter in named}  # some scripts look there

    def _parameters(self) -> Iterator[torch.Tensor]:
        return (each for group in self.param_groups for each in group["params"] if each.requires_grad)


class _DistributedOptimizer(_Reducing):
    """Reduces gradients; see DistributedOptimizer()."""

    def _set_up_gradients(self, op, predivide, groups, sparse_as_dense, process_set) -> None:
        _check_groups(groups)
        self.op, self.gradient_predivide_factor = op, predivide
        self.sparse_as_dense, self.process_set = sparse_as_dense, process_set
        self._synchronized, self._should_synchronize = False, True
        self._gradients: Dict[int, _Gradient] = {}
        self._groups: List[_Group] = []
        self._accumulators: List[Any] = []
        alone = _hvd.size() == 1 and os.environ.get("HOROVOD_ELASTIC") != "1"
        if not alone and process_set.included():
            self._make_groups(groups)
            self._add_hooks()

    # -- which gradients are reduced together --

    def _in_order_of_rank_0(self, groups: Any) -> List[_Gradient]:
        gradients = [
            _Gradient(each, self._names[id(each)], self.backward_passes_per_step) for each in self._parameters()
        ]
        if groups is not None:
            first = self.process_set.ranks[0]
            order = broadcast_object([each.name for each in gradients], first, None, self.process_set)
            gradients.sort(key=lambda each: order.index(each.name))
        return gradients

    def _make_groups(self, groups: Any) -> None:
        gradients = self._in_order_of_rank_0(groups)
        self._gradients = {id(each.parameter): each for each in gradients}
        parts: List[List[_Gradient]] = []
        if isinstance(groups, int):
            parts = _split(gradients, groups)
        elif groups is not None:
            parts = [[self._gradients[id(each)] for each in group if id(each) in self._gradients] for group in groups]
        grouped = {id(each) for part in parts for each in part}
        self._groups = [_Group(part, False) for part in parts if part]
        self._groups += [_Group([each], True) for each in gradients if id(each) not in grouped]
        for group in self._groups:
            for each in group.members:
                each.group = group

    # -- backward: hooks --

    def _add_hooks(self) -> None:
        for gradient in self._gradients.values():
            parameter = gradient.parameter
            accumulator = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
            accumulator.register_hook(lambda *_, gradient=gradient: self._on_gradient(gradient))
            self._accumulators.append(accumulator)  # which live as long as somebody holds them

    def _on_gradient(self, gradient: _Gradient) -> None:
        group = gradient.group
        if gradient.passes_left <= 0:
            raise AssertionError(
                f"the gradient of {gradient.name} was computed more than backward_passes_per_step "
                f"({self.backward_passes_per_step}) times before step(): make backward_passes_per_step larger to "
                "add up gradients of several passes"
            )
        gradient.passes_left -= 1
        if gradient.passes_left > 0:
            return
        group.ready += 1
        if group.ready == len(group.members):
            self._submit(group)

    # -- submitting --

    def _submit(self, group: _Group) -> None:
        if group.is_one and self._is_sparse(group.members[0]):
            group.wait = self._submit_sparse(group.members[0])
        else:
            group.wait = self._submit_dense(group)

    def _is_sparse(self, gradient: _Gradient) -> bool:
        grad = gradient.parameter.grad
        return grad is not None and grad.is_sparse and not self.sparse_as_dense

    def _submit_sparse(self, gradient: _Gradient) -> Callable[[], None]:
        parameter = gradient.parameter
        finish = sparse_allreduce_async(parameter.grad, gradient.name, self.op, self.process_set)

        def wait() -> None:
            parameter.grad = finish()

        return wait

    def _dense(self, gradient: _Gradient) -> torch.Tensor:
        """The gradient; zeros if none was computed here, because other ranks may have computed theirs."""
        parameter = gradient.parameter
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter, memory_format=torch.contiguous_format)
        grad = parameter.grad.detach()
        if grad.is_sparse:
            return grad.to_dense()
        return grad if grad.is_contiguous() else grad.contiguous()

    def _factors(self) -> Tuple[float, float]:
        factor = self.gradient_predivide_factor
        return (1.0 / factor, factor) if self.op == Average else (1.0, 1.0)

    def _submit_dense(self, group: _Group) -> Callable[[], None]:
        pairs = [self._compression.compress(self._dense(each)) for each in group.members]
        small = [tensor for tensor, _ in pairs]
        name, options = group.members[0].name, (self.op, *self._factors(), self.process_set)
        if group.is_one:
            handle = allreduce_async_(small[0], None, name, *options)
        else:
            handle = grouped_allreduce_async_(small, None, name, *options)

        def wait() -> None:
            synchronize(handle)
            for gradient, (tensor, context) in zip(group.members, pairs):
                self._take(gradient, self._compression.decompress(tensor, context))

        return wait

    @staticmethod
    def _take(gradient: _Gradient, total: torch.Tensor) -> None:
        grad = gradient.parameter.grad
        if grad.is_sparse:
            gradient.parameter.grad = total.to_sparse()
        elif total.data_ptr() != grad.data_ptr():
            grad.data.copy_(total)

    # -- what programs call --

    def synchronize(self) -> None:
        """Wait until all gradients are reduced. Gradients that were not computed count as zeros."""
        for group in self._groups:
            if group.wait is None:
                self._submit(group)
        for group in self._groups:
            group.wait()
        self._reset()
        self._synchronized = True

    def _reset(self) -> None:
        for group in self._groups:
            group.wait, group.ready = None, 0
        for gradient in self._gradients.values():
            gradient.passes_left = self.backward_passes_per_step

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """Within it step() does not call synchronize(), because the program has done so."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Change the number of backward passes whose gradients add up before a reduction."""
        self.backward_passes_per_step = passes
        for gradient in self._gradients.values():
            gradient.passes_left = passes

    def step(self, closure: Optional[Callable] = None) -> Any:
        """Wait for the gradients, then make the step."""
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() after optimizer.synchronize(): the "
                    "gradients are reduced twice"
                )
            self.synchronize()
        self._synchronized = False
        return super().step(closure)

    def zero_grad(self, *args: Any, **kwargs: Any) -> None:
        """Set the gradients to zero, not while they are submitted."""
        if any(group.wait is not None for group in self._groups):
            raise AssertionError(
                "zero_grad() was called after backward() and before step() or synchronize(), while gradients are "
                "being reduced"
            )
        super().zero_grad(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> None:
        """Load a state; gradients that were computed before are not used."""
        self._reset()
        self._synchronized, self._should_synchronize = False, True
        super().load_state_dict(*args, **kwargs)


class _DistributedAdasumOptimizer(_Reducing):
    """Makes the step of each rank alone, and combines the changes of the parameters with Adasum."""

    def synchronize(self) -> None:
        """Nothing: step() does all the work."""

    @contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        raise AssertionError("skip_synchronize() is not possible with op=Adasum")
        yield

    def set_backward_passes_per_step(self, passes: int) -> None:
        """The gradients of passes add up until step() in any case."""
        self.backward_passes_per_step = passes

    def step(self, closure: Optional[Callable] = None) -> Any:
        """Make the step, then take the combination of all ranks' changes instead of this rank's own."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters = list(self._parameters())
        starts = [each.detach().clone() for each in parameters]
        self.local_step()
        pairs = [
            self._compression.compress(parameter.detach().sub(start).contiguous())
            for parameter, start in zip(parameters, starts)
        ]
        handles = [
            allreduce_async_(small, name=self._names[id(parameter)], op=Adasum)
            for parameter, (small, _) in zip(parameters, pairs)
        ]
        for handle, parameter, start, (_, context) in zip(handles, parameters, starts, pairs):
            change = self._compression.decompress(synchronize(handle), context)
            parameter.data.copy_(start.add_(change))
        return loss


def _checked_groups(groups: Any, num_groups: int) -> Any:
    if num_groups == 0:
        return groups
    warnings.warn("the argument num_groups is deprecated, use groups", DeprecationWarning, stacklevel=3)
    return num_groups if groups is None else groups


def _wrap(optimizer: torch.optim.Optimizer, kind: type) -> Any:
    """An object of a class made of `kind` and the optimizer's, which shares parameters and state with it."""
    made = type(optimizer.__class__.__name__, (kind, optimizer.__class__), {"__module__": __name__})
    wrapped = made.__new__(made)
    # A learning rate scheduler replaces methods of the object that it was made for.
    own = {key: value for key, value in vars(optimizer).items() if not callable(getattr(made, key, None))}
    wrapped.__dict__.update(own)
    return wrapped


def DistributedOptimizer(
    optimizer: torch.optim.Optimizer,
    named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None,
    compression: Any = Compression.none,
    backward_passes_per_step: int = 1,
    op: int = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: Optional[Union[int, List[List[torch.Tensor]]]] = None,
    sparse_as_dense: bool = False,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """Return an optimizer like `optimizer`, of a class of the same name, that reduces gradients before its step.

    named_parameters           names that match gradients between ranks, as by model.named_parameters()
    compression                of Compression
    backward_passes_per_step   so many passes add up before a reduction
    op                         Average, Sum, Adasum, or another; Adasum combines the changes of the parameters
    gradient_predivide_factor  f: multiplies by 1/f before and by f/size after adding up; with Average only
    groups                     a number, or lists of parameters, whose gradients are reduced together
    num_groups                 the older form of a number of groups
    sparse_as_dense            sparse gradients become dense for the transfer
    process_set                the ranks that reduce; others make steps alone

    ValueError names the argument that is not acceptable.
    """
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError(f"gradient_predivide_factor is {gradient_predivide_factor}, but op is not Average")
    if gradient_predivide_factor == 0:
        raise ValueError("gradient_predivide_factor is 0")
    if num_groups < 0:
        raise ValueError(f"num_groups is {num_groups}, expected 0 or more")
    groups = _checked_groups(groups, num_groups)
    if op != Adasum or _hvd.size() == 1:
        wrapped = _wrap(optimizer, _DistributedOptimizer)
        wrapped._set_up(named_parameters, compression, backward_passes_per_step)
        wrapped._set_up_gradients(op, gradient_predivide_factor, groups, sparse_as_dense, process_set)
        return wrapped
    if process_set is not global_process_set:
        raise NotImplementedError("the optimizer with op=Adasum works on the world only, not on a process set")
    wrapped = _wrap(optimizer, _DistributedAdasumOptimizer)
    wrapped._set_up(named_parameters, compression, backward_passes_per_step)
    return wrapped
