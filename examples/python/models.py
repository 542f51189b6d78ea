# SPDX-License-Identifier: Apache-2.0
"""The networks of synthetic_benchmark.py in plain PyTorch. Parameters have the known number, shapes and order.

    resnet50   161 tensors,  25 557 032 parameters
    resnet101  314 tensors,  44 549 160 parameters
    vgg16       32 tensors, 138 357 544 parameters
    small        8 tensors,      48 176 parameters; nothing in it depends on the rest of a batch, for tests
"""
import time
from typing import Any, Callable, Dict, List, Tuple

import torch
from torch import nn


class _Bottleneck(nn.Module):
    """The block of ResNet: three convolutions, beside which the input is added. `stride` makes the image smaller."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1, bias=False),
            nn.BatchNorm2d(4 * width),
        )
        self.shortcut = nn.Sequential()
        if channels != 4 * width:
            self.shortcut.append(nn.Conv2d(channels, 4 * width, 1, stride, bias=False))
            self.shortcut.append(nn.BatchNorm2d(4 * width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.path(x) + self.shortcut(x))


def _resnet(blocks: List[int]) -> nn.Module:
    """Four stages of so many blocks."""
    layers = [nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    layers.append(nn.MaxPool2d(3, 2, padding=1))
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            layers.append(_Bottleneck(channels, width, stride=2 if stage > 0 and block == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def _vgg16() -> nn.Module:
    layers: List[nn.Module] = []
    channels = 3
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        layers.append(nn.MaxPool2d(2))
    layers += [nn.AdaptiveAvgPool2d(7), nn.Flatten()]
    layers += [nn.Linear(512 * 7 * 7, 4096), nn.ReLU(inplace=True), nn.Dropout()]
    layers += [nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers)


def _small() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, 2),
        nn.ReLU(inplace=True),
        nn.Conv2d(16, 32, 3, 2),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 40),
        nn.ReLU(inplace=True),
        nn.Linear(40, 1000),
    )


MODELS: Dict[str, Callable[[], nn.Module]] = {
    "resnet50": lambda: _resnet([3, 4, 6, 3]),
    "resnet101": lambda: _resnet([3, 4, 23, 3]),
    "vgg16": _vgg16,
    "small": _small,
}


class _Wait(torch.autograd.Function):
    """Passes a number on. Backwards, it sleeps until the gradient of its parameter would be there, which is ones."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, parameter: torch.Tensor, ready: float) -> torch.Tensor:
        ctx.shape, ctx.ready = parameter.shape, ready
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, None]:
        time.sleep(max(0.0, ctx.ready - time.perf_counter()))
        return gradient, gradient.new_ones(1).expand(ctx.shape), None


class Sleeping(nn.Module):
    """The parameters of a model without its arithmetic: a batch sleeps, as the processor does beside an accelerator.

    A third of the time goes forwards and two thirds backwards, the same for each parameter.
    """

    def __init__(self, model: nn.Module, seconds: float) -> None:
        super().__init__()
        self.model, self.seconds = model, seconds

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        time.sleep(self.seconds / 3)
        start = time.perf_counter()
        parameters = list(self.model.parameters())
        value = images.new_zeros(1, requires_grad=True)
        for index, parameter in enumerate(parameters):
            share = (len(parameters) - index) / len(parameters)  # the last layer's gradient is the first
            value = _Wait.apply(value, parameter, start + self.seconds * 2 / 3 * share)
        return value
