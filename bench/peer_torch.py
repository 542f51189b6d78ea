#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed with Gloo in the comparison: items, lines and checks as support/peer.h says.

    peer_torch.py RANKS STORE NAME SAMPLES SAMPLE_MS OPERATION:BYTES|NETWORK=ELEMENTS,ELEMENTS...

STORE is a file that is not there yet. The gradients of a network (bench/layers lists them) are reduced in buckets of 25 MiB,
as DistributedDataParallel does, from the last layer to the first; the copies into buckets and out of them are measured, too.
What torch.distributed cannot do with Gloo is left out.
"""
import os
import sys
import time

import torch
import torch.distributed as dist

BUCKET = 25 << 20
WARM_UP_CALLS = 10
PATIENCE_SAMPLES = 10


class Peer:
    def __init__(self, rank, size, name, samples, sample_ms):
        self.rank, self.size, self.name = rank, size, name
        self.samples, self.sample_us = samples, 1000.0 * sample_ms

    def slowest(self, mine):
        value = torch.tensor([mine], dtype=torch.float64)
        dist.all_reduce(value, dist.ReduceOp.MAX)
        return float(value)

    def time_calls(self, call, calls):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return self.slowest((time.perf_counter() - start) * 1e6 / calls)

    def verify(self, what, call, sources, results, expected):
        for source in sources:
            source.copy_(element(self.rank, source.numel()))
        took = self.time_calls(call, 1)
        for result, right in zip(results, expected):
            if not torch.equal(result, right):
                wrong = int((result != right).nonzero()[0])
                sys.exit(f"{self.name}: rank {self.rank} of {self.size}: {what}: element {wrong} is {result[wrong]}")
        for source in sources:
            source.zero_()
        return took

    def measure(self, operation, way, nbytes, call, sources, results, expected):
        call_us = self.verify(operation, call, sources, results, expected)
        warm_up = min(WARM_UP_CALLS, int(self.sample_us / call_us))
        if warm_up:
            call_us = self.time_calls(call, warm_up)
        calls = max(1, int(self.sample_us / call_us))
        samples = 1 if call_us > PATIENCE_SAMPLES * self.sample_us else self.samples
        times = sorted(self.time_calls(call, calls) for _ in range(samples))
        self.verify(operation, call, sources, results, expected)
        if self.rank == 0:
            middle = (times[(samples - 1) // 2] + times[samples // 2]) / 2
            what = f"{self.name}\t{operation}\t{way}\t{self.size}\t{nbytes}"
            print(f"{what}\t{middle:.3f}\t{times[0]:.3f}\t{times[-1]:.3f}", flush=True)


def element(rank, count, begin=0):
    return (torch.arange(begin, begin + count) % 1000).float() * (rank + 1)


def total(size, count):
    return element(0, count) * (size * (size + 1) // 2)


def operations(peer, operation, count):
    """The call, its sources, its results, and what these should be; None for what Gloo cannot do."""
    source, share = torch.zeros(count), count // peer.size
    if operation == "allreduce":
        return lambda: dist.all_reduce(source), [source], [source], [total(peer.size, count)]
    if operation == "broadcast":
        return lambda: dist.broadcast(source, 0), [source], [source], [element(0, count)]
    result = torch.zeros(count)
    if operation == "allgather":
        mine, parts = source[:share], list(result.split(share))
        expected = torch.cat([element(r, share) for r in range(peer.size)])
        return lambda: dist.all_gather(parts, mine), [source], [result], [expected]
    if operation == "alltoall":
        expected = torch.cat([element(r, share, peer.rank * share) for r in range(peer.size)])
        return lambda: dist.all_to_all_single(result, source), [source], [result], [expected]
    return None


def buckets_of(tensors):
    buckets, size = [[]], 0
    for tensor in reversed(tensors):
        if size and size + tensor.numel() * 4 > BUCKET:
            buckets.append([])
            size = 0
        buckets[-1].append(tensor)
        size += tensor.numel() * 4
    return buckets


def reduce_buckets(buckets):
    flat = [torch.cat(bucket) for bucket in buckets]
    for handle in [dist.all_reduce(one, async_op=True) for one in flat]:
        handle.wait()
    for one, bucket in zip(flat, buckets):
        for part, tensor in zip(one.split([t.numel() for t in bucket]), bucket):
            tensor.copy_(part)


def do_item(peer, item):
    network, _, counts = item.partition("=")
    if counts:
        sizes = [int(count) for count in counts.split(",")]
        tensors = [torch.zeros(size) for size in sizes]
        buckets = buckets_of(tensors)
        expected = [total(peer.size, size) for size in sizes]
        peer.measure(network, "buckets", 4 * sum(sizes), lambda: reduce_buckets(buckets), tensors, tensors, expected)
        return
    operation, _, nbytes = item.partition(":")
    count = int(nbytes) // 4
    if operation in ("allgather", "alltoall"):
        count = -(-count // peer.size) * peer.size
    what = operations(peer, operation, count)
    if what:
        peer.measure(operation, "auto", nbytes, *what)


def rank_main(rank, size, store, name, samples, sample_ms, items):
    cores = sorted(os.sched_getaffinity(0))
    if size <= len(cores):
        os.sched_setaffinity(0, {cores[rank]})
    torch.set_num_threads(max(1, len(cores) // size))
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=size)
    peer = Peer(rank, size, name, samples, sample_ms)
    for item in items:
        do_item(peer, item)
    dist.barrier()


def main():
    if len(sys.argv) < 7:
        sys.exit("usage: peer_torch.py RANKS STORE NAME SAMPLES SAMPLE_MS ITEM...")
    size, store, name = int(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    samples, sample_ms, items = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:]
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    ranks = []
    for rank in range(size):
        pid = os.fork()
        if not pid:
            rank_main(rank, size, store, name, samples, sample_ms, items)
            sys.stdout.flush()
            os._exit(0)
        ranks.append(pid)
    failed = False
    for _ in range(size):
        _, status = os.wait()
        failed = failed or status != 0
    sys.exit(1 if failed else 0)


main()
