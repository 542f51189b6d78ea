# SPDX-License-Identifier: Apache-2.0
"""Fits a network to y = sin(2 pi x) + sin(4 pi x) on [-1, 1], from samples that lie on several ranks.

    hvdrun -np 2 python3 function_approximation.py
    hvdrun -np 2 python3 function_approximation.py --mode ensemble

Of n ranks each has the samples of one n-th of the interval. Data-parallel, they train one model for all of it: the
optimizer averages gradients over the ranks, so that each step is the step of one rank with all samples. As an
ensemble each rank trains a model of its own for its own part, and nothing is sent before the errors are gathered.

You learn: which four calls make a training loop data-parallel; that an ensemble is the same loop without three of them.
"""
import math

import torch
from fit import Network, cosine_rate, fit_options, points_divide, relative_error
from support import are_identical, finish, save_checkpoint, say, share_processors

import hvd.torch as hvd


def exact(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(2 * math.pi * x) + torch.sin(4 * math.pi * x)


def main() -> None:
    hvd.init()
    parser = fit_options(
        hvd,
        "Fits sin(2 pi x) + sin(4 pi x) on [-1, 1], alone or under hvdrun.",
        points=(48, "samples of all ranks together"),
        steps=4000,
    )
    options = parser.parse(lambda options: points_divide(hvd, options))
    share_processors(hvd)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(options.seed)
    parallel = options.mode == "data-parallel"

    # The samples of this rank, and the interval in which its model is to be right.
    x = torch.linspace(-1, 1, options.points).chunk(hvd.size())[hvd.rank()].unsqueeze(1)
    y = exact(x)
    domain = (-1.0, 1.0) if parallel else (x[0].item(), x[-1].item())

    # The fast sine needs a network that bends all along the interval.
    model = Network(width=16, scale=8.0, spread=2.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    if parallel:
        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, cosine_rate(options.steps))

    say(hvd, options, f"function approximation: {options.mode}, {hvd.size()} ranks, {options.points} points")
    for _ in range(options.steps):
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()

    errors = hvd.allgather_object((relative_error(model, exact, domain), domain))
    for rank, (error, (begin, end)) in enumerate(errors):
        say(hvd, options, f"rank {rank}: relative L2 error {error:.2e} on [{begin:.2f}, {end:.2f}]")
    save_checkpoint(hvd, options.checkpoint, {"model": model.state_dict()})
    worst = max(error for error, _ in errors)
    identical = are_identical(hvd, model) if parallel else None
    finish(hvd, ranks=hvd.size(), mode=options.mode, error=f"{worst:.2e}", identical=identical)


if __name__ == "__main__":
    main()
