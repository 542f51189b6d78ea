#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvd.run() and horovod.run(): a function on ranks that hvdrun starts, its results and its failures.
. "$srcdir/tests/tap.sh"

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ -e "$STAGE$PYDIR/hvd/_hvd.abi3.so" ] || skip_all "configured without Python"
"$PYTHON" -c 'import cloudpickle, numpy' 2>/dev/null || skip_all "no cloudpickle or NumPy"

export PYTHONPATH="$STAGE$PYDIR" PYTHONDONTWRITEBYTECODE=1
# call EXPRESSION: what hvd.run() returns or raises, in one line.
call() {
    cat >"$tmp/call.py" <<.
import os
import hvd
from hvd import run

HVDRUN = "$HVDRUN"


def ranks(base, factor=1):
    import hvd.numpy as hvd
    import numpy

    hvd.init()
    total = hvd.allreduce(numpy.full(2, float(hvd.rank())), op=hvd.Sum)
    return base + factor * hvd.rank(), hvd.size(), total.tolist()


def one_fails():
    import hvd.numpy as hvd
    import numpy

    hvd.init()
    if hvd.rank() == 1:
        raise KeyError("what is missing")
    hvd.allreduce(numpy.zeros(2))


class Unpicklable(Exception):
    def __init__(self):
        super().__init__("stays here")
        self.lock = __import__("threading").Lock()


def cannot_travel():
    raise Unpicklable()


class Stubborn:
    def __reduce__(self):
        return (refuse, (os.getpid(),))


def refuse(pid):
    raise RuntimeError("not here")


def captured(function):
    import io
    import sys

    stream, sys.stdout = sys.stdout, io.StringIO()
    try:
        result = function()
        return [sys.stdout.getvalue(), result]
    finally:
        sys.stdout = stream


try:
    print("returned", $1)
except BaseException as error:
    print("raised", type(error).__name__, repr(error.__cause__), str(error).replace("\n", " | "))
.
    run "$PYTHON" "$tmp/call.py"
    grep -E '^(returned|raised)' "$tmp/out" >"$tmp/line"
}

call 'run(ranks, (10,), {"factor": 2}, np=3, hvdrun=HVDRUN)'
is "the results come in order of rank" \
    "returned [(10, 3, [3.0, 3.0]), (12, 3, [3.0, 3.0]), (14, 3, [3.0, 3.0])]" "$(cat "$tmp/line")"
call 'len(run(lambda: b"x" * 5_000_000, np=2, hvdrun=HVDRUN)[1])'
is "a result may be larger than one value of the store" "returned 5000000" "$(cat "$tmp/line")"
call 'run(lambda: bytes(270 << 20), np=1, hvdrun=HVDRUN)'
like "results that are too large together are named" \
    '^raised RuntimeError StoreFullError.*result.0 of 28311[0-9]* bytes does not fit: .* 256 MiB together' "$tmp/line"
call 'run(ranks, (bytes(270 << 20),), np=1, hvdrun=HVDRUN)'
like "so are arguments" '^raised StoreFullError .*function of 28311[0-9]* bytes does not fit' "$tmp/line"
call 'run(one_fails, np=3, hvdrun=HVDRUN)'
like "an exception of one rank is raised with its traceback and its rank" \
    "^raised RuntimeError KeyError\('what is missing'\) hvd.run: rank 1 raised: .*Traceback .*KeyError: 'what is missing'" \
    "$tmp/line"
like "and hvdrun names the rank" '^hvdrun: FAILED rank 1 on localhost .*: exited with status 1' "$tmp/err"
call 'run(cannot_travel, np=1, hvdrun=HVDRUN)'
like "an exception that cannot be pickled leaves its traceback" '^raised RuntimeError None .*Unpicklable: stays here' \
    "$tmp/line"
call 'run(lambda: os.kill(os.getpid(), 9), np=2, hvdrun=HVDRUN)'
like "a rank that is killed ends the call with hvdrun's status" \
    '^raised RuntimeError None hvd.run: hvdrun ended with exit status 137; its last line says why' "$tmp/line"
call 'run(lambda: os._exit(3), np=1, hvdrun=HVDRUN)'
like "so does one that ends without a result" '^raised RuntimeError None hvd.run: hvdrun ended with exit status 3;' "$tmp/line"
call 'run(lambda: os._exit(0) if os.environ["HOROVOD_RANK"] == "1" else 5, np=2, hvdrun=HVDRUN)'
is "a rank that exits with 0 and without a result is named" \
    "raised RuntimeError None hvd.run: rank 1 has ended without a result" "$(cat "$tmp/line")"
call 'run(lambda: Stubborn(), np=2, hvdrun=HVDRUN)'
is "a result that cannot be unpickled is the exception of that" "raised RuntimeError None not here" "$(cat "$tmp/line")"
call 'captured(lambda: run(lambda: print("to", "nobody"), np=1, hvdrun=HVDRUN))'
is "output goes to a stream without a file" "returned ['[0]<stdout>:to nobody\\n', [None]]" "$(cat "$tmp/line")"
call 'run(lambda: __import__("sys").exit(0), np=1, hvdrun=HVDRUN)'
is "a function that exits with 0 has no result" "returned [None]" "$(cat "$tmp/line")"
call 'run(ranks, (0,), np=2, hosts="localhost:1", hvdrun=HVDRUN)'
like "what hvdrun refuses is its exit status" '^raised RuntimeError None hvd.run: hvdrun ended with exit status 2;' "$tmp/line"
call 'run(ranks, np=0)'
is "no rank is a ValueError" "raised ValueError None np=0 must be at least 1" "$(cat "$tmp/line")"
call 'run(ranks, np=1, hosts="a:1", hostfile="f")'
is "so are two lists of hosts" "raised ValueError None hosts and hostfile exclude each other" "$(cat "$tmp/line")"
call 'run(ranks, hvdrun="/no/such")'
like "a missing hvdrun is a FileNotFoundError" '^raised FileNotFoundError None .*/no/such' "$tmp/line"

PYTHONPATH=$STAGE$PKGDATADIR/compat:$PYTHONPATH
PATH=${HVDRUN%/*}:$PATH
call '__import__("horovod").run(ranks, (1,), num_proc=2)'
is "horovod.run() takes Horovod's arguments" "returned [(1, 2, [1.0, 1.0]), (2, 2, [1.0, 1.0])]" "$(cat "$tmp/line")"
call '__import__("horovod").run(ranks, (1,), num_proc=2, use_mpi=True)'
like "and refuses those that mean something else" '^raised ValueError None horovod.run: use_mpi=True: ' "$tmp/line"
ok "nothing is left of all these" no_survivors
finish
