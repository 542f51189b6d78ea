# SPDX-License-Identifier: Apache-2.0
"""From the death of a rank to the first collective after it with Horovod's elastic API: elastic_horovod.py FILE STEPS.

Runs under horovodrun and hvdrun, with Horovod or with the package horovod of libhvd. The last rank writes the time into FILE and
kills itself; rank 0 of the next world prints "reset" and the microseconds since then. Does what bench/elastic_loss.c does, and
Horovod's run() restores and synchronises the state before.
"""
import os
import signal
import sys
import time

import horovod.torch as hvd
import torch


@hvd.elastic.run
def train(state, path, steps):
    data = torch.zeros(4096)
    hvd.allreduce(data, name="step")
    if state.had_loss:
        if hvd.rank() == 0:
            with open(path, encoding="ascii") as file:
                print(f"reset {time.monotonic() * 1e6 - float(file.read()):.0f}", flush=True)
        return
    for _ in range(steps):
        hvd.allreduce(data, name="step")
    state.had_loss = True
    state.commit()
    if hvd.rank() == hvd.size() - 1:
        with open(path, "w", encoding="ascii") as file:
            file.write(str(time.monotonic() * 1e6))
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        hvd.allreduce(data, name="step")


hvd.init()
train(hvd.elastic.TorchState(had_loss=False), sys.argv[1], int(sys.argv[2]))
