# SPDX-License-Identifier: Apache-2.0
"""The sentences of tests/program/python_cuda_test.sh: tensors of CUDA in hvd.torch, on the stand-in for the driver.

    hvdrun -np 2 python3 cuda_cases.py        prints "ok SENTENCE" or "not ok SENTENCE" for each case

PyTorch may be one without CUDA. GpuTensor stands for a tensor of CUDA: PyTorch knows its shape and type, and its
elements lie in memory of the stand-in's GPU, which the processor cannot touch. Streams and events are the stand-in's.
"""
import ctypes
import math
import sys
import traceback

import torch

import hvd.numpy as hn
import hvd.torch as hvd

hvdlib = ctypes.CDLL("libhvd.so.0")
cuda = ctypes.CDLL("libcuda.so.1")
CASES = []


def case(function):
    CASES.append(function)
    return function


def check(result, call):
    if result != 0:
        raise AssertionError(f"{call}: {result}")


def raises(kind, text, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind as error:
        assert text in str(error), f"another text: {error}"
        return
    raise AssertionError(f"{call.__name__} raised nothing")


class Gpu:
    """A GPU of the stand-in with a stream, and memory by the calls of hvd_cuda.h."""

    def __init__(self, ordinal):
        number, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        check(hvdlib.hvd_cuda_open(ordinal, ctypes.byref(number)), "hvd_cuda_open")
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), ordinal), "cuDevicePrimaryCtxRetain")
        check(cuda.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
        check(cuda.cuStreamCreate(ctypes.byref(stream), 1), "cuStreamCreate")
        self.number, self.stream, self.ordinal, self.recorded = number.value, stream, ordinal, 0

    def alloc(self, nbytes):
        memory = ctypes.c_void_p()
        check(hvdlib.hvd_cuda_alloc(self.number, ctypes.c_size_t(nbytes), ctypes.byref(memory)), "hvd_cuda_alloc")
        return memory.value

    def copy(self, to, source, nbytes):
        check(
            hvdlib.hvd_cuda_copy(self.number, ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(nbytes)),
            "hvd_cuda_copy",
        )

    def copy_on_stream(self, to, source, nbytes):
        check(
            cuda.cuMemcpyAsync(ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(nbytes), self.stream),
            "cuMemcpyAsync",
        )

    def record_event(self):
        """As torch.cuda.Stream has it."""
        event = ctypes.c_void_p()
        check(cuda.cuEventCreate(ctypes.byref(event), 2), "cuEventCreate")
        check(cuda.cuEventRecord(event, self.stream), "cuEventRecord")
        self.recorded += 1
        return GpuEvent(event)


class GpuEvent:
    """As torch.cuda.Event has it."""

    def __init__(self, event):
        self.event, self.cuda_event = event, event.value

    def __del__(self):
        cuda.cuEventDestroy_v2(self.event)


GPUS = {}


class GpuTensor(torch.Tensor):
    @staticmethod
    def make(shape, dtype, ordinal):
        tensor = torch.Tensor._make_subclass(GpuTensor, torch.empty(shape, dtype=dtype))
        tensor.ordinal, tensor.nbytes_there = ordinal, math.prod(shape) * tensor.element_size()
        tensor.address = GPUS[ordinal].alloc(max(tensor.nbytes_there, 1))
        return tensor

    @staticmethod
    def of(values, ordinal=None):
        ordinal = hvd.local_rank() if ordinal is None else ordinal
        tensor = GpuTensor.make(tuple(values.shape), values.dtype, ordinal)
        GPUS[ordinal].copy(tensor.address, values.data_ptr(), tensor.nbytes_there)
        return tensor

    is_cuda = property(lambda self: True)
    device = property(lambda self: torch.device("cuda", self.ordinal))

    def data_ptr(self):
        return self.address

    def values(self):
        host = torch.empty(tuple(self.shape), dtype=self.dtype)
        GPUS[self.ordinal].copy(host.data_ptr(), self.address, self.nbytes_there)
        return host

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunction():
            own = next(each for each in args if isinstance(each, GpuTensor))
            if function is torch.empty_like:
                return cls.make(tuple(own.shape), own.dtype, own.ordinal)
            if function is torch.Tensor.new_empty:
                return cls.make(tuple(args[1]), own.dtype, own.ordinal)
            if function is torch.Tensor.detach:
                return own
            if function is torch.Tensor.clone:
                return cls.of(own.values(), own.ordinal)
            return function(*args, **(kwargs or {}))


# ---- the sentences ----


@case
def an_allreduce_gives_a_tensor_of_the_same_gpu(rank, size):
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8):
        values = torch.arange(6).reshape(2, 3).to(dtype)
        tensor = GpuTensor.of(values * (rank + 1))
        total = hvd.allreduce(tensor, op=hvd.Sum)
        assert isinstance(total, GpuTensor) and total.device == tensor.device and total.dtype == dtype
        assert torch.equal(total.values(), values * 3) and torch.equal(tensor.values(), values * (rank + 1))


