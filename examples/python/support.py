# SPDX-License-Identifier: Apache-2.0
"""What the examples share: options that all ranks agree on, errors that are told once, the result line.

A mistake on the command line is one line on standard error, printed by rank 0, and status 2 on all ranks. The same
holds, with status 1, for files that cannot be read or written, on whichever rank. The functions get the module `hvd` of
their caller, which is hvd.torch or horovod.torch.
"""
import argparse
import hashlib
import os
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Optional

import torch


def end_if(hvd: ModuleType, status: int, problem: Optional[str]) -> None:
    """End all ranks with this status if one of them has a problem, which rank 0 prints. Every rank calls this."""
    problems = [each for each in hvd.allgather_object(problem) if each is not None]
    if not problems:
        return
    if hvd.rank() == 0:
        print(f"{os.path.basename(sys.argv[0])}: {problems[0]}", file=sys.stderr, flush=True)
    hvd.barrier()  # hvdrun stops the other ranks when one ends badly: not before the line is printed
    sys.exit(status)


def number(kind: Callable[[str], Any], least: float, most: float) -> Callable[[str], Any]:
    """A type for argparse: an int or a float in these bounds."""

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            what = "an integer" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"expected {what} from {least:g} to {most:g}, not {text!r}")
        return value

    return parse


COUNT = number(int, 1, 1_000_000_000)
RATE = number(float, 0, 1000)
SEED = number(int, 0, 2**31 - 1)


class _Mistake(Exception):
    pass


class Options(argparse.ArgumentParser):
    """argparse for several ranks: --help is printed once, and ranks with other options are a mistake."""

    def __init__(self, hvd: ModuleType, description: str) -> None:
        super().__init__(description=description, allow_abbrev=False)
        self._hvd = hvd
        self.add_argument("--seed", metavar="N", type=SEED, default=42, help="of all random numbers (42)")
        self.add_argument("--quiet", action="store_true", help="print the result line only")
        self.add_argument("--checkpoint", metavar="FILE", help="rank 0 writes the model there when it is trained")

    def error(self, message: str) -> None:  # argparse would print two lines on every rank
        raise _Mistake(message)

    def print_help(self, file: Any = None) -> None:
        if self._hvd.rank() == 0:
            super().print_help(file)

    def parse(self, check: Callable[[argparse.Namespace], Optional[str]] = lambda options: None) -> argparse.Namespace:
        """The options. `check` returns what is wrong with them, if they do not fit each other or the ranks."""
        options, mistake = argparse.Namespace(), None
        try:
            options = self.parse_args()
            mistake = check(options)
        except _Mistake as error:
            mistake = str(error)
        end_if(self._hvd, 2, mistake)
        first = self._hvd.broadcast_object(vars(options), 0)
        differing = [name for name, value in vars(options).items() if value != first[name]]
        flag = differing[0].replace("_", "-") if differing else None
        end_if(self._hvd, 2, flag and f"--{flag} is not the same on all ranks")
        return options


def share_processors(hvd: ModuleType) -> None:
    """Give each rank of this host an equal part of its processors, unless OMP_NUM_THREADS says how many."""
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // hvd.local_size()))


def save_checkpoint(hvd: ModuleType, path: Optional[str], content: Dict[str, Any]) -> None:
    """Rank 0 writes it, whole or not at all. Does nothing without a path. Every rank calls this."""
    problem = None
    if path is not None and hvd.rank() == 0:
        try:
            torch.save(content, path + ".new")
            os.replace(path + ".new", path)
        except (OSError, RuntimeError) as error:  # PyTorch reports a folder that is missing as a RuntimeError
            problem = f"{path}: the checkpoint cannot be written: {str(error).splitlines()[0]}"
    end_if(hvd, 1, problem)


def are_identical(hvd: ModuleType, model: torch.nn.Module) -> bool:
    """Whether all ranks have the same parameters to the bit."""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return len(set(hvd.allgather_object(digest.hexdigest()))) == 1


def say(hvd: ModuleType, options: argparse.Namespace, line: str) -> None:
    """A line on standard output, from rank 0, at once."""
    if hvd.rank() == 0 and not options.quiet:
        print(line, flush=True)


def finish(hvd: ModuleType, identical: Optional[bool] = None, **values: Any) -> None:
    """Print the result line and end the program: status 1 if the ranks' parameters differ. None: they may differ."""
    if identical is not None:
        values["identical"] = "yes" if identical else "no"
    if hvd.rank() == 0:
        print("result", *(f"{name}={value}" for name, value in values.items()), flush=True)
    hvd.barrier()
    if identical is False:
        sys.exit(1)
