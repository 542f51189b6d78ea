# SPDX-License-Identifier: Apache-2.0
"""Process sets: subsets of the world's ranks, whose collectives run beside those of the world."""
import os
from typing import Iterable, List, Optional, Union

from . import _hvd
from ._interruptible import interruptible


class ProcessSet:
    """Some ranks of the world. Pass it to init() or to add_process_set(); then collectives can use it.

    `ranks` are the ranks in ascending order. `process_set_id` is None until the set is in use, and again
    after it has been removed.
    """

    process_set_id: Optional[int] = None
    ranks: Optional[List[int]] = None
    mpi_comm: None = None

    def __init__(self, ranks: Iterable[int]) -> None:
        try:
            numbers = [int(rank) for rank in ranks]
        except TypeError:
            raise ValueError(f"a process set is made of ranks, not of {ranks!r}") from None
        if len(set(numbers)) != len(numbers):
            raise ValueError(f"a process set has each rank once, but these are {numbers}")
        self.ranks = sorted(numbers)

    def _invalidate(self) -> None:
        self.process_set_id = None

    def size(self) -> Optional[int]:
        """The number of ranks, or None when the set is not in use."""
        return None if self.process_set_id is None else _hvd.process_set_size(self.process_set_id)

    def rank(self) -> Optional[int]:
        """The rank of this process within the set, or None when the set is not in use.

        ValueError when this process does not belong to it.
        """
        return None if self.process_set_id is None else _hvd.process_set_rank(self.process_set_id)

    def included(self) -> Optional[bool]:
        """Whether this process belongs to the set, or None before hvd.init() for the set of all ranks."""
        return None if self.ranks is None else _hvd.rank() in self.ranks

    def __str__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"

    __repr__ = __str__


global_process_set = ProcessSet([])
global_process_set.process_set_id = 0


def process_set_number(process_set: ProcessSet) -> int:
    """The number that the library knows the set by; ValueError when it is not in use."""
    number = getattr(process_set, "process_set_id", None)
    if number is None:
        raise ValueError(f"process_set is {process_set!r}, which is not in use: hvd.add_process_set() adds it")
    return number


def registered() -> dict:
    """The ranks of each process set by the number of the set."""
    return {number: _hvd.process_set_ranks(number) for number in _hvd.process_sets()}


def as_process_sets(process_sets: Optional[Union[str, Iterable]]) -> List[ProcessSet]:
    """What init() was given, as ProcessSet objects; ValueError for two sets with the same ranks."""
    if process_sets is None:
        return []
    if isinstance(process_sets, str):
        if process_sets.lower() != "dynamic":
            raise ValueError(f"process_sets is {process_sets!r}, expected 'dynamic' or a list of process sets")
        os.environ["HOROVOD_DYNAMIC_PROCESS_SETS"] = "1"
        return []
    sets = [each if isinstance(each, ProcessSet) else ProcessSet(each) for each in process_sets]
    seen = set()
    for each in sets:
        if tuple(each.ranks) in seen:
            raise ValueError(f"process_sets has two sets of the ranks {each.ranks}")
        seen.add(tuple(each.ranks))
    return sets


_in_use: List[ProcessSet] = []


def forget() -> None:
    """No set is in use any more: the next epoch has none but that of all ranks. Called by shutdown()."""
    for each in _in_use:
        each._invalidate()
    _in_use.clear()
    global_process_set.ranks = []


def refresh(process_sets: List[ProcessSet]) -> None:
    """Give each object the number of its set. Called by init()."""
    known = registered()
    numbers = {tuple(ranks): number for number, ranks in known.items()}
    global_process_set.ranks = known[0]
    for each in process_sets:
        if tuple(each.ranks) not in numbers:
            raise ValueError(f"hvd.init() has been called before, without {each}: use hvd.add_process_set()")
        each.process_set_id = numbers[tuple(each.ranks)]
        _in_use.append(each)


def add_process_set(process_set: Union[ProcessSet, Iterable[int]]) -> ProcessSet:
    """Make a process set. Every rank of the world calls it with the same ranks, and waits for the others.

    Returns the set, ready for use. ValueError when a set of these ranks exists, or a rank does not.
    """
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    process_set.process_set_id = interruptible(_hvd.add_process_set, process_set.ranks)
    _in_use.append(process_set)
    return process_set


def remove_process_set(process_set: ProcessSet) -> bool:
    """Remove a process set; every rank of the world calls it. False for the world's own, and for a set not in use."""
    number = process_set.process_set_id
    if number is None or number == 0:
        return False
    process_set._invalidate()
    if process_set in _in_use:
        _in_use.remove(process_set)
    interruptible(_hvd.remove_process_set, number)
    return True
