# SPDX-License-Identifier: Apache-2.0
"""The network of function_approximation.py and pinn.py, its learning rate and error, and the options of both."""
import argparse
import math
from types import ModuleType
from typing import Callable, Optional, Tuple

import torch

from support import COUNT, RATE, Options


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


def fit_options(hvd: ModuleType, description: str, points: Tuple[int, str], steps: int) -> Options:
    """The options of both scripts. `points` are how many there are by default, and of what."""
    parser = Options(hvd, description)
    parser.add_argument("--mode", choices=["data-parallel", "ensemble"], default="data-parallel")
    parser.add_argument("--points", metavar="N", type=COUNT, default=points[0], help=f"{points[1]} ({points[0]})")
    parser.add_argument("--steps", metavar="N", type=COUNT, default=steps, help=f"of Adam ({steps})")
    parser.add_argument("--learning-rate", metavar="X", type=RATE, default=0.02, help="of the first step (0.02)")
    return parser


def points_divide(hvd: ModuleType, options: argparse.Namespace) -> Optional[str]:
    """What is wrong if the points cannot be shared equally."""
    if options.points % hvd.size() > 0:
        return f"--points wants a multiple of the {hvd.size()} ranks, not {options.points}"
    return None
