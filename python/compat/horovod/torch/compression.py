# SPDX-License-Identifier: Apache-2.0
"""horovod.torch.compression: that of hvd.torch."""
from hvd.torch.compression import *  # noqa: F401,F403
