# SPDX-License-Identifier: Apache-2.0
"""horovod.torch.optimizer: that of hvd.torch."""
from hvd.torch.optimizer import *  # noqa: F401,F403
from hvd.torch.optimizer import DistributedOptimizer
