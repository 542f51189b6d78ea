# SPDX-License-Identifier: Apache-2.0
"""Trains the network of fashion_mnist.py with PyTorch's DistributedDataParallel, whose gradients travel over libhvd.

    hvdrun --torch-env -np 2 python3 ddp.py                        the backend hvd
    hvdrun --torch-env -np 2 python3 ddp.py --zero                 and each rank has a part of the optimizer's state
    hvdrun --torch-env -np 2 python3 ddp.py --backend gloo         PyTorch's own collectives, to compare
    hvdrun --torch-env -np 2 python3 ddp.py --backend gloo --hook  the same, with the gradients over libhvd

You learn that a script of torch.distributed needs one import and the name of the backend; and, beside
fashion_mnist.py, what DistributedDataParallel does by itself: it broadcasts the parameters, and averages gradients.
"""
import argparse
import os
import time
from typing import Optional

import torch
import torch.distributed as distributed
import torch.nn.functional as F
from fashion import DIRECTORY, count_recognised, make_network, read_images
from support import COUNT, RATE, Options, are_identical, end_if, finish, save_checkpoint, say, share_processors
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DistributedSampler

import hvd.torch as hvd
from hvd.torch.distributed import allreduce_hook  # the import registers the backend


def check(options: argparse.Namespace) -> Optional[str]:
    if options.hook and options.backend == "hvd":
        return "--hook wants --backend gloo: the backend hvd carries all that there is"
    if hvd.size() > 1 and "RANK" not in os.environ:
        return "RANK is not set: start this script with hvdrun --torch-env"
    return None


def parse_options() -> argparse.Namespace:
    parser = Options(hvd, "Trains a network on Fashion-MNIST with DistributedDataParallel, alone or under hvdrun.")
    add = parser.add_argument
    add("--backend", choices=["hvd", "gloo"], default="hvd", help="what carries collectives (hvd)")
    add("--hook", action="store_true", help="gradients travel over libhvd, the rest over gloo")
    add("--zero", action="store_true", help="use ZeroRedundancyOptimizer")
    add("--epochs", metavar="N", type=COUNT, default=1, help="times through the images (1)")
    add("--batch-size", metavar="N", type=COUNT, default=64, help="images of each rank in a step (64)")
    add("--data", metavar="DIR", default=DIRECTORY, help=f"where the IDX files are ({DIRECTORY})")
    add("--limit", metavar="N", type=COUNT, help="train on the first so many images (all)")
    add("--test-limit", metavar="N", type=COUNT, help="test on the first so many images (all)")
    add("--learning-rate", metavar="X", type=RATE, default=0.001, help="of Adam (0.001)")
    add("--no-dropout", action="store_true", help="train without dropout")
    add("--float64", action="store_true", help="compute in float64, to compare results")
    return parser.parse(check)


def join(backend: str) -> None:
    """Without hvdrun there is no RANK, and the group is this process."""
    if "RANK" in os.environ:
        distributed.init_process_group(backend)
    else:
        distributed.init_process_group(backend, store=distributed.HashStore(), rank=0, world_size=1)


def main() -> None:
    hvd.init()  # for the options, and for the hook; the backend would do it itself
    options = parse_options()
    share_processors(hvd)
    if options.float64:
        torch.set_default_dtype(torch.float64)
    train_images, train_problem = read_images(options.data, "train", options.limit)
    test_images, test_problem = read_images(options.data, "t10k", options.test_limit)
    end_if(hvd, 1, train_problem or test_problem)

    join(options.backend)
    rank, size = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(options.seed)
    model = DistributedDataParallel(make_network(dropout=not options.no_dropout))
    if options.hook:
        model.register_comm_hook(None, allreduce_hook)
    if options.zero:
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=options.learning_rate)
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)

    torch.manual_seed(options.seed + 1 + rank)  # dropout differs between ranks
    count = len(train_images.labels)
    say(hvd, options, f"ddp: {count} images, {size} ranks x batch {options.batch_size}, backend {options.backend}")
    sampler = DistributedSampler(train_images.labels, size, rank, seed=options.seed)
    start = time.perf_counter()
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        for indices in BatchSampler(sampler, options.batch_size, drop_last=False):
            pixels, labels = train_images.batch(indices)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(pixels), labels)
            loss.backward()
            optimizer.step()
        say(hvd, options, f"epoch {epoch + 1}/{options.epochs}: loss {loss.item():.4f} in the last batch of rank 0")
    seconds = time.perf_counter() - start

    mine = count_recognised(model.module, test_images, range(rank, len(test_images.labels), size))
    recognised = torch.tensor(mine)
    distributed.all_reduce(recognised)
    save_checkpoint(hvd, options.checkpoint, {"model": model.module.state_dict()})
    identical = are_identical(hvd, model)
    distributed.destroy_process_group()
    finish(
        hvd,
        ranks=size,
        backend=options.backend,
        accuracy=f"{recognised.item() / len(test_images.labels):.4f}",
        images_per_s=f"{count * options.epochs / seconds:.0f}",
        identical=identical,
    )


if __name__ == "__main__":
    main()
