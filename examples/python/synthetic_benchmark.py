# SPDX-License-Identifier: Apache-2.0
"""How fast a known network is trained on these machines: the benchmark that Horovod's users quote, without images.

    hvdrun -np 2 python3 synthetic_benchmark.py --model resnet50 --batch-size 8
    hvdrun -np 2 python3 synthetic_benchmark.py --sleep 107        as beside a GPU that takes so many ms for a batch

Options and the first lines of the output are those of Horovod's pytorch_synthetic_benchmark.py. Four more times follow,
of a batch: a step with everything; a step that reduces nothing, measured on all ranks at once before the optimizer is
distributed; the reductions alone, all gradients at once; and what the first is shorter than the other two together,
which is the part of the communication that is hidden behind the backward pass.

You learn: how the hooks of DistributedOptimizer overlap communication and computing, and what that is worth
(--no-overlap reduces after the backward pass instead).
"""
import argparse
import statistics
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import torch
import torch.nn.functional as F
from models import MODELS, Sleeping
from support import COUNT, RATE, Options, are_identical, finish, number, save_checkpoint, say, share_processors

import hvd.torch as hvd


def check(options: argparse.Namespace) -> Optional[str]:
    if options.use_adasum and options.groups:
        return "--use-adasum and --groups exclude each other"
    if options.use_adasum and options.no_overlap:
        return "--use-adasum and --no-overlap exclude each other: Adasum reduces after the step in any case"
    return None


def parse_options() -> argparse.Namespace:
    parser = Options(hvd, "Trains a network on no images, alone or under hvdrun, and tells how fast it goes.")
    add = parser.add_argument
    add("--model", choices=list(MODELS), default="resnet50", help="the network (resnet50)")
    add("--batch-size", metavar="N", type=COUNT, default=32, help="images of each rank in a batch (32)")
    add("--num-warmup-batches", metavar="N", type=number(int, 0, 1e6), default=10, help="which do not count (10)")
    add("--num-batches-per-iter", metavar="N", type=COUNT, default=10, help="for each number that is averaged (10)")
    add("--num-iters", metavar="N", type=COUNT, default=10, help="how many of these (10)")
    add("--fp16-allreduce", action="store_true", help="gradients travel as float16")
    add("--use-adasum", action="store_true", help="combine what the ranks' updates change by Adasum")
    add("--no-cuda", action="store_true", help="train on the processor although there is a GPU")
    add("--image-size", metavar="N", type=number(int, 32, 1024), default=224, help="height and width of images (224)")
    add("--groups", metavar="N", type=COUNT, help="reduce the gradients in so many groups (each alone)")
    add("--no-overlap", action="store_true", help="reduce when all gradients are ready")
    add("--sleep", metavar="MS", type=number(float, 0, 1e6), help="sleep so long for a batch instead of computing")
    add("--learning-rate", metavar="X", type=RATE, help="of SGD (0.01 x the number of ranks; with Adasum 0.01)")
    add("--float64", action="store_true", help="compute in float64, to compare results")
    return parser.parse(check)


