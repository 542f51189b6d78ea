# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors in the memory of NVIDIA GPUs, as tensors of a device of libhvd.

libhvd reads and writes them where they lie, through the device that place() opens for each GPU (hvd_cuda_open(3)).
It waits for an event of the current stream before it touches them, and a collective is done when nothing that the
library does with them is left, so that every stream may use the result.

This has never run on a GPU: its tests use a stand-in for the driver.
"""
from typing import Any, Dict, Optional, Tuple

import torch

from .. import _hvd
from ..exceptions import HorovodInternalError

_devices: Dict[int, int] = {}  # by number of the GPU


def _open(tensor: torch.Tensor, name: Optional[str]) -> int:
    try:
        number = _hvd.cuda_device(tensor.device.index)
    except (HorovodInternalError, ValueError) as error:
        which = "tensor" if name is None else f"tensor '{name}'"
        raise ValueError(f"{which} on device {tensor.device}: {error}") from error
    _devices[tensor.device.index] = number
    return number


def place(tensor: torch.Tensor, name: Optional[str]) -> Tuple[int, Any]:
    """The number of the GPU as a device of libhvd, and an event of the current stream.

    It is called when all memory of the collective has been allocated, because the stream may still work in what was
    freed just before. The event must stay alive until the collective is done. ValueError, with the tensor, the device
    and the library's reason, when the GPU cannot be used, for instance because there is no hvd_cuda.so or no driver.
    """
    number = _devices.get(tensor.device.index) or _open(tensor, name)
    return number, torch.cuda.current_stream(tensor.device).record_event()
