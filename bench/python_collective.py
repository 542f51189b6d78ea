# SPDX-License-Identifier: Apache-2.0
"""An allreduce of float32 in place through hvd.torch: the median time in microseconds for each size in bytes.

    hvdrun -np 2 python3 bench/python_collective.py [BYTES]...      beside hvd-bandwidth, which does the same in C
"""
import statistics
import sys
import time

import torch

import hvd.torch as hvd

hvd.init()
for nbytes in [int(each) for each in sys.argv[1:]] or [8, 1 << 20, 1 << 26]:
    tensor = torch.ones(nbytes // 4)
    rounds, calls = (30, 1000) if nbytes < 65536 else (30, max(1, (1 << 26) // nbytes))
    times = []
    for _ in range(rounds):
        hvd.barrier()
        start = time.perf_counter()
        for _ in range(calls):
            hvd.allreduce_(tensor, name="tensor", op=hvd.Max)
        times.append((time.perf_counter() - start) / calls * 1e6)
    if hvd.rank() == 0:
        print(f"{nbytes:>10} {statistics.median(times):.2f}", flush=True)
