# SPDX-License-Identifier: Apache-2.0
"""horovod.torch.sync_batch_norm: that of hvd.torch."""
from hvd.torch.sync_batch_norm import *  # noqa: F401,F403
