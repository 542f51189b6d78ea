# SPDX-License-Identifier: Apache-2.0
"""The sentences of tests/program/python_test.sh, run by every rank of a job; rank 0 reports them.

    hvdrun -np N python3 cases.py        prints "ok SENTENCE" or "not ok SENTENCE: why" for each case
"""
import ctypes
import ctypes.util
import gc
import sys
import traceback
import warnings

import numpy as np
import torch

import hvd.numpy as hn
import hvd.torch as hvd

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
CASES = []


def case(function):
    CASES.append(function)
    return function


def raises(kind, text, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind as error:
        assert text in str(error), f"another text: {error}"
        return error
    raise AssertionError(f"{call.__name__} raised nothing")


def ranks_sum(n):
    return n * (n + 1) // 2


@case
def an_allreduce_adds_up_every_element_type(rank, size):
    for dtype in FLOATS + INTEGERS:
        tensor = torch.arange(6).reshape(2, 3).to(dtype) * (rank + 1)
        total = hvd.allreduce(tensor, op=hvd.Sum)
        assert total.dtype == dtype and total.shape == (2, 3)
        assert torch.equal(total, torch.arange(6).reshape(2, 3).to(dtype) * ranks_sum(size)), dtype
        assert torch.equal(tensor, torch.arange(6).reshape(2, 3).to(dtype) * (rank + 1))


@case
def every_operation_gives_its_result(rank, size):
    own = torch.tensor([rank + 1.0, -rank])
    assert hvd.allreduce(own, op=hvd.Min).tolist() == [1.0, 1.0 - size]
    assert hvd.allreduce(own, op=hvd.Max).tolist() == [size, 0.0]
    factorial = float(np.prod(np.arange(1, size + 1)))
    assert hvd.allreduce(own[:1].clone(), op=hvd.Product).item() == factorial
    assert hvd.allreduce(own, op=hvd.Average)[0].item() == (size + 1) / 2
    scaled = hvd.allreduce(own[:1].clone(), op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.5)
    assert scaled.item() == ranks_sum(size)
    alike = torch.tensor([3.0, 4.0])
    assert torch.allclose(hvd.allreduce(alike, op=hvd.Adasum), alike)
    assert hvd.allreduce(torch.tensor([rank == 0]), op=hvd.Sum).tolist() == [True]


@case
def calls_in_place_write_where_the_tensor_lies(rank, size):
    tensor = torch.full((1000,), float(rank + 1))
    address = tensor.data_ptr()
    assert hvd.allreduce_(tensor, op=hvd.Sum, name="in_place") is tensor
    assert tensor.data_ptr() == address and tensor[0].item() == ranks_sum(size)
    group = [torch.full((3,), rank + 1), torch.full((2, 2), float(rank + 1))]
    assert hvd.grouped_allreduce_(group, op=hvd.Sum)[0] is group[0]
    assert group[0].tolist() == [ranks_sum(size)] * 3 and group[1][0, 0].item() == ranks_sum(size)
    hvd.broadcast_(tensor.fill_(rank), size - 1)
    assert tensor[0].item() == size - 1


@case
def gathers_put_rows_of_different_number_in_order_of_rank(rank, size):
    for dtype in FLOATS + INTEGERS + (torch.bool,):
        rows = hvd.allgather(torch.full((rank, 2), rank).to(dtype))
        assert rows.dtype == dtype and rows.shape == (size * (size - 1) // 2, 2), (dtype, rows.shape)
        expected = [each for each in range(size) for _ in range(each)]
        assert torch.equal(rows[:, 0], torch.tensor(expected).to(dtype))
    first, second = hvd.grouped_allgather([torch.tensor([rank]), torch.zeros(rank, 3)], name="two")
    assert first.tolist() == list(range(size)) and second.shape == (size * (size - 1) // 2, 3)


@case
def an_alltoall_sends_each_rank_its_rows(rank, size):
    own = torch.arange(size).repeat_interleave(rank + 1)
    rows, received = hvd.alltoall(own, splits=torch.tensor([rank + 1] * size, dtype=torch.int32))
    assert rows.tolist() == [rank] * ranks_sum(size) and received.tolist() == list(range(1, size + 1))
    assert hvd.alltoall(torch.arange(size)).tolist() == [rank] * size


@case
def a_reducescatter_leaves_each_rank_its_share(rank, size):
    own = torch.arange(2 * size + 1).float().reshape(-1, 1) * (rank + 1)
    part = hvd.reducescatter(own, op=hvd.Sum)
    assert part.shape[0] == 2 + (rank == 0)
    assert torch.equal(hvd.allgather(part), torch.arange(2 * size + 1).float().reshape(-1, 1) * ranks_sum(size))
    parts = hvd.grouped_reducescatter([own, own.double()], op=hvd.Sum)
    assert torch.equal(parts[0], part) and parts[1].dtype == torch.float64


@case
def gradients_pass_through_every_collective(rank, size):
    def gradient(call, *shape):
        tensor = torch.ones(*shape, requires_grad=True)
        call(tensor).sum().backward()
        return tensor.grad

    assert torch.all(gradient(lambda t: hvd.allreduce(t, op=hvd.Sum), 3) == size)
    assert torch.all(gradient(hvd.allreduce, 3) == 1)
    assert torch.all(gradient(lambda t: sum(hvd.grouped_allreduce([t, 2 * t], op=hvd.Sum)), 2) == 3 * size)
    assert torch.all(gradient(hvd.allgather, rank + 1, 2) == 1)
    assert torch.all(gradient(lambda t: hvd.grouped_allgather([t])[0], rank + 1, 2) == 1)
    assert torch.all(gradient(lambda t: hvd.broadcast(t, 0), 2) == (1 if rank == 0 else 0))
    assert torch.all(gradient(hvd.alltoall, size, 2) == 1)
    assert torch.all(gradient(lambda t: hvd.reducescatter(t, op=hvd.Sum), size + 1, 2) == size)
    assert torch.all(gradient(lambda t: hvd.grouped_reducescatter([t])[0], size + 1, 2) == 1)


def network():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def train(model, optimizer, inputs, targets, passes=1):
    for _ in range(4):
        optimizer.zero_grad()
        for x, y in zip(inputs.chunk(passes), targets.chunk(passes)):
            (torch.nn.functional.mse_loss(model(x), y) / passes).backward()
        optimizer.step()
    return torch.cat([each.detach().flatten() for each in model.parameters()])


@case
def an_optimizer_makes_the_steps_of_one_rank_with_the_whole_batch(rank, size):
    generator = torch.Generator().manual_seed(11)
    inputs = torch.randn(size * 6, 4, generator=generator)
    targets = torch.randn(size * 6, 2, generator=generator)
    own = slice(rank * 6, rank * 6 + 6)
    model = network()
    expected = train(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), inputs, targets)
    variants = (
        {},
        {"groups": 2},
        {"backward_passes_per_step": 2},
        {"gradient_predivide_factor": 2.0},
        {"compression": hvd.Compression.bf16},
        {"groups": "lists"},
    )
    for options in variants:
        model = network()
        if options.get("groups") == "lists":
            options = {"groups": [list(model[0].parameters())]}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), **options)
        passes = options.get("backward_passes_per_step", 1)
        result = train(model, optimizer, inputs[own], targets[own], passes)
        tolerance = 0.02 if "compression" in options else 1e-5
        assert torch.allclose(result, expected, atol=tolerance), options
        assert torch.equal(hvd.broadcast(result, 0), result)


