# SPDX-License-Identifier: Apache-2.0
"""What fashion_mnist.py, fashion_elastic.py and ddp.py share: the images, and the convolutional network that learns to tell them apart.

Fails when a file is missing, damaged or shorter than it says: read_images() returns a problem that names the file.
"""
import gzip
import zlib
from types import ModuleType
from typing import List, NamedTuple, Optional, Tuple

import torch

DIRECTORY = "/usr/share/datasets/fashion-mnist"  # where Debian's dataset-fashion-mnist has it
SIDE, CLASSES = 28, 10


class Images(NamedTuple):
    """Pixels are bytes of the shape (count, 1, 28, 28); labels are int64 of the shape (count,), from 0 to 9."""

    pixels: torch.Tensor
    labels: torch.Tensor

    def batch(self, indices: List[int]) -> Tuple[torch.Tensor, torch.Tensor]:
        """The images as the network wants them, from 0 to 1, and their labels."""
        return self.pixels[indices].to(torch.get_default_dtype()) / 255, self.labels[indices]


def _read_idx(path: str, shape: Tuple[int, ...], limit: Optional[int]) -> torch.Tensor:
    """The first `limit` items of an IDX file of bytes: a magic number, the length of each dimension, the items."""
    with gzip.open(path) as file:
        head = file.read(4 * (2 + len(shape)))
        magic, count, *lengths = (int.from_bytes(head[i : i + 4], "big") for i in range(0, len(head), 4))
        if magic != 0x801 + len(shape) or tuple(lengths) != shape:
            raise ValueError(f"not an IDX file of items of the shape {shape}")
        if limit is not None and limit > count:
            raise ValueError(f"{count} items, expected at least {limit}")
        count = count if limit is None else limit
        item = torch.Size(shape).numel()
        content = file.read(count * item)
    if len(content) < count * item:
        raise ValueError(f"ends after {len(content)} of {count * item} bytes")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).reshape(count, *shape)


def read_images(directory: str, kind: str, limit: Optional[int]) -> Tuple[Optional[Images], Optional[str]]:
    """The first `limit` images (None: all) of "train" or "t10k"; or None, and what is wrong with which file."""
    path = ""
    try:
        path = f"{directory}/{kind}-images-idx3-ubyte.gz"
        pixels = _read_idx(path, (SIDE, SIDE), limit).unsqueeze(1)
        path = f"{directory}/{kind}-labels-idx1-ubyte.gz"
        labels = _read_idx(path, (), len(pixels)).long()
    except OSError as error:
        return None, f"{path}: {error.strerror or error}"
    except (EOFError, ValueError, zlib.error) as error:
        return None, f"{path}: {error}"
    return Images(pixels, labels), None


def make_network(dropout: bool) -> torch.nn.Module:
    """Two convolutions, two dense layers: 1.2 million parameters. Without dropout a batch has one result."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, kernel_size=3),
        nn.ReLU(),
        nn.Conv2d(32, 64, kernel_size=3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25 if dropout else 0.0),
        nn.Flatten(),
        nn.Linear(64 * 12 * 12, 128),
        nn.ReLU(),
        nn.Dropout(0.5 if dropout else 0.0),
        nn.Linear(128, CLASSES),
    )


def count_recognised(model: torch.nn.Module, images: Images, indices: range) -> int:
    """How many of these images the model recognises."""
    recognised = 0
    model.eval()
    with torch.no_grad():
        for start in range(0, len(indices), 256):
            pixels, labels = images.batch(list(indices[start : start + 256]))
            recognised += int((model(pixels).argmax(dim=1) == labels).sum())
    model.train()
    return recognised


def share_recognised(hvd: ModuleType, model: torch.nn.Module, images: Images) -> float:
    """The share of the images that the model recognises. Each rank looks at its part of them. Every rank calls this."""
    mine = count_recognised(model, images, range(hvd.rank(), len(images.labels), hvd.size()))
    recognised = hvd.allreduce(torch.tensor(mine), op=hvd.Sum, name="recognised")
    return recognised.item() / len(images.labels)
