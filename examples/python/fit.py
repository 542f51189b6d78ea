# SPDX-License-Identifier: Apache-2.0
"""The network of function_approximation.py and pinn.py, its learning rate, and how far it is from a known function."""
import math
from typing import Callable, Tuple

import torch


class Network(torch.nn.Module):
    """A number to a number, through two hidden layers with tanh.

    `scale` multiplies the input and `spread` is the largest bias of the first layer: together they say along how much
    of the interval the units bend.
    """

    def __init__(self, width: int, scale: float, spread: float) -> None:
        super().__init__()
        self.scale = scale
        linear = torch.nn.Linear
        self.layers = torch.nn.Sequential(
            linear(1, width), torch.nn.Tanh(), linear(width, width), torch.nn.Tanh(), linear(width, 1)
        )
        for layer in self.layers[::2]:
            torch.nn.init.xavier_normal_(layer.weight)
            torch.nn.init.uniform_(layer.bias, -spread, spread)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(self.scale * x)


def cosine_rate(steps: int) -> Callable[[int], float]:
    """The learning rate as a part of the first one: it falls along a cosine to 2 %."""
    return lambda step: 0.02 + 0.98 * (1 + math.cos(math.pi * min(1.0, step / steps))) / 2


def relative_error(
    solution: Callable[[torch.Tensor], torch.Tensor],
    exact: Callable[[torch.Tensor], torch.Tensor],
    domain: Tuple[float, float],
) -> float:
    """The L2 norm of the difference at 101 points, relative to that of the exact function."""
    x = torch.linspace(*domain, 101).unsqueeze(1)
    with torch.no_grad():
        return ((solution(x) - exact(x)).norm() / exact(x).norm()).item()