@case
def an_optimizer_with_adasum_keeps_the_ranks_alike(rank, size):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters(), op=hvd.Adasum)
    result = train(model, optimizer, torch.randn(4, 4), torch.randn(4, 2))
    assert torch.equal(hvd.broadcast(result, 0), result)


@case
def sparse_gradients_are_reduced(rank, size):
    for sparse_as_dense in (False, True):
        torch.manual_seed(3)
        model = torch.nn.Embedding(10, 2, sparse=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        before = model.weight.detach().clone()
        optimizer = hvd.DistributedOptimizer(
            optimizer, model.named_parameters(), op=hvd.Sum, sparse_as_dense=sparse_as_dense
        )
        model(torch.tensor([rank])).sum().backward()
        optimizer.step()
        change = before - model.weight.detach()
        expected = torch.zeros(10, 2)
        expected[:size] = 1
        assert torch.allclose(change, expected), change


@case
def wrong_use_of_an_optimizer_is_named(rank, size):
    model = network()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    raises(ValueError, "names twice: a", hvd.DistributedOptimizer, sgd, [("a", each) for each in model.parameters()])
    raises(ValueError, "lacks 4 parameters", hvd.DistributedOptimizer, sgd, [("a", torch.ones(1))])
    raises(ValueError, "groups is -1", hvd.DistributedOptimizer, sgd, groups=-1)
    raises(ValueError, "backward_passes_per_step is 0", hvd.DistributedOptimizer, sgd, backward_passes_per_step=0)
    raises(
        ValueError, "op is not Average", hvd.DistributedOptimizer, sgd, op=hvd.Sum, gradient_predivide_factor=2.0
    )
    if size > 1:
        optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters())
        model(torch.ones(1, 4)).sum().backward()
        raises(AssertionError, "zero_grad() was called", optimizer.zero_grad)
        raises(AssertionError, "more than backward_passes_per_step", model(torch.ones(1, 4)).sum().backward)
        optimizer.step()


