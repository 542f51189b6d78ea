#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What holds over shared memory, which the other tests use between ranks of one host, holds over every other way and with
# every algorithm: right results, and the same ends.
. "$srcdir/tests/tap.sh"

# Whole worlds in unit tests. Those that take long, or count allocations, have one way.
worlds="average_metrics blocking agreement device_reduce engine_ends engine_threads object optimizer optimizer_adasum
    optimizer_end state world_leave world_mistakes"
[ "$SANITIZERS" = no ] || worlds='blocking engine_ends engine_threads optimizer world_leave'

passes() {
    "$(find "$builddir/tests/unit" -name "$1_test" -type f ! -path '*/.libs/*')" >"$tmp/out" 2>"$tmp/err" && not grep -q '^not ok' "$tmp/out"
}

for HVD_TRANSPORT in tcp unix; do
    export HVD_TRANSPORT
    for world in $worlds; do
        ok "$world over $HVD_TRANSPORT" passes "$world"
    done
done
unset HVD_TRANSPORT

ways='tcp unix shm'
[ "$SANITIZERS" = no ] || ways='tcp shm'
for HVD_ALGORITHM in ring direct recursive-doubling halving-doubling tree two-level; do
    export HVD_ALGORITHM
    for world in blocking engine_threads optimizer; do
        ok "$world by $HVD_ALGORITHM" passes "$world"
    done
    for transport in $ways; do
        for job in '-np 2' '-np 6 -H localhost:3,127.0.0.2:1,127.0.0.3:2'; do
            # shellcheck disable=SC2086  # a list of words
            run env HVD_TRANSPORT=$transport "$HVDRUN" $job "$WORLD" init collectives shutdown
            is "$job over $transport by $HVD_ALGORITHM: every operation, type and count" 0 "$status"
        done
    done
done

finish
