# SPDX-License-Identifier: Apache-2.0
"""The calls of the world as an object, as horovod.common.basics has them."""
from typing import Any, Dict, List

import hvd
from hvd import process_sets as _sets
from hvd._collectives import Adasum, Average, Max, Min, Product, Sum


class HorovodBasics:
    """All calls of `hvd` that concern the world, and the numbers of the operations."""

    Average, Sum, Adasum, Min, Max, Product = Average, Sum, Adasum, Min, Max, Product

    def __init__(self, *_: Any) -> None:
        for name in hvd.__all__:
            call = getattr(hvd, name)
            if callable(call) and name.islower():
                setattr(self, name, call)

    @staticmethod
    def _get_process_set_ids_and_ranks() -> Dict[int, List[int]]:
        return _sets.registered()


__all__ = ["HorovodBasics"]
