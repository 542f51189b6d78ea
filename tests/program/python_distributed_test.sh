#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch.distributed on libhvd: the backend "hvd", and the hook for DDP beside gloo.
. "$srcdir/tests/tap.sh"

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ -e "$STAGE$PYDIR/hvd/_hvd.abi3.so" ] || skip_all "configured without Python"
"$PYTHON" -c 'import torch.distributed' 2>/dev/null || skip_all "no PyTorch"

export PYTHONPATH="$STAGE$PYDIR" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
# cases BACKEND: one sentence for each case, which all three ranks must have passed.
# MASTER_PORT is of this test alone: the kernel may give one that hvdrun finds free to another process before rank 0 listens.
cases() {
    run env MASTER_ADDR=127.0.0.1 MASTER_PORT=$((19100 + $$ % 6000 * 2 + ${jobs_run:-0})) \
        "$HVDRUN" --torch-env -np 3 "$PYTHON" "$srcdir/tests/python/distributed_cases.py" "$1"
    is "$1: every case passes" 0 "$status"
    sed -n 's/^\[[0-2]\]<stdout>:ok //p' "$tmp/out" | sort | uniq -c | while read -r count sentence; do
        echo "$count $sentence"
    done >"$tmp/counts"
    while read -r count sentence; do
        is "$1: $sentence" 3 "$count"
    done <"$tmp/counts"
}
cases hvd
is "all of them have run" 8 "$(wc -l <"$tmp/counts")"
cases gloo
is "and this one" 1 "$(wc -l <"$tmp/counts")"
ok "nothing is left of all these" no_survivors
finish
