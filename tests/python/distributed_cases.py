# SPDX-License-Identifier: Apache-2.0
"""The backend "hvd" of torch.distributed and the hook for DDP, as one rank of several. Prints "ok SENTENCE"."""
import sys

import hvd.torch
import torch
import torch.distributed as distributed
from hvd.torch.distributed import allreduce_hook, new_group
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer

RANK = SIZE = 0


def ranks(count=1, offset=0.0):
    return torch.full((count,), RANK + offset)


def allreduce_has_the_operations_of_gloo():
    operations = distributed.ReduceOp
    expected = {operations.SUM: SIZE * (SIZE + 1) / 2, operations.MIN: 1.0, operations.MAX: float(SIZE)}
    for operation, value in expected.items():
        tensor = ranks(3, 1.0)
        distributed.all_reduce(tensor, operation)
        assert tensor.tolist() == [value] * 3, (operation, tensor)


def more_collectives_than_names_may_be_in_flight():
    tensors = [ranks(2, float(number)) for number in range(11)]
    works = [distributed.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        assert work.wait()
    total = SIZE * (SIZE - 1) / 2
    assert [tensor[0].item() for tensor in tensors] == [total + SIZE * number for number in range(11)]


def every_collective_gives_what_the_manual_of_torch_says():
    tensor = ranks()
    distributed.broadcast(tensor, SIZE - 1)
    assert tensor.item() == SIZE - 1
    gathered = [torch.zeros(2) for _ in range(SIZE)]
    distributed.all_gather(gathered, ranks(2))
    assert [row[0].item() for row in gathered] == list(range(SIZE))
    share = torch.zeros(2)
    distributed.reduce_scatter(share, [torch.full((2,), float(other)) for other in range(SIZE)])
    assert share.tolist() == [RANK * SIZE] * 2
    received = torch.zeros(SIZE)
    distributed.all_to_all_single(received, torch.arange(SIZE, dtype=torch.float) + 10 * RANK)
    assert received.tolist() == [10.0 * other + RANK for other in range(SIZE)]
    uneven = torch.zeros(sum(range(1, SIZE + 1)) if RANK == 0 else 0)
    splits = [0] * SIZE
    splits[0] = RANK + 1
    distributed.all_to_all_single(
        uneven, ranks(RANK + 1), [other + 1 for other in range(SIZE)] if RANK == 0 else [0] * SIZE, splits
    )
    assert uneven.tolist() == ([float(other) for other in range(SIZE) for _ in range(other + 1)] if RANK == 0 else [])
    part = torch.zeros(1)
    distributed.scatter(part, [torch.tensor([float(other)]) for other in range(SIZE)] if RANK == 0 else None, 0)
    assert part.item() == RANK
    rows = [torch.zeros(1) for _ in range(SIZE)] if RANK == 1 else None
    distributed.gather(ranks(), rows, 1)
    assert rows is None or [row.item() for row in rows] == list(range(SIZE))
    total = torch.tensor([1.0])
    distributed.reduce(total, 0)
    assert total.item() == (SIZE if RANK == 0 else 1)
    distributed.barrier()
    objects = [None] * SIZE
    distributed.all_gather_object(objects, {"rank": RANK})
    assert objects == [{"rank": other} for other in range(SIZE)]


def disagrees(call, *words):
    try:
        call()
    except hvd.torch.HorovodInternalError as error:
        assert error.status == -9 and all(word in str(error) for word in words), error
    else:
        raise AssertionError("nothing is raised")


def ranks_that_disagree_are_told_and_go_on():
    distributed.all_reduce(torch.ones(70))
    distributed.all_reduce(torch.ones(80))
    for sizes in ((75, 76), (70, 80), (80, 77)):  # new ones, known ones, both
        size = sizes[RANK == 0]
        disagrees(lambda: distributed.all_reduce(torch.ones(size)), f"[{sizes[0]}]", f"[{sizes[1]}]", "rank 0")
        tensor = torch.ones(1)
        distributed.all_reduce(tensor)
        assert tensor.item() == SIZE
    kinds = (lambda: distributed.all_reduce(torch.ones(70)), lambda: distributed.broadcast(torch.ones(70), 0))
    disagrees(kinds[RANK == 0], "allreduce", "broadcast")
    disagrees(lambda: distributed.all_reduce(torch.ones(1).to(torch.int32 if RANK == 0 else torch.float32)), "int32")
    distributed.barrier()


def groups_of_some_ranks_work_beside_the_others():
    outer, last = new_group([0, SIZE - 1]), new_group([SIZE - 1])
    again, everybody = new_group([0, SIZE - 1]), new_group()
    tensor = ranks(2, 1.0)
    distributed.all_reduce(tensor, group=everybody)
    assert tensor[0].item() == SIZE * (SIZE + 1) / 2
    if RANK in (0, SIZE - 1):
        for group in (outer, again):
            tensor = ranks(2, 1.0)
            distributed.all_reduce(tensor, group=group)
            assert tensor.tolist() == [1.0 + SIZE] * 2
        tensor = ranks()
        distributed.broadcast(tensor, SIZE - 1, group=outer)
        assert tensor.item() == SIZE - 1
        rows = [torch.zeros(1) for _ in range(2)]
        distributed.all_gather(rows, ranks(), group=outer)
        assert [row.item() for row in rows] == [0, SIZE - 1]
        received = torch.zeros(2)
        distributed.all_to_all_single(received, ranks(2), group=outer)
        assert received.tolist() == [0, SIZE - 1]
        distributed.barrier(group=again)
    if RANK == SIZE - 1:
        distributed.all_reduce(ranks(), group=last)
    distributed.barrier()


def what_the_backend_does_not_have_is_refused_by_name():
    for call in (lambda: distributed.send(ranks(), 0), lambda: distributed.recv(ranks(), 0)):
        try:
            call()
        except NotImplementedError as error:
            assert "hvd has no send and no recv" in str(error)
        else:
            raise AssertionError("not refused")
    try:
        distributed.all_reduce(ranks(), distributed.ReduceOp.BXOR)
    except ValueError as error:
        assert "SUM, AVG, MIN, MAX and PRODUCT" in str(error)
    else:
        raise AssertionError("not refused")


def make_model():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(10, 30), nn.Tanh(), nn.Linear(30, 1))


