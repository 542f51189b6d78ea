# SPDX-License-Identifier: Apache-2.0
"""Elastic training with Horovod itself: elastic_stock_train.py LOG EPOCHS FAULT..., where FAULT is EPOCH:BATCH:START_RANK:raise or
...:kill, in the first world. Rank 0 writes a line to LOG after each epoch, and after the epochs in LOG.hosts it waits for news of other
hosts."""
import os
import signal
import sys
import time

import torch
import horovod.torch as hvd

log, epochs, faults = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
pause = float(os.environ.get("EPOCH_PAUSE", "0"))
start_rank = int(os.environ["HOROVOD_RANK"])
hvd.init()
model = torch.nn.Linear(4, 1)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01),
                                     named_parameters=model.named_parameters())


def fault(state):
    if state.worlds > 1:
        return
    for text in faults:
        e, b, rank, how = text.split(":")
        if (int(e), int(b), int(rank)) == (state.epoch, state.batch, start_rank):
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("fault at %d:%d of start rank %d" % (state.epoch, state.batch, start_rank))


def wait_for_news(state):
    with open(log + ".hosts") as lines:
        changes = [int(line) for line in lines]
    if state.epoch not in changes:
        return
    began = time.time()
    while state._host_messages.empty():
        if time.time() - began > 60:
            raise TimeoutError("no notification for 60 s")
        time.sleep(0.05)


@hvd.elastic.run
def train(state):
    state.worlds += 1
    while state.epoch < epochs:
        while state.batch < 10:
            fault(state)
            optimizer.zero_grad()
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            state.batch += 1
            state.commits += 1
            state.commit()
        if hvd.rank() == 0:
            with open(log, "a") as out:
                print(state.epoch, state.commits, os.environ["HOROVOD_HOSTNAME"], start_rank, hvd.rank(), hvd.size(),
                      state.worlds, file=out)
            wait_for_news(state)
        time.sleep(pause)
        state.epoch += 1
        state.batch = 0
        state.commits += 1
        state.commit()


train(hvd.elastic.TorchState(model, optimizer, batch=0, epoch=0, commits=0, worlds=0))
