# SPDX-License-Identifier: Apache-2.0
"""A sampler that divides what is left of an epoch anew when the world changes.

The ranks agree on an order of the samples that are left. Rank r takes those at r, r + size, r + 2 size, ..., and all
ranks take equally many steps; so that the last step is whole, some samples may come twice in it, as with PyTorch's
DistributedSampler.

A rank that dies takes its own records along. But ranks step together: when this rank has taken its first n samples,
each has taken n, and those are the first n * size of the order. So every rank knows what all have processed, and
nothing is lost or repeated by a change of the world.
"""
import random
from typing import Any, Dict, Iterator, List, Sequence, Set

import torch.utils.data

from ... import _world


class ElasticSampler(torch.utils.data.Sampler):
    """Samples of this rank, without those that were processed in this epoch.

    Put it into the state as well (TorchState(sampler=sampler)), call set_epoch() at the start of an epoch and
    record_batch() after each batch. `shuffle` with `seed`: another order in each epoch, the same on all ranks.
    """

    def __init__(self, dataset: Sequence, shuffle: bool = True, seed: int = 0) -> None:
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self._before: Set[int] = set()  # processed by all ranks before the order was made
        self._own: Dict[int, None] = {}  # what this rank has recorded since, in order
        self.reset()

    @property
    def processed_indices(self) -> Set[int]:
        """What this rank has recorded in this epoch, and all that was processed before the last change of the world."""
        return self._before.union(self._own)

    @property
    def processed_num(self) -> int:
        """How many those are."""
        return len(self._before) + len(self._own)

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch: nothing of it is processed."""
        self.epoch = epoch
        self._before, self._own = set(), {}
        self.reset()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """Record that batch `batch_idx` since the last division has been processed: samples of this rank."""
        self.record_indices(self.get_indices(batch_idx, batch_size))

    def record_indices(self, indices: Sequence[int]) -> None:
        """Record samples as processed."""
        self._own.update(dict.fromkeys(indices))

    def get_indices(self, batch_idx: int, batch_size: int) -> List[int]:
        """The samples of a batch of this rank."""
        start = batch_idx * batch_size
        return self.indices[start : start + batch_size]

    def processed_by_all(self) -> Set[int]:
        """What all ranks have processed in this epoch, as this rank knows it."""
        processed = self.processed_indices
        count = len(self._own)
        if list(self._own) == list(dict.fromkeys(self.indices[:count])):  # this rank's first samples, in order
            processed.update(self._order[: count * self.num_replicas])
        return processed

    def state_dict(self) -> Dict[str, Any]:
        """The epoch, and what all ranks have processed in it."""
        return dict(epoch=self.epoch, processed_indices=sorted(self.processed_by_all()))

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Take over an epoch and what was processed in it, and divide the rest."""
        self.epoch = state_dict["epoch"]
        self._before, self._own = set(state_dict["processed_indices"]), {}
        self.reset()

    def reset(self) -> None:
        """Divide what is left among the ranks of the world there is now."""
        self._before, self._own = self.processed_by_all() if self._own else self._before, {}
        self.num_replicas, self.rank = (_world.size(), _world.rank()) if _world.is_initialized() else (1, 0)
        self._order = [index for index in range(len(self.dataset)) if index not in self._before]
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(self._order)
        self.num_samples = -(-len(self._order) // self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas
        padded = self._order
        while 0 < len(padded) < self.total_size:
            padded = padded + self._order[: self.total_size - len(padded)]
        self.indices = padded[self.rank : self.total_size : self.num_replicas]

    def kept(self) -> tuple:
        """What restored() goes back to; cheap, because the division itself is shared."""
        return self.epoch, self._before, self._order, self.indices, self.num_replicas, self.rank, list(self._own)

    def restored(self, kept: tuple) -> None:
        """Go back to what kept() has returned."""
        self.epoch, self._before, self._order, self.indices, self.num_replicas, self.rank, own = kept
        self._own = dict.fromkeys(own)
        self.num_samples = len(self.indices)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices)

    def __len__(self) -> int:
        return self.num_samples
