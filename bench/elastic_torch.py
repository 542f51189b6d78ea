# SPDX-License-Identifier: Apache-2.0
"""From the death of a rank to the first collective after it under torchrun's elastic agent: elastic_torch.py FILE STEPS.

The last rank writes the time into FILE and kills itself; torchrun starts all ranks again, and rank 0 prints "reset" and the
microseconds since then. Does what bench/elastic_loss.c does.
"""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist


def main():
    path, steps = sys.argv[1], int(sys.argv[2])
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    data = torch.zeros(4096)
    dist.all_reduce(data)
    if int(os.environ["TORCHELASTIC_RESTART_COUNT"]) > 0:
        if rank == 0:
            with open(path, encoding="ascii") as file:
                print(f"reset {time.monotonic() * 1e6 - float(file.read()):.0f}", flush=True)
        return
    for _ in range(steps):
        dist.all_reduce(data)
    if rank == size - 1:
        with open(path, "w", encoding="ascii") as file:
            file.write(str(time.monotonic() * 1e6))
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        dist.all_reduce(data)


main()
