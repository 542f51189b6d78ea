#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The packages hvd and horovod as they are installed: values, gradients, optimizers, bad input (tests/python/cases.py) on one to
# three ranks; Ctrl-C, the exception of one rank, exit without shutdown, a missing libhvd.
#
#   HVD_TEST_LARGE=1          also with more than 2^31 elements, for which it needs 9 GiB of memory
#   HOROVOD_TESTS=DIRECTORY   also runs test files of the stock Horovod's test/parallel, which lie there, on 2 to 4 ranks
. "$srcdir/tests/tap.sh"

if [ -z "$PYDIR" ] || ! "$PYTHON" -c 'import numpy, torch' 2>/dev/null; then
    skip "the Python packages" "built without Python, or no numpy or torch"
    finish
    exit
fi
export PYTHONPATH="$STAGE$PYDIR" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$STAGE$LIBDIR" OMP_NUM_THREADS=1

# untag: removes hvdrun's prefixes from what the last job printed.
untag() { sed -i 's/^\[[0-9]*\]<std[a-z]*>://' "$tmp/out" "$tmp/err"; }

for np in 1 2 3; do
    run "$HVDRUN" -np $np -H localhost:$np "$PYTHON" "$srcdir/tests/python/cases.py"
    untag
    is "the cases end well on $np ranks" 0 "$status"
    grep -E '^(not )?ok ' "$tmp/out" >"$tmp/cases"
    while read -r outcome sentence; do
        ok "$np ranks: $sentence" [ "$outcome" = ok ]
    done <"$tmp/cases"
done

run "$PYTHON" -c 'import hvd.torch as hvd, torch; hvd.init(); print(hvd.size(), hvd.allreduce(torch.ones(1)))'
is "a process without hvdrun is a world of its own" "0 1 tensor([1.])" "$status $(cat "$tmp/out")"

run "$HVDRUN" -np 2 -H localhost:2 "$PYTHON" -c '
import hvd.numpy as hvd, numpy
hvd.init()
hvd.allreduce(numpy.ones(3))'
is "a program may end without shutdown" 0 "$status"

run "$HVDRUN" -np 2 -H localhost:2 "$PYTHON" -c '
import signal, sys, hvd.numpy as hvd, numpy
signal.signal(signal.SIGTERM, signal.SIG_IGN)
hvd.init()
if hvd.rank() == 1:
    raise KeyError("the cause")
try:
    hvd.allreduce(numpy.ones(3))
except hvd.HorovodInternalError as error:
    print("rank 0 has:", error, file=sys.stderr, flush=True)
    raise'
untag
like "the exception of one rank is an error on the others, which names the rank" 'rank 0 has: .*rank 1 on localhost' "$tmp/err"
like "and hvdrun names that rank" 'FAILED rank 1 ' "$tmp/err"
like "whose traceback is there" "^KeyError: 'the cause'" "$tmp/err"

run "$HVDRUN" -np 2 -H localhost:2 --stall-check-warning-time-seconds 1 --stall-check-shutdown-time-seconds 2 "$PYTHON" -c '
import os, sys, time, hvd.numpy as hvd, numpy
hvd.init()
if hvd.rank() == 0:
    try:
        hvd.allreduce(numpy.ones(3), name="late")
    except hvd.HorovodInternalError as error:
        print("rank 0 has:", error, flush=True)
    open(sys.argv[1], "w").close()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)' "$tmp/stalled"
untag
like "a collective that stalls names the rank that does not come" 'rank 0 has: .*late.* has waited 2 s for rank 1' "$tmp/out"

# The other rank submits "late" only after the interrupt, so the signals cannot come too late.
run "$HVDRUN" -np 2 -H localhost:2 env PYTHONPATH="$srcdir/tests/python:$PYTHONPATH" "$PYTHON" -c '
import interrupt, hvd.numpy as hvd, numpy
hvd.init()
if hvd.rank() == 0:
    handle = hvd.allreduce_async_(numpy.ones(3), name="late", op=hvd.Sum)
    try:
        interrupt.when_asleep()
        hvd.synchronize(handle)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    hvd.broadcast_object("go on", 0)
    assert hvd.synchronize(handle).tolist() == [2, 2, 2]
else:
    hvd.broadcast_object(None, 0)
    hvd.allreduce_(numpy.ones(3), name="late", op=hvd.Sum)
hvd.barrier()'
untag
is "a signal interrupts a wait, and the world goes on" "0 interrupted" "$status $(cat "$tmp/out")"

