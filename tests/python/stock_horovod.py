# SPDX-License-Identifier: Apache-2.0
"""Runs a test file of the stock Horovod's test/parallel on the compatibility package, in one rank of a job.

    hvdrun -np 2 python3 stock_horovod.py FILE [pytest's arguments]

The tests' helpers import two modules that scripts never do; they are made here. test_process_sets_static.py imports
horovod.tensorflow for calls that horovod.torch has as well, and gets these.
"""
import os
import sys
import threading
import types
import unittest.mock

import pytest

import horovod
import horovod.torch


def in_thread(target, args=(), name=None, daemon=True, silent=False):
    thread = threading.Thread(target=target, args=args, name=name, daemon=daemon)
    thread.start()
    return thread


def add_module(name, **names):
    module = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module


sys.modules.setdefault("mock", unittest.mock)
for name in ("horovod.runner", "horovod.runner.util"):
    add_module(name)
add_module("horovod.runner.util.threads", in_thread=in_thread)

if os.path.basename(sys.argv[1]) == "test_process_sets_static.py":
    sys.modules["horovod.tensorflow"] = horovod.tensorflow = horovod.torch

os.chdir(os.path.dirname(os.path.abspath(sys.argv[1])))
sys.exit(pytest.main(["-p", "no:cacheprovider", "-q", "-rs", os.path.basename(sys.argv[1]), *sys.argv[2:]]))
