# SPDX-License-Identifier: Apache-2.0
"""What init() and hvd.elastic.run() do when a world cannot be joined. Joining is replaced, so no job is needed.

Prints a line for each mistake, and how many cases there were.
"""
import os
import types
from typing import Callable, List, Tuple

from hvd import _world, elastic
from hvd.exceptions import HorovodInternalError

REMOVED, PEER_LEFT, PEER_LOST, TIMEOUT = -15, -11, -10, -8  # of enum hvd_status in hvd.h

# The status of each join of the job, 0 for a world; how init() ends, and after how many joins.
FIRST_CASES = [
    ("a first world", [0], "trained", 1),
    ("a rank is lost while the first world is joined", [PEER_LOST, 0], "trained", 2),
    ("no first world holds", [PEER_LOST] * 20, "status -10", 10),
    ("the first world fails otherwise", [TIMEOUT], "status -8", 1),
]

# The same of the worlds that follow a lost one, and of run().
CASES = [
    ("a world", [0], "trained", 1),
    ("a rank is lost while the others join", [PEER_LOST, 0], "trained", 2),
    ("a rank leaves meanwhile, and another is lost", [PEER_LEFT, PEER_LOST, 0], "trained", 3),
    ("no world holds", [PEER_LOST] * 20, "status -10", 10),
    ("this process was removed", [PEER_LOST, REMOVED], "exit 0", 2),
    ("another failure", [TIMEOUT], "status -8", 1),
]


class Nothing(elastic.State):
    """A state without anything in it."""

    def save(self) -> None:
        pass

    def restore(self) -> None:
        pass

    def sync(self) -> None:
        pass


def failure(status: int) -> HorovodInternalError:
    error = HorovodInternalError(f"status {status}")
    error.status = status
    return error


def end_of(statuses: List[int], act: Callable[[], str]) -> Tuple[str, int]:
    """How `act` ends, and after how many joins, when the joins go as `statuses` says."""
    joins: List[int] = []

    def join(sets: list) -> None:
        joins.append(statuses[len(joins)])
        if joins[-1]:
            raise failure(joins[-1])

    _world._join_once = join
    try:
        return act(), len(joins)
    except HorovodInternalError as error:
        return str(error), len(joins)
    except SystemExit as error:
        return f"exit {error.code}", len(joins)


def join_first() -> str:
    _world.init()
    return "trained"


def lose_a_world() -> str:
    trained = []

    @elastic.run
    def train(state: Nothing) -> str:
        trained.append(state)
        if len(trained) == 1:
            raise failure(PEER_LOST)
        return "trained"

    return train(Nothing())


def check(cases: list, act: Callable[[], str]) -> None:
    for what, statuses, end, njoins in cases:
        got = end_of(statuses, act)
        if got != (end, njoins):
            print(f"{what}: {got[0]} after {got[1]} joins, expected {end} after {njoins}")


_world._hvd = types.SimpleNamespace(
    is_initialized=lambda: False, rank=lambda: 0, size=lambda: 1, shutdown=lambda: None
)
_world._sets = types.SimpleNamespace(as_process_sets=lambda sets: [], refresh=lambda sets: None, forget=lambda: None)
os.environ["HOROVOD_ELASTIC"] = "1"
check(FIRST_CASES, join_first)
check(CASES, lose_a_world)
os.environ["HOROVOD_ELASTIC"] = ""
check([("a job that is not elastic", [PEER_LOST, 0], "status -10", 1)], join_first)
print(f"{len(FIRST_CASES) + len(CASES) + 1} cases")