class Benchmark:
    """The model, its batch, and three kinds of steps."""

    def __init__(self, options: argparse.Namespace, device: torch.device) -> None:
        self.options, self.device = options, device
        self.op = hvd.Adasum if options.use_adasum else hvd.Average
        self.compression = hvd.Compression.fp16 if options.fp16_allreduce else hvd.Compression.none
        torch.manual_seed(options.seed)
        self.model = MODELS[options.model]().to(device)
        if options.sleep is not None:
            self.model = Sleeping(self.model, options.sleep / 1e3)
        self.rate = options.learning_rate or 0.01 * (1 if options.use_adasum else hvd.size())
        self.optimizer: Any = torch.optim.SGD(self.model.parameters(), lr=self.rate)
        self._make_batch()

    def _make_batch(self) -> None:
        """Each image of all ranks' batches has a seed of its own, so that it is the same however they are split."""
        images, labels = [], []
        for index in range(hvd.rank() * self.options.batch_size, (hvd.rank() + 1) * self.options.batch_size):
            generator = torch.Generator().manual_seed(self.options.seed + index)
            images.append(torch.rand(3, self.options.image_size, self.options.image_size, generator=generator))
            labels.append(int(torch.randint(1000, (), generator=generator)))
        self.images = torch.stack(images).to(self.device)
        self.labels = torch.tensor(labels).to(self.device)

    def distribute(self) -> None:
        """From here on gradients are reduced by hooks while the backward pass goes on."""
        if not self.options.no_overlap:
            self.optimizer = hvd.DistributedOptimizer(
                self.optimizer,
                named_parameters=self.model.named_parameters(),
                compression=self.compression,
                op=self.op,
                groups=self.options.groups,
            )
        hvd.broadcast_parameters(self.model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(self.optimizer, root_rank=0)

    def _set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def compute(self) -> None:
        self.optimizer.zero_grad()
        output = self.model(self.images)
        loss = F.cross_entropy(output, self.labels) if self.options.sleep is None else output.sum()
        loss.backward()

    def reduce(self) -> None:
        """All gradients at once, the last layer's first: what the hooks submit one by one."""
        handles = []
        for name, parameter in reversed(list(self.model.named_parameters())):
            gradient, context = self.compression.compress(parameter.grad)
            handle = hvd.allreduce_async_(gradient, name=f"all.{name}", op=self.op)
            handles.append((parameter, handle, context))
        for parameter, handle, context in handles:
            parameter.grad = self.compression.decompress(hvd.synchronize(handle), context)

    def step_alone(self) -> None:
        """A step that reduces nothing; with a learning rate of 0 it changes no parameter, for the same work."""
        self._set_rate(0.0)
        self.compute()
        self.optimizer.step()
        self._set_rate(self.rate)

    def step(self) -> None:
        self.compute()
        if self.options.no_overlap:
            self.reduce()
        self.optimizer.step()

    def seconds_each(self, step: Callable[[], None], count: int) -> float:
        """The time of a step, averaged over `count` steps that all ranks begin together."""
        hvd.barrier()
        start = time.perf_counter()
        for _ in range(count):
            step()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return (time.perf_counter() - start) / count


def average(seconds: float, name: str) -> float:
    """Of all ranks."""
    return hvd.allreduce(torch.tensor(seconds, dtype=torch.float64), name=name).item()


def choose_device(options: argparse.Namespace) -> torch.device:
    """A GPU of this rank's own where there is one."""
    if options.no_cuda or not torch.cuda.is_available():
        return torch.device("cpu")
    device = torch.device("cuda", hvd.local_rank() % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


class Times(NamedTuple):
    """Seconds of a batch, averaged over all ranks."""

    alone: float
    steps: List[float]  # one for each iteration
    communication: float


def measure(benchmark: Benchmark, kind: str) -> Times:
    options = benchmark.options
    batches, warmup = options.num_batches_per_iter, options.num_warmup_batches
    say(hvd, options, "Running warmup...")
    if warmup > 0:
        benchmark.seconds_each(benchmark.step_alone, warmup)
    alone = average(benchmark.seconds_each(benchmark.step_alone, batches), "alone")
    benchmark.distribute()
    if warmup > 0:
        benchmark.seconds_each(benchmark.step, warmup)

    say(hvd, options, "Running benchmark...")
    steps: List[float] = []
    for iteration in range(options.num_iters):
        steps.append(average(benchmark.seconds_each(benchmark.step, batches), "step"))
        say(hvd, options, f"Iter #{iteration}: {options.batch_size / steps[-1]:.1f} img/sec per {kind}")
    benchmark.reduce()
    communication = average(benchmark.seconds_each(benchmark.reduce, batches), "communication")
    return Times(alone, steps, communication)


def report(options: argparse.Namespace, times: Times, kind: str) -> Dict[str, Any]:
    """Print the summary; returns what the result line has of it."""
    size = hvd.size()
    rates = [options.batch_size / each for each in times.steps]
    rate, margin = statistics.fmean(rates), 1.96 * statistics.pstdev(rates)
    say(hvd, options, f"Img/sec per {kind}: {rate:.1f} +-{margin:.1f}")
    say(hvd, options, f"Total img/sec on {size} {kind}(s): {size * rate:.1f} +-{size * margin:.1f}")

    step, alone, communication = statistics.fmean(times.steps), times.alone, times.communication
    hidden = min(communication, max(0.0, alone + communication - step)) if size > 1 else 0.0
    part = hidden / communication
    say(hvd, options, f"Step: {1e3 * step:.1f} ms")
    say(hvd, options, f"Compute and update alone: {1e3 * alone:.1f} ms")
    say(hvd, options, f"Communication alone: {1e3 * communication:.1f} ms")
    say(hvd, options, f"Hidden by overlap: {1e3 * hidden:.1f} ms, {100 * part:.0f} % of the communication")
    say(hvd, options, f"Scaling efficiency: {100 * alone / step:.1f} % of a rank that reduces nothing")
    return {"images_per_s": f"{size * rate:.1f}", "efficiency": f"{alone / step:.4f}", "hidden": f"{part:.4f}"}


def main() -> None:
    hvd.init()
    options = parse_options()
    share_processors(hvd)
    if options.float64:
        torch.set_default_dtype(torch.float64)
    device = choose_device(options)
    kind = "GPU" if device.type == "cuda" else "CPU"
    benchmark = Benchmark(options, device)
    gradients = list(benchmark.model.parameters())
    megabytes = sum(each.numel() * each.element_size() for each in gradients) / 1e6
    say(hvd, options, f"Model: {options.model}")
    say(hvd, options, f"Batch size: {options.batch_size}")
    say(hvd, options, f"Number of {kind}s: {hvd.size()}")
    say(hvd, options, f"Gradients: {len(gradients)} tensors, {megabytes:.1f} MB")
    if options.sleep is not None:
        say(hvd, options, f"Compute: sleeps {options.sleep:.1f} ms for each batch")

    times = measure(benchmark, kind)
    result = report(options, times, kind)
    save_checkpoint(hvd, options.checkpoint, {"model": benchmark.model.state_dict()})
    finish(hvd, are_identical(hvd, benchmark.model), ranks=hvd.size(), model=options.model, **result)


if __name__ == "__main__":
    main()
