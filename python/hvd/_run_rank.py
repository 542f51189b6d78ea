# SPDX-License-Identifier: Apache-2.0
"""A rank of hvd.run(): calls the function and stores its result. hvdrun starts it as `python -m hvd._run_rank`.

If the function raises, the traceback goes to standard error, and the first rank that fails stores it as well. The rank
waits a few seconds until the caller of hvd.run() has read it, because the job ends with the rank.
"""
import os
import pickle
import sys
import traceback

import cloudpickle

from . import _world
from ._store import RUN_SCOPE, Store

READ_S = 5


def _dump_error(error: BaseException) -> bytes:
    try:
        pickled = cloudpickle.dumps(error)
        pickle.loads(pickled)
    except Exception:  # an exception that cannot travel: its traceback does
        pickled = b""
    return pickle.dumps((int(os.environ["HOROVOD_RANK"]), traceback.format_exc(), pickled))


def _fail(store: Store, error: BaseException) -> int:
    traceback.print_exc()
    if store.count("failures") == 1:
        store.put("error", _dump_error(error))
        store.get("error_read", READ_S)
    return 1


def main() -> int:
    rank = os.environ["HOROVOD_RANK"]
    store = Store(os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]), RUN_SCOPE)
    pickled = store.get("function")
    if pickled is None:
        print("hvd.run: the function has not arrived", file=sys.stderr)
        return 1
    try:
        path, call = pickle.loads(pickled)
        sys.path.extend(name for name in path if name not in sys.path)  # modules beside the caller's script
        function, args, kwargs = pickle.loads(call)
        try:
            result = function(*args, **kwargs)
        except SystemExit as error:
            if error.code not in (None, 0):
                raise
            result = None
        # In an elastic job rank and size are those of the last world.
        rank, size = _world.last_place or (rank, os.environ["HOROVOD_SIZE"])
        store.put(f"result.{rank}", pickle.dumps((int(size), cloudpickle.dumps(result))))
    except BaseException as error:
        return _fail(store, error)
    while store.get("results_read") is None:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
