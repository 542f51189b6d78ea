# SPDX-License-Identifier: Apache-2.0
"""A worker of tests/support/elastic_scenarios.sh: elastic_scenario.py MODULE LOG EPOCHS SIZES [FAULT...].

MODULE is horovod.torch, of Horovod or of libhvd's package, or hvd.numpy. Trains EPOCHS epochs of ten batches, with a commit after
each batch and after each epoch. Rank 0 appends a line to LOG after each epoch. SIZES is "EPOCH:SIZE,..." or "-": that epoch begins
when the world has so many ranks. FAULT is EPOCH:BATCH:START_RANK:raise, an exception, or ...:kill, after the step of that batch: then
all ranks hold the commit before it. Ranks that were not in the first world have no fault.
"""
import importlib
import os
import signal
import sys
import time

hvd = importlib.import_module(sys.argv[1])
log, epochs, sizes, faults = sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5:]
sizes = dict(tuple(map(int, each.split(":"))) for each in sizes.split(",") if each != "-")
start_rank = int(os.environ["HOROVOD_RANK"])
is_first = False  # this process has been in the first world
VALUES = dict(epoch=0, batch=0, commits=0, worlds=0)


def torch_training():
    """The state, and a function that trains one batch."""
    import torch

    model = torch.nn.Linear(4, 1)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.01), named_parameters=model.named_parameters()
    )

    def step():
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()

    return hvd.elastic.TorchState(model, optimizer, **VALUES), step


def numpy_training():
    """The same without PyTorch, which takes long to import."""
    import numpy

    return hvd.elastic.ObjectState(**VALUES), lambda: hvd.allreduce(numpy.ones(4), name="batch")


def fault(state):
    for text in faults:
        epoch, batch, rank, how = text.split(":")
        if (int(epoch), int(batch), int(rank)) != (state.epoch, state.batch, start_rank):
            continue
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError(f"fault {text}")


def wait_for_size(state):
    wanted = sizes.get(state.epoch, 0)
    while wanted not in (0, hvd.size()):
        state.check_host_updates()
        time.sleep(0.02)


def write_log(state):
    place = os.environ["HOROVOD_HOSTNAME"], start_rank, hvd.rank(), hvd.size()
    with open(log, "a", encoding="ascii") as file:
        print(state.epoch, state.commits, *place, state.worlds, file=file)


def commit(state):
    state.commits += 1
    state.commit()


@hvd.elastic.run
def train(state):
    global is_first
    state.worlds += 1
    is_first = is_first or state.worlds == 1
    while state.epoch < epochs:
        wait_for_size(state)
        while state.batch < 10:
            step()
            if is_first:
                fault(state)
            state.batch += 1
            commit(state)
        if hvd.rank() == 0:
            write_log(state)
        state.epoch += 1
        state.batch = 0
        commit(state)


hvd.init()
training, step = numpy_training() if sys.argv[1] == "hvd.numpy" else torch_training()
train(training)
