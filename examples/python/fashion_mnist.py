# SPDX-License-Identifier: Apache-2.0
"""Trains a convolutional network on Fashion-MNIST: all of a training, as Horovod's tutorials show it.

    hvdrun -np 2 python3 fashion_mnist.py --epochs 4 --checkpoint last.pt
    hvdrun -np 2 python3 fashion_mnist.py --epochs 8 --checkpoint last.pt --resume

You learn what a script for one process needs beside the optimizer to be one for many: a sampler that gives each rank
its share of each batch; a learning rate that grows with the ranks, and warms up; metrics of all ranks; rank 0 alone
writes and reads the checkpoint, and broadcasts what was in it. Two ranks with batches of 64 make the steps of one rank
with batches of 128 and the same learning rate (--no-dropout: each rank draws its own masks).
"""
import argparse
import time
from typing import Optional

import torch
import torch.nn.functional as F
from fashion import DIRECTORY, Images, make_network, read_images, share_recognised
from support import COUNT, RATE, Options, are_identical, end_if, finish, save_checkpoint, say, share_processors
from torch.utils.data import BatchSampler, DistributedSampler

import hvd.torch as hvd


def parse_options() -> argparse.Namespace:
    parser = Options(hvd, "Trains a convolutional network on Fashion-MNIST, alone or under hvdrun.")
    add = parser.add_argument
    add("--epochs", metavar="N", type=COUNT, default=1, help="times through the images (1)")
    add("--batch-size", metavar="N", type=COUNT, default=64, help="images of each rank in a step (64)")
    add("--data", metavar="DIR", default=DIRECTORY, help=f"where the IDX files are ({DIRECTORY})")
    add("--limit", metavar="N", type=COUNT, help="train on the first so many images (all)")
    add("--test-limit", metavar="N", type=COUNT, help="test on the first so many images (all)")
    add("--learning-rate", metavar="X", type=RATE, help="of all ranks together (0.001 x the number of ranks)")
    add("--warmup-epochs", metavar="X", type=RATE, default=0.1, help="in which it rises from that of one rank (0.1)")
    add("--no-dropout", action="store_true", help="train without dropout")
    add("--float64", action="store_true", help="compute in float64, to compare results")
    add("--resume", action="store_true", help="go on from the checkpoint")
    return parser.parse(lambda o: "--resume wants --checkpoint FILE" if o.resume and not o.checkpoint else None)


def load_checkpoint(path: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Rank 0 reads it, and the broadcasts below bring it to the others. Returns how many epochs are over."""
    problem: Optional[str] = None
    epochs = 0
    if hvd.rank() == 0:
        try:
            content = torch.load(path)
            model.load_state_dict(content["model"])
            optimizer.load_state_dict(content["optimizer"])
            epochs = content["epochs"]
        except Exception as error:  # whatever PyTorch raises for a file that is none of ours
            problem = f"{path}: the checkpoint cannot be read: {str(error).splitlines()[0]}"
    end_if(hvd, 1, problem)
    return hvd.broadcast_object(epochs, 0)


def warmed_up(rate: float, epochs: float, warmup_epochs: float) -> float:
    """The learning rate after `epochs`: it rises to `rate` from that of one rank."""
    if epochs >= warmup_epochs:
        return rate
    return rate / hvd.size() * (1 + (hvd.size() - 1) * epochs / warmup_epochs)


def train(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, images: Images, epoch: int, options: argparse.Namespace
) -> float:
    """One epoch. Returns the mean loss of this rank."""
    sampler = DistributedSampler(images.labels, hvd.size(), hvd.rank(), seed=options.seed)
    sampler.set_epoch(epoch)  # another order in each epoch, and the same on all ranks
    batches = list(BatchSampler(sampler, options.batch_size, drop_last=False))
    rate = options.learning_rate or 0.001 * hvd.size()
    total = 0.0
    for step, indices in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = warmed_up(rate, epoch + step / len(batches), options.warmup_epochs)
        pixels, labels = images.batch(indices)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pixels), labels)
        loss.backward()  # the gradient of a layer travels while those of the layers before it are computed
        optimizer.step()  # waits for those that are on their way
        total += loss.item()
    return total / len(batches)


def main() -> None:
    hvd.init()
    options = parse_options()
    share_processors(hvd)
    if options.float64:
        torch.set_default_dtype(torch.float64)
    train_images, train_problem = read_images(options.data, "train", options.limit)
    test_images, test_problem = read_images(options.data, "t10k", options.test_limit)
    end_if(hvd, 1, train_problem or test_problem)

    torch.manual_seed(options.seed)
    model = make_network(dropout=not options.no_dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    done = load_checkpoint(options.checkpoint, model, optimizer) if options.resume else 0
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    images_each = len(train_images.labels)
    say(hvd, options, f"fashion_mnist: {images_each} images, {hvd.size()} ranks x batch {options.batch_size}")
    accuracy = share_recognised(hvd, model, test_images)
    seconds = 0.0
    for epoch in range(done, options.epochs):
        torch.manual_seed(options.seed + 1 + epoch * hvd.size() + hvd.rank())  # dropout differs between ranks
        start = time.perf_counter()
        loss = train(model, optimizer, train_images, epoch, options)
        seconds += time.perf_counter() - start
        loss = hvd.allreduce(torch.tensor(loss), name="loss").item()
        accuracy = share_recognised(hvd, model, test_images)
        say(hvd, options, f"epoch {epoch + 1}/{options.epochs}: loss {loss:.4f}, test accuracy {accuracy:.4f}")
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epochs": epoch + 1}
        save_checkpoint(hvd, options.checkpoint, state)
    trained = images_each * max(0, options.epochs - done)
    finish(
        hvd,
        ranks=hvd.size(),
        epochs=options.epochs,
        accuracy=f"{accuracy:.4f}",
        images_per_s=f"{trained / seconds if seconds else 0:.0f}",
        identical=are_identical(hvd, model),
    )


if __name__ == "__main__":
    main()
