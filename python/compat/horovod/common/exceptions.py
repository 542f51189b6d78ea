# SPDX-License-Identifier: Apache-2.0
"""Horovod's exceptions: they are those of hvd."""
from hvd.exceptions import HorovodInternalError, HostsUpdatedInterrupt


class HorovodVersionMismatchError(ImportError):
    """Scripts catch it; libhvd works with every version of a framework and does not raise it."""


__all__ = ["HorovodInternalError", "HorovodVersionMismatchError", "HostsUpdatedInterrupt"]
