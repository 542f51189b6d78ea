# SPDX-License-Identifier: Apache-2.0
"""For tests/gpu.sh, on a machine with a GPU and PyTorch for CUDA: hvd.torch on tensors of CUDA.

    hvdrun -np 2 python3 torch_cases.py        rank 0 prints "torch: ok"
"""
import torch

import hvd.torch as hvd


def collectives(rank, size, device):
    total = size * (size + 1) // 2
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64, torch.uint8):
        tensor = torch.full((1000,), rank + 1, dtype=dtype, device=device)
        result = hvd.allreduce(tensor, op=hvd.Sum)
        assert result.device == tensor.device and result.tolist() == [total] * 1000, dtype
        assert hvd.allreduce_(tensor, op=hvd.Sum) is tensor and tensor.tolist() == [total] * 1000, dtype
    group = [torch.full((n,), rank + 1.0, device=device) for n in (3, 5)]
    assert [each[0].item() for each in hvd.grouped_allreduce(group, op=hvd.Sum)] == [total, total]
    assert hvd.broadcast(torch.tensor([rank], device=device), size - 1).item() == size - 1
    rows = torch.arange(2.0 * size, device=device).reshape(size, 2)
    assert hvd.reducescatter(rows, op=hvd.Sum).tolist() == [[2.0 * rank * size, (2.0 * rank + 1) * size]]
    gathered = hvd.allgather(torch.full((rank + 1, 1), rank, device=device))
    assert gathered.is_cuda and gathered.shape == (total, 1) and gathered[-1].item() == size - 1
    assert hvd.alltoall(torch.full((size,), rank, device=device)).tolist() == list(range(size))


def streams(rank, size, device):
    """Input that a stream has still to make; memory that the stream has used just before."""
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        for round in range(20):
            big = torch.ones(2048, 2048, device=device)
            tensor = (big @ big)[0, :100] * 0 + rank + round
            result = hvd.allreduce(tensor, op=hvd.Sum, name=f"ordered.{round}")
            assert (result * 2).tolist() == [2.0 * (size * (size - 1) // 2 + size * round)] * 100, round


def training(rank, size, device):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to(device)
    optimizer = hvd.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.05), named_parameters=model.named_parameters()
    )
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    torch.manual_seed(rank)
    for _ in range(10):
        optimizer.zero_grad()
        model(torch.randn(32, 16, device=device)).square().mean().backward()
        optimizer.step()
    for parameter in model.parameters():
        rank_0s = hvd.broadcast(parameter.detach(), 0)
        assert torch.equal(rank_0s, parameter.detach())


def main():
    hvd.init()
    device = torch.device("cuda", hvd.local_rank() % torch.cuda.device_count())
    torch.cuda.set_device(device)
    for part in (collectives, streams, training):
        part(hvd.rank(), hvd.size(), device)
    if hvd.rank() == 0:
        print("torch: ok")


main()
