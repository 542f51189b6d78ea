# SPDX-License-Identifier: Apache-2.0
from hvd.torch.elastic import TorchState  # noqa: F401
