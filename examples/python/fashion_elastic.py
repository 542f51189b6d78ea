# SPDX-License-Identifier: Apache-2.0
"""Trains a convolutional network on Fashion-MNIST in an elastic job, whose ranks and hosts come and go.

    hvdrun -np 4 --min-np 2 -H a:2,b:2 python3 fashion_elastic.py --epochs 4
    hvdrun -np 2 --min-np 1 --host-discovery-script ./hosts.sh python3 fashion_elastic.py

You learn what makes a script elastic: what has to survive is in a state, which the ranks commit now and then; the function that
trains starts again from the last commit in each new world; the sampler knows which images of the epoch are left. Between
hvd.init() and that function no collective is called, because a rank that comes later would call it alone.
"""
import argparse
import sys

import torch
import torch.nn.functional as F
from fashion import DIRECTORY, Images, make_network, read_images, share_recognised
from support import COUNT, RATE, SEED, are_identical, share_processors
from torch.utils.data import BatchSampler

import hvd.torch as hvd


class Options(argparse.ArgumentParser):
    """argparse without collectives: rank 0 alone prints what is wrong."""

    def error(self, message: str) -> None:
        fail(2, message)

    def print_help(self, file=None) -> None:
        if hvd.rank() == 0:
            super().print_help(file)


def fail(status: int, problem: str) -> None:
    if hvd.rank() == 0:
        print(f"fashion_elastic.py: {problem}", file=sys.stderr, flush=True)
    sys.exit(status)


def parse_options() -> argparse.Namespace:
    parser = Options(description="Trains a convolutional network on Fashion-MNIST in an elastic job.", allow_abbrev=False)
    add = parser.add_argument
    add("--epochs", metavar="N", type=COUNT, default=1, help="times through the images (1)")
    add("--batch-size", metavar="N", type=COUNT, default=32, help="images of each rank in a step (32)")
    add("--commit-every", metavar="N", type=COUNT, default=10, help="steps between two commits (10)")
    add("--learning-rate", metavar="X", type=RATE, default=0.001, help="of all ranks together (0.001)")
    add("--data", metavar="DIR", default=DIRECTORY, help=f"where the IDX files are ({DIRECTORY})")
    add("--limit", metavar="N", type=COUNT, help="train on the first so many images (all)")
    add("--test-limit", metavar="N", type=COUNT, help="test on the first so many images (all)")
    add("--seed", metavar="N", type=SEED, default=42, help="of all random numbers (42)")
    return parser.parse_args()


def load(directory: str, kind: str, limit) -> Images:
    images, problem = read_images(directory, kind, limit)
    if problem:
        fail(1, problem)
    return images


def train_epoch(state, images: Images, options: argparse.Namespace) -> None:
    """What is left of the epoch."""
    for indices in BatchSampler(state.sampler, options.batch_size, drop_last=False):
        pixels, labels = images.batch(indices)
        state.optimizer.zero_grad()
        F.cross_entropy(state.model(pixels), labels).backward()
        state.optimizer.step()
        state.sampler.record_indices(indices)  # so no image of the epoch is used twice
        state.step += 1
        if state.step % options.commit_every == 0:
            state.commit()  # also where ranks leave for a world of other hosts


def main() -> None:
    hvd.init()
    options = parse_options()
    share_processors(hvd)
    train_images = load(options.data, "train", options.limit)
    test_images = load(options.data, "t10k", options.test_limit)

    torch.manual_seed(options.seed)
    model = make_network(dropout=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    sampler = hvd.elastic.ElasticSampler(train_images.labels, seed=options.seed)
    state = hvd.elastic.TorchState(model, optimizer, sampler=sampler, epoch=0, step=0, accuracy=0.0)

    @hvd.elastic.run
    def train(state) -> None:
        while state.epoch < options.epochs:
            train_epoch(state, train_images, options)
            state.accuracy = share_recognised(hvd, state.model, test_images)
            state.epoch += 1
            state.sampler.set_epoch(state.epoch)
            if hvd.rank() == 0:
                done = f"epoch {state.epoch}/{options.epochs}, {hvd.size()} ranks"
                print(f"{done}: test accuracy {state.accuracy:.4f}", flush=True)
            state.commit()
        identical = are_identical(hvd, state.model)
        if hvd.rank() == 0:
            said = f"ranks={hvd.size()} epochs={state.epoch} accuracy={state.accuracy:.4f} worlds={hvd.epoch() + 1}"
            print(f"result {said} identical={'yes' if identical else 'no'}", flush=True)

    train(state)


if __name__ == "__main__":
    main()
