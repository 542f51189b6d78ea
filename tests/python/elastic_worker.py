# SPDX-License-Identifier: Apache-2.0
"""An elastic training whose result tells which samples were used, for tests/program/python_elastic_test.sh.

    hvdrun -np N --min-np M ... python3 elastic_worker.py FOLDER SAMPLES EVENT...

Each step adds up the numbers of the samples of all ranks. EVENT is WHO:STEP:WHAT, and happens once in a job, on rank WHO
at step STEP: "kill" (SIGKILL), "raise" (HorovodInternalError), "wait" (makes FOLDER/waits, then waits until the size of
the world differs from that of the first one). Rank 0 of the last world prints the total and the world.
"""
import os
import signal
import sys
import time

import torch

import hvd.torch as hvd

folder, samples, events = sys.argv[1], int(sys.argv[2]), [each.split(":") for each in sys.argv[3:]]


def happens_now(who, step, what):
    """Once in a job, whichever process is that rank: a file remembers it."""
    if hvd.rank() != int(who) or state.step != int(step):
        return False
    try:
        os.close(os.open(f"{folder}/{who}.{step}.{what}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def let_events_happen():
    for who, step, what in events:
        if what == "wait":
            first = int(open(f"{folder}/size").read()) if state.step == int(step) else None
            if first is not None:
                open(f"{folder}/waits", "w").close()
            while first == hvd.size():
                state.check_host_updates()
                time.sleep(0.01)
        elif happens_now(who, step, what):
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise hvd.HorovodInternalError("the test raises it")


@hvd.elastic.run
def train(state):
    if hvd.epoch() == 0 and hvd.rank() == 0:
        with open(f"{folder}/size", "w") as file:
            file.write(str(hvd.size()))
    for index in list(state.sampler):
        let_events_happen()
        optimizer.zero_grad()
        (model.weight * index).sum().backward()
        optimizer.step()
        state.total += hvd.allreduce(torch.tensor([index]), op=hvd.Sum, name="index").item()
        state.sampler.record_indices([index])
        state.step += 1
        state.commit()


hvd.init()
model = torch.nn.Linear(1, 1, bias=False)
model.weight.data.fill_(0)
optimizer = hvd.DistributedOptimizer(
    torch.optim.SGD(model.parameters(), lr=1.0), named_parameters=model.named_parameters(), op=hvd.Sum
)
state = hvd.elastic.TorchState(
    model, optimizer, sampler=hvd.elastic.ElasticSampler(range(samples)), step=0, total=0, resets=0
)
state.register_reset_callbacks([lambda: setattr(state, "resets", state.resets + 1)])
train(state)
if hvd.rank() == 0:
    print(f"total={state.total} weight={model.weight.item():g} size={hvd.size()} epoch={hvd.epoch()}", flush=True)
