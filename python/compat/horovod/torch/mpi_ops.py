# SPDX-License-Identifier: Apache-2.0
"""The module that scripts import collectives from when they do not take them from horovod.torch."""
from hvd.torch import *  # noqa: F401,F403
from hvd.torch import __all__ as _all

from ..common.basics import HorovodBasics as _HorovodBasics

_basics = _HorovodBasics()

__all__ = list(_all)