# A call that has no handle is abandoned: its memory and its name are in use until the other rank has come.
run "$HVDRUN" -np 2 -H localhost:2 env PYTHONPATH="$srcdir/tests/python:$PYTHONPATH" "$PYTHON" -c '
import interrupt, hvd.numpy as hvd, numpy
hvd.init()
if hvd.rank() == 0:
    interrupt.when_asleep()
    array = numpy.ones(3)
    try:
        hvd.allreduce_(array, name="late", op=hvd.Sum)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    try:
        hvd.allreduce_(array, name="late", op=hvd.Sum)
    except ValueError as error:
        assert "in flight already" in str(error), error
        print("in flight", flush=True)
    hvd.broadcast_object("go on", 0)
    hvd.barrier()
    assert array.tolist() == [2, 2, 2]
else:
    hvd.broadcast_object(None, 0)
    hvd.allreduce_(numpy.ones(3), name="late", op=hvd.Sum)
    hvd.barrier()
assert hvd.allreduce(numpy.ones(1), name="late", op=hvd.Sum).item() == 2'
untag
is "a signal interrupts a call without a handle, too" "0 interrupted in flight" "$status $(paste -sd' ' "$tmp/out")"

run "$HVDRUN" -np 2 -H localhost:2 env OPENBLAS_NUM_THREADS=1 "$PYTHON" -c '
import hvd.numpy as hvd, numpy
hvd.init()
try:
    hvd.allreduce(numpy.ones(3), name="ab"[hvd.rank()])
except hvd.HorovodInternalError as error:
    print(error, flush=True)'
untag
is "ranks that wait for each other are told" 2 "$(grep -c "deadlock: every rank waits" "$tmp/out")"

run "$HVDRUN" -np 2 -H localhost:2 "$PYTHON" -c '
import signal, sys, hvd.numpy as hvd, numpy
hvd.init()
if hvd.rank() == 1:
    hvd.shutdown()
    signal.pause()
try:
    hvd.allreduce(numpy.ones(3))
except hvd.HorovodInternalError as error:
    print("rank 0 has:", error, flush=True)
    sys.exit(3)'
untag
like "hvdrun names a rank that has called shutdown() while another one waits for it" '^hvdrun: FAILED rank 1 .* left before' "$tmp/err"
like "the other one gets an error which names that rank" 'rank 0 has: .*rank 1 ' "$tmp/out"

cat >"$tmp/spawned.py" <<'.'
import multiprocessing

import hvd


def child():
    try:
        hvd.init()
    except ValueError as error:
        print(error, flush=True)


if __name__ == "__main__":
    hvd.init()
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    process.join()
.
run "$HVDRUN" -np 1 "$PYTHON" "$tmp/spawned.py"
untag
like "a process that multiprocessing spawns is told that it is no rank" 'rank 0 has joined already. multiprocessing has started' "$tmp/out"

run "$HVDRUN" -np 1 "$PYTHON" -c 'import hvd.torch.distributed'
like "without --torch-env its variables are missed" 'RANK is not set.*hvdrun --torch-env' "$tmp/err"

if "$PYTHON" -c 'import setuptools, wheel' 2>/dev/null; then
    cp -r "$srcdir/python" "$tmp/python" && chmod -R u+w "$tmp/python"
    run sh -c 'cd "$0" && exec "$@"' "$tmp/python" env PKG_CONFIG_PATH="$STAGE$LIBDIR/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$STAGE" \
        "$PYTHON" setup.py -q bdist_wheel -d "$tmp/wheel"
    ls "$tmp/wheel" >"$tmp/out"
    like "a wheel is built for all versions of Python from 3.9" '^hvd-[0-9.]+-cp39-abi3-linux_' "$tmp/out"
    run "$PYTHON" -m zipfile -e "$(echo "$tmp/wheel"/hvd-*.whl)" "$tmp/unpacked"
    run env PYTHONPATH="$tmp/unpacked" "$PYTHON" -c '
import hvd.numpy as hvd, numpy
hvd.init()
print(hvd.allreduce(numpy.ones(1)))'
    is "whose contents work" "[1.]" "$(cat "$tmp/out")"
else
    skip "a wheel is built for all versions of Python from 3.9" "no wheel"
fi

mkdir "$tmp/alone" && cp -r "$STAGE$PYDIR/hvd" "$tmp/alone/hvd"
if ! ldconfig -p | grep -q libhvd; then
    run env -u LD_LIBRARY_PATH PYTHONPATH="$tmp/alone" "$PYTHON" -c 'import hvd'
    like "without libhvd the import says what to install" 'ImportError: hvd cannot load libhvd .*Install libhvd' "$tmp/err"
else
    skip "without libhvd the import says what to install" "libhvd is installed"
fi

compat=$STAGE$PREFIX/share/hvdrun/compat
run "$HVDRUN" -np 2 -H localhost:2 env PYTHONPATH="$compat:$PYTHONPATH" "$PYTHON" -c '
import horovod, torch, horovod.torch as hvd
from horovod.common.exceptions import HorovodInternalError
from horovod.common.util import gloo_built, split_list
from horovod.torch.mpi_ops import Sum
assert hvd.HorovodInternalError is HorovodInternalError and gloo_built() and split_list([1, 2, 3], 2) == [[1, 2], [3]]
hvd.init()
total = hvd.allreduce(torch.ones(1), op=Sum)
if hvd.rank() == 0:
    print(horovod.__version__, total.item())'