@case
def parameters_and_an_optimizers_state_become_those_of_the_root(rank, size):
    torch.manual_seed(rank)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 * (rank + 1), weight_decay=0.5)
    weight = hvd.broadcast(model.weight.detach(), 0)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    assert torch.equal(model.weight, weight)
    assert optimizer.param_groups[0]["lr"] == 0.1 and len(optimizer.state) == 2
    raises(ValueError, "params is a int", hvd.broadcast_parameters, 3, 0)
    lbfgs = torch.optim.LBFGS(model.parameters())
    raises(ValueError, "LBFGS", hvd.broadcast_optimizer_state, lbfgs, 0)


@case
def objects_travel(rank, size):
    assert hvd.broadcast_object({"rank": rank}, size - 1) == {"rank": size - 1}
    assert hvd.allgather_object("x" * rank) == ["x" * each for each in range(size)]


@case
def batch_normalization_sees_the_batches_of_all_ranks(rank, size):
    generator = torch.Generator().manual_seed(5)
    whole = torch.randn(3 * size, 2, 4, generator=generator, dtype=torch.float64)
    reference, ours = torch.nn.BatchNorm1d(2).double(), hvd.SyncBatchNorm(2).double()
    expected = whole.clone().requires_grad_()
    (reference(expected) ** 3).sum().backward()
    own = whole[3 * rank : 3 * rank + 3].clone().requires_grad_()
    (ours(own) ** 3).sum().backward()
    assert torch.allclose(own.grad, expected.grad[3 * rank : 3 * rank + 3])
    assert torch.allclose(ours.running_var, reference.running_var)
    assert torch.allclose(ours.running_mean, reference.running_mean)


@case
def process_sets_work_beside_the_world(rank, size):
    if size == 1:
        raises(ValueError, "", hvd.add_process_set, [0])
        return
    evens = hvd.add_process_set(range(0, size, 2))
    if evens.included():
        total = hvd.allreduce(torch.tensor([rank + 1]), op=hvd.Sum, process_set=evens, name="same")
        assert total.item() == sum(range(1, size + 1, 2))
        assert evens.size() == (size + 1) // 2 and evens.rank() == rank // 2
    else:
        raises(ValueError, "process set", hvd.allreduce, torch.ones(1), process_set=evens)
    raises(ValueError, "", hvd.add_process_set, range(0, size, 2))
    hvd.barrier()
    assert hvd.remove_process_set(evens) and not hvd.remove_process_set(evens)
    raises(ValueError, "not in use", hvd.allreduce, torch.ones(1), process_set=evens)
    assert not hvd.remove_process_set(hvd.global_process_set)


@case
def ranks_without_data_join(rank, size):
    if rank > 0:
        hvd.allreduce(torch.ones(2), name="more data", op=hvd.Sum)
    last = hvd.join()
    assert 0 <= last < size and hvd.allgather_object(last) == [last] * size


@case
def a_disagreement_names_ranks_and_the_world_goes_on(rank, size):
    if size > 1:
        error = raises(
            hvd.HorovodInternalError, "rank", hvd.allreduce, torch.ones(2 + (rank == 0)), name="differs"
        )
        assert error.status == -9 and "differs" in str(error)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum, name="differs").item() == size