@case
def calls_in_place_write_where_the_tensor_lies(rank, size):
    tensor = GpuTensor.of(torch.full((1000,), float(rank + 1)))
    assert hvd.allreduce_(tensor, op=hvd.Sum, name="in_place") is tensor
    assert tensor.values().tolist() == [3.0] * 1000
    hvd.synchronize(hvd.allreduce_async_(tensor, op=hvd.Average, name="later", prescale_factor=2.0))
    assert tensor.values()[7].item() == 6.0
    assert hvd.broadcast_(GpuTensor.of(torch.tensor([rank])), 1).values().tolist() == [1]


@case
def a_group_may_lie_on_both_sides(rank, size):
    group = [GpuTensor.of(torch.full((3,), rank + 1)), torch.full((2,), rank + 1.0), GpuTensor.of(torch.ones(2, 2))]
    sums = hvd.grouped_allreduce(group, op=hvd.Sum)
    assert sums[0].values().tolist() == [3, 3, 3] and sums[1].tolist() == [3.0, 3.0]
    assert sums[2].values().tolist() == [[2.0, 2.0], [2.0, 2.0]]


@case
def shares_of_a_reducescatter_and_what_a_broadcast_makes_are_there_too(rank, size):
    rows = GpuTensor.of(torch.arange(6.0).reshape(3, 2) * (rank + 1))
    share = hvd.reducescatter(rows, op=hvd.Sum)
    assert share.values().tolist() == ([[0.0, 3.0], [6.0, 9.0]] if rank == 0 else [[12.0, 15.0]])
    both = hvd.grouped_reducescatter([rows, rows], op=hvd.Sum)
    assert both[1].values().tolist() == share.values().tolist()
    copied = hvd.broadcast(rows, 1)
    assert copied.values()[0].tolist() == [0.0, 2.0] and rows.values()[0, 1].item() == rank + 1


@case
def the_work_of_the_current_stream_comes_first(rank, size):
    late = torch.full((100,), 5.0)
    tensor = GpuTensor.of(torch.zeros(100))
    cuda.stand_in_hold(True)
    GPUS[rank].copy_on_stream(tensor.address, late.data_ptr(), tensor.nbytes_there)
    handle = hvd.allreduce_async_(tensor, op=hvd.Sum, name="ordered")
    assert not handle.poll()
    cuda.stand_in_hold(False)
    hvd.synchronize(handle)
    assert tensor.values().tolist() == [10.0] * 100


@case
def gradients_of_an_optimizer_pass_where_they_lie(rank, size):
    before = GPUS[rank].recorded
    gradients = [GpuTensor.of(torch.full((n,), float(rank))) for n in (3, 5)]
    handles = [hvd.allreduce_async_(each, name=f"gradient.{i}") for i, each in enumerate(gradients)]
    for handle in handles:
        hvd.synchronize(handle)
    assert [each.values()[0].item() for each in gradients] == [0.5, 0.5]
    assert GPUS[rank].recorded == before + 2


@case
def a_tensor_without_elements_is_nothing(rank, size):
    assert hvd.allreduce(GpuTensor.of(torch.empty(0, 4)), op=hvd.Sum).shape == (0, 4)


@case
def a_gpu_that_cannot_be_opened_is_named_with_the_tensor(rank, size):
    tensor = GpuTensor.of(torch.ones(2))
    tensor.ordinal = 7
    raises(
        ValueError,
        "tensor 'lost' on device cuda:7: open cuda device: there is no GPU 7, the driver shows 2",
        hvd.allreduce_,
        tensor,
        name="lost",
    )
    assert hvd.allreduce(GpuTensor.of(torch.ones(2)), op=hvd.Sum).values().tolist() == [2.0, 2.0]


def main():
    hvd.init()
    rank, size = hvd.rank(), hvd.size()
    GPUS[rank] = Gpu(rank)
    torch.cuda.current_stream = lambda device: GPUS[device.index]
    failed = 0
    for function in CASES:
        right = True
        try:
            function(rank, size)
        except Exception:
            right = False
            print(f"rank {rank}: {function.__name__}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        outcome = hn.allgather_object(right, name=f"outcome.{function.__name__}")
        failed += not all(outcome)
        if rank == 0:
            print(("ok " if all(outcome) else "not ok ") + function.__name__.replace("_", " "), flush=True)
    sys.exit(1 if failed else 0)


main()
