# SPDX-License-Identifier: Apache-2.0
"""Median times through Python in microseconds, one line for each item:

    BYTES         an allreduce of float32 in place
    optimizer     a step of DistributedOptimizer with ResNet-50's 161 gradients: backward pass and synchronize()
    ddp:BACKEND   the same of DistributedDataParallel over a backend of torch.distributed, "hvd" or "gloo"

    hvdrun -np 2 python3 bench/python_collective.py 8 1048576 67108864      beside bench/collective, which does it in C
    hvdrun --horovod libhvd -np 2 python3 bench/python_collective.py 8 optimizer
    hvdrun -np 2 python3 bench/python_collective.py 8 optimizer             with an installed Horovod
    hvdrun --torch-env -np 2 python3 bench/python_collective.py ddp:hvd ddp:gloo

The package is horovod where it can be imported, else hvd. The backward pass makes no gradients, it hands over tensors
that are there, so the time is that of the communication and of what it costs the processor.
"""
import statistics
import sys
import time

import torch

ROUNDS = 30
ROUND_S = 0.05


def shapes_of_resnet50():
    """The parameters in order: each convolution has a batch normalization of two vectors."""
    shapes = []

    def convolution(inputs, outputs, width):
        shapes.extend([(outputs, inputs, width, width), (outputs,), (outputs,)])

    convolution(3, 64, 7)
    inputs = 64
    for blocks, planes in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            convolution(inputs, planes, 1)
            convolution(planes, planes, 3)
            convolution(planes, 4 * planes, 1)
            if block == 0:
                convolution(inputs, 4 * planes, 1)
            inputs = 4 * planes
    return shapes + [(1000, 2048), (1000,)]


class HandOver(torch.autograd.Function):
    """A scalar of a parameter, whose gradient lies in `gradient` already."""

    @staticmethod
    def forward(ctx, parameter, gradient):
        ctx.gradient = gradient
        return parameter.new_zeros(())

    @staticmethod
    def backward(ctx, _):
        return ctx.gradient.detach(), None


class Gradients(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parameters_ = torch.nn.ParameterList(
            torch.nn.Parameter(torch.zeros(shape)) for shape in shapes_of_resnet50()
        )
        self.gradients = [torch.zeros_like(parameter) for parameter in self.parameters_]

    def forward(self):
        return torch.stack([HandOver.apply(*each) for each in zip(self.parameters_, self.gradients)]).sum()


def median_us(barrier, call, calls, rounds=ROUNDS):
    call()
    times = []
    for _ in range(rounds):
        barrier()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return statistics.median(times)


def forget(model):
    for parameter in model.parameters():
        parameter.grad = None


def allreduce(hvd, nbytes):
    tensor = torch.ones(nbytes // 4)

    def call():
        hvd.allreduce_(tensor, name="tensor", op=hvd.Max)

    call()
    start = time.perf_counter()
    for _ in range(3):
        call()
    took_s = hvd.allreduce_(torch.tensor([(time.perf_counter() - start) / 3]), name="took", op=hvd.Max).item()
    calls = max(1, int(ROUND_S / took_s))  # the same on all ranks
    return median_us(lambda: hvd.allreduce_(torch.zeros(1), name="barrier"), call, calls)


def optimizer(hvd):
    model = Gradients()
    wrapped = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1), named_parameters=model.named_parameters()
    )

    def step():
        forget(model)
        model().backward()
        wrapped.synchronize()

    return median_us(lambda: hvd.allreduce_(torch.zeros(1), name="barrier"), step, 1)


def ddp(backend):
    import torch.distributed as distributed

    if backend == "hvd":
        import hvd.torch.distributed  # noqa: F401, registers it
    distributed.init_process_group(backend)
    model = torch.nn.parallel.DistributedDataParallel(Gradients())

    def step():
        forget(model)
        model().backward()

    took, rank = median_us(distributed.barrier, step, 1), distributed.get_rank()
    distributed.destroy_process_group()
    return took, rank


def main():
    hvd = None
    for item in sys.argv[1:] or ["8", "1048576", "67108864"]:
        if item.startswith("ddp:"):
            took, rank = ddp(item[4:])
        else:
            if hvd is None:
                try:
                    import horovod.torch as hvd
                except ImportError:
                    import hvd.torch as hvd
                hvd.init()
            took, rank = optimizer(hvd) if item == "optimizer" else allreduce(hvd, int(item)), hvd.rank()
        if rank == 0:
            print(f"{item:>10} {took:.2f}", flush=True)


main()
