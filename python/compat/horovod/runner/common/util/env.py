# SPDX-License-Identifier: Apache-2.0
"""What the environment of a rank says."""
import os
from typing import Tuple


def get_env_rank_and_size() -> Tuple[int, int]:
    """The rank and the size that the launcher has set; 0 and 1 without a launcher."""
    return int(os.environ.get("HOROVOD_RANK", 0)), int(os.environ.get("HOROVOD_SIZE", 1))
