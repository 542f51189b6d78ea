# SPDX-License-Identifier: Apache-2.0
"""Runs examples one after the other in each rank of a job, so that PyTorch is imported once.

    hvdrun -np N python3 run_examples.py DIRECTORY FILE       FILE has a line "SCRIPT OPTION..." for each run

Each rank prints "status STATUS: SCRIPT OPTION..." behind what a run itself prints.
"""
import os
import runpy
import shlex
import sys

import torch

directory, file = os.path.abspath(sys.argv[1]), sys.argv[2]
sys.path.insert(0, directory)
with open(file) as lines:
    commands = [line.strip() for line in lines]
for command in commands:
    script, *options = shlex.split(command)
    sys.argv = [os.path.join(directory, script), *options]
    torch.set_default_dtype(torch.float32)
    status = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = end.code or 0
    print(f"status {status}: {command}", flush=True)
