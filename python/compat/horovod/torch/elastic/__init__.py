# SPDX-License-Identifier: Apache-2.0
"""horovod.torch.elastic: it is that of hvd."""
from hvd.torch.elastic import *  # noqa: F401,F403
from hvd.torch.elastic import __all__
