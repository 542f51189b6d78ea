# SPDX-License-Identifier: Apache-2.0
"""Compression of gradients for the transfer: a pair of functions, compress before and decompress after."""
from typing import Any, Optional, Tuple

import torch


class Compressor:
    """A compression. A program may write its own: compress() returns a tensor and what decompress() needs."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Any) -> torch.Tensor:
        raise NotImplementedError


class NoneCompressor(Compressor):
    """Sends tensors as they are."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, None]:
        return tensor, None

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: None) -> torch.Tensor:
        return tensor


def _narrow(tensor: torch.Tensor, dtype: torch.dtype) -> Tuple[torch.Tensor, Optional[torch.dtype]]:
    if tensor.dtype.is_floating_point and tensor.element_size() > 2:
        return tensor.to(dtype), tensor.dtype
    return tensor, None


def _widen(tensor: torch.Tensor, ctx: Optional[torch.dtype]) -> torch.Tensor:
    return tensor if ctx is None else tensor.to(ctx)


class FP16Compressor(Compressor):
    """Sends floating-point tensors as float16: half the bytes, and values from 65520 on are infinite."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Optional[torch.dtype]]:
        return _narrow(tensor, torch.float16)

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Optional[torch.dtype]) -> torch.Tensor:
        return _widen(tensor, ctx)


class BF16Compressor(Compressor):
    """Sends floating-point tensors as bfloat16: half the bytes, the range of float32, 8 significant bits."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Optional[torch.dtype]]:
        return _narrow(tensor, torch.bfloat16)

    @staticmethod
    def decompress(tensor: torch.Tensor, ctx: Optional[torch.dtype]) -> torch.Tensor:
        return _widen(tensor, ctx)


class Compression:
    """The compressions to choose from. bf16 is ours, the others have Horovod's names."""

    none = NoneCompressor
    fp16 = FP16Compressor
    bf16 = BF16Compressor