untag
is "a script of Horovod runs with the compatibility package" "0 0.28.1 2.0" "$status $(cat "$tmp/out")"
run env -u PYTHONPATH "$HVDRUN" --horovod libhvd -np 1 "$PYTHON" -c '
import horovod.torch, hvd.torch, sys
print(hvd.__path__[0], sys.path.count(sys.argv[1]))' "$STAGE$PYDIR"
untag
is "which finds hvd below its own prefix, where Python does not look" "0 $STAGE$PYDIR/hvd 0" "$status $(cat "$tmp/out")"
mkdir -p "$tmp/elsewhere/share/hvdrun" && cp -r "$compat" "$tmp/elsewhere/share/hvdrun/compat"
run env PYTHONPATH="$tmp/elsewhere/share/hvdrun/compat" "$PYTHON" -c 'import horovod'
like "and says what to do if there is no hvd" 'ImportError: horovod on libhvd needs the package hvd, .*: pip install ' "$tmp/err"
for version in 3.1 3.9999; do # of which no interpreter is
    mkdir -p "$tmp/elsewhere/lib/python$version/site-packages/hvd"
    echo 'print("of another Python")' >"$tmp/elsewhere/lib/python$version/site-packages/hvd/__init__.py"
done
run env PYTHONPATH="$tmp/elsewhere/share/hvdrun/compat" "$PYTHON" -c 'import horovod'
like "also if another Python has one" 'ImportError: horovod on libhvd needs the package hvd, .*: pip install ' "$tmp/err"
is "which is not run" "" "$(cat "$tmp/out")"
other=$tmp/elsewhere/lib/python3/dist-packages/hvd
mkdir -p "$other" && : >"$other/part.py" && printf 'from . import part\nraise ImportError("no libhvd")\n' >"$other/__init__.py"
run env PYTHONPATH="$tmp/elsewhere/share/hvdrun/compat" "$PYTHON" -c '
import sys
try:
    import horovod
except ImportError as error:
    print(error, [name for name in sys.modules if name.startswith("hvd")])'
is "an hvd that fails leaves none of its modules behind" "no libhvd []" "$(cat "$tmp/out")"
run "$PYTHON" -c 'import sys; sys.modules["numpy"] = None; import hvd'
like "so does hvd without NumPy" "^ImportError: hvd needs NumPy, which .* does not have: install it there " "$tmp/err"
for framework in tensorflow keras mxnet; do
    run env PYTHONPATH="$compat:$PYTHONPATH" "$PYTHON" -c "import horovod.$framework"
    like "horovod.$framework says what to do" "ImportError: horovod.$framework does not run on libhvd" "$tmp/err"
done

if [ -n "$HVD_TEST_LARGE" ]; then
    run "$HVDRUN" -np 2 -H localhost:2 "$PYTHON" -c '
import hvd.numpy as hvd, numpy
hvd.init()
array = numpy.ones(2**31 + 5, numpy.int8)
array[-1] = 10 * hvd.rank()
hvd.allreduce_(array, op=hvd.Sum)
assert array[:-1].min() == array[:-1].max() == 2 and array[-1] == 10
rows = hvd.allgather(array[: 2**30 + 1])
assert rows.size == 2**31 + 2 and rows.min() == rows.max() == 2'
    is "more elements than 2^31 are reduced and gathered" 0 "$status"
fi

# With 3 ranks these expect 3 times a float16 without rounding, which float16 does not have; stock Horovod does not pass
# them either. They fail on some ranks only, which the others then wait for.
impossible='not test_horovod_allreduce_prescale and not test_horovod_reducescatter_prescale'
impossible="$impossible and not test_horovod_grouped_reducescatter_prescale" # pytest 7.2 takes one line only
# stock FILE NP: a test file of the stock Horovod.
stock() {
    selection=
    [ "$1$2" != test_torch.py3 ] || selection=$impossible
    run "$HVDRUN" -np "$2" -H "localhost:$2" env PYTHONPATH="$compat:$PYTHONPATH" "$PYTHON" \
        "$srcdir/tests/python/stock_horovod.py" "$HOROVOD_TESTS/$1" -k "$selection"
    is "$1 of the stock Horovod passes on $2 ranks" 0 "$status"
}
if [ -n "$HOROVOD_TESTS" ]; then
    for np in 2 3 4; do
        for file in test_torch.py test_common.py test_timeline.py test_process_sets_static.py; do
            stock $file $np
        done
    done
fi
finish