@case
def bad_tensors_are_refused_by_name(rank, size):
    raises(ValueError, "tensor 'w': Tensor is required to be contiguous", hvd.allreduce, torch.ones(2, 3).t(), name="w")
    raises(ValueError, "tensor.contiguous()", hvd.allgather, torch.ones(2, 3).t())
    raises(hvd.HorovodInternalError, "op is Max", hvd.reducescatter, torch.ones(size), op=hvd.Max)
    raises(ValueError, "not supported", hvd.allreduce, torch.ones(1, dtype=torch.complex64))
    raises(ValueError, "not supported", hvd.allreduce, torch.ones(1, 1).to_sparse())
    raises(ValueError, "device meta", hvd.allreduce, torch.empty(1, device="meta"))
    raises(TypeError, "not list", hvd.allreduce_async, [1.0])
    raises(ValueError, "tensors is empty", hvd.grouped_allreduce, [])
    raises(ValueError, "prescale_factor is 0", hvd.allreduce, torch.ones(1), prescale_factor=0)
    raises(ValueError, "root", hvd.broadcast, torch.ones(1), size)
    raises(ValueError, "scalar", hvd.allgather, torch.tensor(1.0))
    raises(ValueError, "splits", hvd.alltoall, torch.ones(1), splits=torch.ones(1, 1))
    raises(ValueError, "average", hvd.allreduce, torch.ones(1), average=True, op=hvd.Sum)
    inner = torch.ones(1, requires_grad=True) * 2
    raises(ValueError, "in place", hvd.allreduce_, inner)
    leaf = torch.full((1,), float(rank), requires_grad=True)
    assert hvd.broadcast_(leaf, 0) is leaf and leaf.item() == 0
    raises(TypeError, "object", hn.allreduce, np.array([None]))
    raises(TypeError, ">f4", hn.allreduce, np.ones(1, ">f4"))
    raises(TypeError, "not int", hn.allreduce, 3)
    raises(ValueError, "contiguous", hn.allreduce, np.ones((2, 3)).T)
    fixed = np.ones(1)
    fixed.flags.writeable = False
    raises(ValueError, "read-only", hn.allreduce_, fixed)
    assert hn.allreduce(fixed).item() == 1


@case
def scalars_empty_tensors_and_many_dimensions_pass(rank, size):
    assert hvd.allreduce(torch.tensor(2.0)).item() == 2.0
    assert hvd.allreduce(torch.empty(0, 3)).shape == (0, 3)
    assert hvd.allgather(torch.empty(0, 3)).shape == (0, 3)
    assert hvd.broadcast(torch.empty(0), 0).numel() == 0
    assert hvd.allreduce(torch.ones([1] * 11 + [2]), op=hvd.Sum).flatten().tolist() == [size] * 2


@case
def arrays_buffers_and_dlpack_are_used_where_they_lie(rank, size):
    for dtype in ("u1", "i1", "u2", "i2", "i4", "i8", "f2", "f4", "f8"):
        array = np.arange(5).astype(dtype) * (rank + 1)
        assert np.array_equal(hn.allreduce(array, op=hn.Sum), np.arange(5).astype(dtype) * ranks_sum(size))
        assert hn.allreduce_(array, op=hn.Sum) is array and array[1] == ranks_sum(size)
    raw = bytearray([1, 2])
    hn.allreduce_(raw, op=hn.Sum)
    assert list(raw) == [size, 2 * size]
    tensor = torch.full((2,), rank + 1, dtype=torch.bfloat16)
    hn.allreduce_(tensor, op=hn.Sum)
    assert tensor.tolist() == [ranks_sum(size)] * 2
    assert hn.allgather(np.array([rank == 0])).tolist() == [each == 0 for each in range(size)]
    assert hn.broadcast(np.full(3, rank), size - 1).tolist() == [size - 1] * 3
    assert hn.alltoall(np.arange(size)).tolist() == [rank] * size
    assert hn.reducescatter(np.ones((size, 2)), op=hn.Sum).tolist() == [[size, size]]
    assert [each.tolist() for each in hn.grouped_allreduce([np.ones(1), np.ones(2)])] == [[1], [1, 1]]


class DLPack:
    """The memory of a float32 array through DLPack 1.0, with its flags."""

    def __init__(self, array, flags=0, major=1):
        class Tensor(ctypes.Structure):
            _fields_ = [
                ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_number", ctypes.c_int32),
                ("ndims", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("dims", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64),
            ]  # fmt: skip

        class Managed(ctypes.Structure):
            _fields_ = [
                ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor),
            ]  # fmt: skip

        self.array, self.dims = array, (ctypes.c_int64 * 1)(array.size)
        tensor = Tensor(array.ctypes.data, 1, 0, 1, 2, 32, 1, ctypes.addressof(self.dims), None, 0)
        self.managed = Managed(major, 0, None, None, flags, tensor)

    def __dlpack__(self, max_version=None):
        assert max_version == (1, 0)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.managed), b"dltensor_versioned", None)


