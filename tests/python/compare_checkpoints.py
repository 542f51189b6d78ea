# SPDX-License-Identifier: Apache-2.0
"""Compares the models in checkpoints of examples/python.

    python3 compare_checkpoints.py <ROWS

Of each row "TOLERANCE A B" it prints "same A B: D" or "other A B: D"; D is the largest difference of two parameters.
"""
import sys

import torch


def difference(a, b):
    a, b = (torch.load(path)["model"] for path in (a, b))
    assert list(a) == list(b), "the models have other parameters"
    return max((a[name].double() - b[name].double()).abs().max().item() for name in a)


for row in sys.stdin:
    tolerance, *paths = row.split()
    largest = difference(*paths)
    print("same" if largest <= float(tolerance) else "other", *paths, f": {largest:.2g}")
