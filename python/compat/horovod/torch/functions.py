# SPDX-License-Identifier: Apache-2.0
"""horovod.torch.functions: that of hvd.torch."""
from hvd.torch.functions import *  # noqa: F401,F403