def train(model, optimizer, first, last):
    torch.manual_seed(5)
    inputs = torch.randn(8 * SIZE, 10)
    targets = inputs.sum(1, keepdim=True)
    for _ in range(10):
        optimizer.zero_grad()
        ((model(inputs[first:last]) - targets[first:last]) ** 2).mean().backward()
        optimizer.step()


def is_like_one_rank_with_the_whole_batch(model):
    reference = make_model()
    train(reference, torch.optim.SGD(reference.parameters(), lr=0.05, momentum=0.9), 0, 8 * SIZE)
    for parameter, expected in zip(model.parameters(), reference.parameters()):
        assert torch.allclose(parameter, expected, rtol=1e-4, atol=1e-6), (parameter - expected).abs().max()


def ddp_trains_as_one_rank_with_the_whole_batch():
    model = nn.parallel.DistributedDataParallel(make_model())
    train(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), 8 * RANK, 8 * RANK + 8)
    is_like_one_rank_with_the_whole_batch(model)


def so_does_the_zero_redundancy_optimizer():
    model = nn.parallel.DistributedDataParallel(make_model())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
    train(model, optimizer, 8 * RANK, 8 * RANK + 8)
    is_like_one_rank_with_the_whole_batch(model)


def so_does_ddp_on_gloo_with_the_hook():
    model = nn.parallel.DistributedDataParallel(make_model())
    model.register_comm_hook(None, allreduce_hook)
    train(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), 8 * RANK, 8 * RANK + 8)
    is_like_one_rank_with_the_whole_batch(model)


CASES = {
    "hvd": [
        allreduce_has_the_operations_of_gloo,
        more_collectives_than_names_may_be_in_flight,
        every_collective_gives_what_the_manual_of_torch_says,
        ranks_that_disagree_are_told_and_go_on,
        groups_of_some_ranks_work_beside_the_others,
        what_the_backend_does_not_have_is_refused_by_name,
        ddp_trains_as_one_rank_with_the_whole_batch,
        so_does_the_zero_redundancy_optimizer,
    ],
    "gloo": [so_does_ddp_on_gloo_with_the_hook],
}


def main(backend):
    global RANK, SIZE
    distributed.init_process_group(backend)
    hvd.torch.init()
    RANK, SIZE = distributed.get_rank(), distributed.get_world_size()
    for case in CASES[backend]:
        case()
        print("ok", case.__name__.replace("_", " "))


main(sys.argv[1])
