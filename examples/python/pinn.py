# SPDX-License-Identifier: Apache-2.0
"""A physics-informed network: solves -u'' = f on [-1, 1], u(-1) = u(1) = 0, without a sample of u.

    hvdrun -np 2 python3 pinn.py
    hvdrun -np 2 python3 pinn.py --mode ensemble

The loss is the mean of (u'' + f)^2 over some points, with u'' by automatic differentiation. u = (1 - x^2) n(x), n the
network, so that the boundary condition holds exactly and the loss has one term.

Data-parallel: f = 4 pi^2 sin(2 pi x), and the points are split among the ranks. As an ensemble each rank solves an
equation of its own at all points: f = pi^2 sin(pi x) on even ranks, and that of the data-parallel mode on odd ones.

You learn: gradients of a loss that contains derivatives are averaged like any other; nothing but the loss is new.
"""
import argparse
import math
from typing import Optional

import torch
from fit import Network, cosine_rate, fit_options, points_divide, relative_error
from support import are_identical, finish, save_checkpoint, say, share_processors

import hvd.torch as hvd


def second_derivative(u: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """u'' at each point of x; a graph of autograd leads back to the parameters. Points do not influence each other."""
    (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    return second


def check(options: argparse.Namespace) -> Optional[str]:
    return points_divide(hvd, options) if options.mode == "data-parallel" else None


def main() -> None:
    hvd.init()
    parser = fit_options(
        hvd,
        "Solves -u'' = f on [-1, 1] by a physics-informed network, alone or under hvdrun.",
        points=(96, "of all ranks, of the equation"),
        steps=2000,
    )
    options = parser.parse(check)
    share_processors(hvd)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(options.seed)
    parallel = options.mode == "data-parallel"

    x = torch.linspace(-1, 1, options.points).unsqueeze(1)
    if parallel:
        x = x.chunk(hvd.size())[hvd.rank()]
    x.requires_grad_()
    waves = 2 if parallel or hvd.rank() % 2 == 1 else 1
    f = (waves * math.pi) ** 2 * torch.sin(waves * math.pi * x.detach())

    model = Network(width=16, scale=2.0, spread=0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    if parallel:
        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine_rate(options.steps))

    def solution(x: torch.Tensor) -> torch.Tensor:
        return (1 - x * x) * model(x)

    say(hvd, options, f"pinn: {options.mode}, {hvd.size()} ranks, {options.points} points")
    for _ in range(options.steps):
        optimizer.zero_grad()
        loss = (second_derivative(solution(x), x) + f).pow(2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()

    error = relative_error(solution, lambda x: torch.sin(waves * math.pi * x), (-1.0, 1.0))
    errors = hvd.allgather_object((error, waves))
    for rank, (error, waves) in enumerate(errors):
        say(hvd, options, f"rank {rank}: relative L2 error {error:.2e} of sin({waves} pi x)")
    save_checkpoint(hvd, options.checkpoint, {"model": model.state_dict()})
    worst = max(error for error, _ in errors)
    identical = are_identical(hvd, model) if parallel else None
    finish(hvd, ranks=hvd.size(), mode=options.mode, error=f"{worst:.2e}", identical=identical)


if __name__ == "__main__":
    main()
