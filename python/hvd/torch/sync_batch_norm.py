# SPDX-License-Identifier: Apache-2.0
"""Batch normalization over the batches of all ranks together."""
from typing import Optional

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from .. import _hvd
from .._collectives import Sum
from ._autograd import allreduce


class SyncBatchNorm(_BatchNorm):
    """Like torch.nn.BatchNorm1d, 2d and 3d, with mean and variance of the batches of all ranks in training.

    The ranks' batches may differ in size. Works on cpu and cuda. ValueError for fewer than two dimensions and
    when all batches together have one value per channel.
    """

    def _check_input_dim(self, input: torch.Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"the input has {input.dim()} dimensions, expected 2 or more")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self._check_input_dim(input)
        uses_batch = self.training or not self.track_running_stats
        if not uses_batch or _hvd.size() == 1:
            return super().forward(input)
        dims = [dim for dim in range(input.dim()) if dim != 1]
        shape = [1, -1] + [1] * (input.dim() - 2)
        wide = input if input.dtype == torch.float64 else input.float()
        mean, count = self._mean(wide, dims)
        centred = wide - mean.view(shape)
        variance = allreduce(centred.pow(2).sum(dims), op=Sum) / count
        if self.training and self.track_running_stats:
            self._track(mean.detach(), variance.detach(), count)
        result = (centred * torch.rsqrt(variance + self.eps).view(shape)).to(input.dtype)
        if self.affine:
            result = result * self.weight.view(shape) + self.bias.view(shape)
        return result

    @staticmethod
    def _mean(input: torch.Tensor, dims: list) -> tuple:
        """The mean of each channel, and how many values of a channel all ranks have."""
        channels = input.shape[1]
        own = input.new_full((1,), input.numel() // channels if channels else 0)
        sums = allreduce(torch.cat([input.sum(dims), own]), op=Sum)
        count = float(sums[-1].detach())
        if count <= 1:
            raise ValueError(f"the batches of all ranks have {count:.0f} values per channel, expected 2 or more")
        return sums[:-1] / count, count

    def _track(self, mean: torch.Tensor, variance: torch.Tensor, count: float) -> None:
        self.num_batches_tracked.add_(1)
        momentum: Optional[float] = self.momentum
        if momentum is None:
            momentum = 1.0 / float(self.num_batches_tracked)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
        unbiased = variance * (count / (count - 1))
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)
