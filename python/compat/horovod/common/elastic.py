# SPDX-License-Identifier: Apache-2.0
"""Horovod's states of elastic training: they are those of hvd."""
from hvd.elastic import ObjectState, State, run

__all__ = ["ObjectState", "State", "run"]