@case
def dlpack_says_what_is_read_only(rank, size):
    array = np.ones(3, dtype=np.float32)
    hn.allreduce_(DLPack(array), op=hn.Sum)
    assert array.tolist() == [size] * 3
    fixed = DLPack(array, flags=1)
    raises(ValueError, "read-only", hn.allreduce_, fixed)
    assert hn.allreduce(fixed, op=hn.Max).tolist() == [size] * 3
    raises(TypeError, "version 2 of DLPack", hn.allreduce, DLPack(array, major=2))


@case
def a_dropped_tensor_lives_until_its_collective_is_done(rank, size):
    if rank == 0:
        for index in range(20):
            hvd.allreduce_async_(torch.ones(100000), name=f"dropped {index}")
        gc.collect()
        scratch = [torch.full((100000,), 7.0) for _ in range(20)]
        assert all(each[0].item() == 7.0 for each in scratch)
    hvd.barrier()
    if rank > 0:
        for index in range(20):
            total = hvd.allreduce(torch.ones(100000), name=f"dropped {index}", op=hvd.Average)
            assert torch.all(total == 1)
    hvd.barrier()


@case
def handles_are_polled_waited_for_once_and_named(rank, size):
    handle = hvd.allreduce_async(torch.ones(3), name="handle", op=hvd.Sum)
    raises(ValueError, "in flight already", hvd.allreduce_async, torch.ones(3), name="handle")
    assert hvd.poll(handle) in (True, False) and hvd.synchronize(handle).tolist() == [size] * 3
    assert hvd.synchronize(handle) is None and handle.keep is None
    raises(ValueError, "waited for already", hvd.poll, handle)
    handle = hvd.allreduce_async(torch.ones(3), name="handle", op=hvd.Sum)
    raises(ValueError, "in flight already", hvd.allreduce, torch.ones(3), name="handle")
    hvd.synchronize(handle)


@case
def names_have_any_text_without_a_nul(rank, size):
    assert hvd.allreduce(torch.ones(1), name="größe 'a'", op=hvd.Sum).item() == size
    raises(ValueError, "the name 'allreduce.a\\x00b' has a NUL in it", hvd.allreduce, torch.ones(1), name="a\0b")
    raises(ValueError, "NUL", hvd.grouped_allreduce, [torch.ones(1)], name="\0")


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        assert not hvd.is_initialized()
        return torch.tensor([float(index)])


@case
def workers_of_a_data_loader_are_forked_and_work(rank, size):
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2)
    for batch in loader:
        hvd.allreduce(batch)
    assert batch.flatten().tolist() == [4.0, 5.0, 6.0, 7.0]


class OfCuda(torch.Tensor):
    """What PyTorch without CUDA cannot make."""

    is_cuda = property(lambda self: True)
    device = property(lambda self: torch.device("cuda", 0))


@case
def a_tensor_of_cuda_without_a_driver_is_refused_by_name(rank, size):
    if ctypes.util.find_library("cuda"):
        return
    tensor = torch.ones(3).as_subclass(OfCuda)
    raises(ValueError, "tensor 'far' on device cuda:0: open cuda device: ", hvd.allreduce_, tensor, name="far")
    raises(ValueError, "no driver: libcuda.so.1: ", hvd.broadcast_, tensor, 0)


@case
def a_world_is_left_and_taken_up_again(rank, size):
    hvd.shutdown()
    hvd.shutdown()
    assert not hvd.is_initialized()
    raises(ValueError, "hvd.shutdown() has been called", hvd.rank)
    raises(hvd.HorovodInternalError, "hvd.shutdown() has been called", hvd.allreduce, torch.ones(1))
    hvd.init()
    assert (hvd.rank(), hvd.size()) == (rank, size)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size
    assert hvd.epoch() == 1


def main():
    warnings.simplefilter("error", ResourceWarning)
    raises(ValueError, "hvd.init() has not been called", hvd.rank)
    raises(ValueError, "comm", hvd.init, comm=3)
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    failed = 0
    for function in CASES:
        why = ""
        try:
            function(rank, size)
        except Exception:
            why = traceback.format_exc()
            print(f"rank {rank}: {function.__name__}\n{why}", file=sys.stderr, flush=True)
        outcome = hn.allgather_object(why == "", name=f"outcome.{function.__name__}")
        failed += not all(outcome)
        if rank == 0:
            sentence = function.__name__.replace("_", " ")
            print(("ok " if all(outcome) else "not ok ") + sentence, flush=True)
    sys.exit(1 if failed else 0)


main()
