# SPDX-License-Identifier: Apache-2.0
"""What hvd.elastic.run() does when the next world cannot be joined. Joining is replaced, so no job is needed.

Prints a line for each mistake, and how many cases there were.
"""
import os
from typing import List, Tuple

from hvd import _world, elastic
from hvd.exceptions import HorovodInternalError

REMOVED, PEER_LEFT, PEER_LOST, TIMEOUT = -15, -11, -10, -8  # of enum hvd_status in hvd.h

# The status of each join of the job, 0 for a world; how run() ends, and after how many joins.
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


def end_of(statuses: List[int]) -> Tuple[str, int]:
    """How run() ends, and after how many joins, when a world is lost and the joins after it go as `statuses` says."""
    joins: List[int] = []
    trained = []

    def join() -> None:
        joins.append(statuses[len(joins)])
        if joins[-1]:
            raise failure(joins[-1])

    @elastic.run
    def train(state: Nothing) -> str:
        trained.append(state)
        if len(trained) == 1:
            raise failure(PEER_LOST)
        return "trained"

    _world.init, _world.shutdown = join, lambda: None
    try:
        return train(Nothing()), len(joins)
    except HorovodInternalError as error:
        return str(error), len(joins)
    except SystemExit as error:
        return f"exit {error.code}", len(joins)


os.environ["HOROVOD_ELASTIC"] = "1"
for what, joins_of_case, end, njoins in CASES:
    got = end_of(joins_of_case)
    if got != (end, njoins):
        print(f"{what}: {got[0]} after {got[1]} joins, expected {end} after {njoins}")
print(f"{len(CASES)} cases")
