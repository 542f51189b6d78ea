# SPDX-License-Identifier: Apache-2.0
"""What the calls of this package raise, besides ValueError and TypeError for the caller's own mistakes."""


class HorovodInternalError(RuntimeError):
    """A collective has failed: the ranks disagree about it, or the world has lost a rank.

    The text names the ranks, and their values, hosts or causes. After a disagreement the world goes on; after
    the loss of a rank every later call fails with the same text. `status` is the number of `enum hvd_status`
    in hvd.h: -9 for a disagreement, -10 for a lost rank, -11 for a rank that has left.
    """

    status: int = 0


class HostsUpdatedInterrupt(RuntimeError):
    """The hosts of an elastic job have changed: State.commit() and check_host_updates() raise it, on all ranks.

    `skip_sync` is True when hosts were only removed, so that all who go on have the same state.
    """

    def __init__(self, skip_sync: bool) -> None:
        super().__init__("the hosts of the job have changed")
        self.skip_sync = skip_sync
