# SPDX-License-Identifier: Apache-2.0
"""The helpers of horovod.common.util that scripts import."""
import os
from contextlib import contextmanager
from functools import wraps
from typing import Any, Callable, Iterator, List, Optional

import hvd


def extension_available(ext_base_name: str, verbose: bool = False) -> bool:
    """Whether collectives of a framework are there: those of PyTorch, when it can be imported."""
    if ext_base_name != "torch":
        return False
    try:
        import hvd.torch  # noqa: F401
    except ImportError as error:
        if verbose:
            print(f"hvd.torch cannot be imported: {error}")
        return False
    return True


def gpu_available(ext_base_name: str, verbose: bool = False) -> bool:
    """Whether the framework has an accelerator."""
    if not extension_available(ext_base_name, verbose):
        return False
    import torch

    return torch.cuda.is_available()


def mpi_built(verbose: bool = False) -> bool:
    """False: libhvd has no MPI."""
    return hvd.mpi_built()


def gloo_built(verbose: bool = False) -> bool:
    """True: collectives work without MPI."""
    return hvd.gloo_built()


def nccl_built(verbose: bool = False) -> int:
    """0: libhvd does not call NCCL."""
    return hvd.nccl_built()


def ddl_built(verbose: bool = False) -> bool:
    """False: libhvd has no DDL."""
    return hvd.ddl_built()


def ccl_built(verbose: bool = False) -> bool:
    """False: libhvd has no oneCCL."""
    return hvd.ccl_built()


@contextmanager
def env(**variables: Optional[str]) -> Iterator[None]:
    """Set environment variables within it; None removes one."""
    before = {name: os.environ.get(name) for name in variables}
    _set_variables(variables)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(variables: dict) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def num_rank_is_power_2(num_rank: int) -> bool:
    """Whether a number is a power of 2."""
    return num_rank > 0 and num_rank & (num_rank - 1) == 0


def split_list(items: List[Any], count: int) -> List[List[Any]]:
    """`count` parts of nearly equal length, the longer ones first."""
    share, more = divmod(len(items), count)
    starts = [index * share + min(index, more) for index in range(count + 1)]
    return [items[starts[index] : starts[index + 1]] for index in range(count)]


def is_iterable(value: Any) -> bool:
    """Whether one can go through it with `for`."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def _cache(function: Callable) -> Callable:
    """Remember what a function has returned, by its arguments."""
    known: dict = {}

    @wraps(function)
    def cached(*args: Any, **kwargs: Any) -> Any:
        key = (args, frozenset(kwargs.items()), function.__name__)
        if key not in known:
            known[key] = function(*args, **kwargs)
        return known[key]

    return cached
