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

# The same over TCP that is encrypted.
worlds='agreement blocking engine_threads optimizer'
[ "$SANITIZERS" = no ] || worlds=blocking
export HVD_TRANSPORT=tcp HVD_ENCRYPT=require
for world in $worlds; do
    ok "$world over encrypted links" passes "$world"
done
run "$HVDRUN" -np 6 -H localhost:3,127.0.0.2:1,127.0.0.3:2 "$WORLD" init collectives shutdown
is "six ranks over encrypted links: every operation, type and count" 0 "$status"
unset HVD_TRANSPORT HVD_ENCRYPT
run "$HVDRUN" --encrypt auto -np 2 -H localhost,127.0.0.2 --log-level info "$WORLD" init collectives shutdown
is "links between hosts are encrypted on demand" 0 "$status"
like "... which the log says" 'rank 1 encrypts links with [A-Z]' "$tmp/err"
# shellcheck disable=SC2016  # a rank's own variables
run "$HVDRUN" --encrypt require -np 2 -H localhost,127.0.0.2 sh -c '[ "$HOROVOD_RANK" = 0 ] || export HVD_ENCRYPT=off; "$0" init' "$WORLD"
is "a rank that has turned encryption off, which another requires, ends the job" 1 "$status"
like "... and one line names both" '^hvdrun: FAILED.*HVD_ENCRYPT is require on rank 0 and off on rank 1' "$tmp/err"

ways='tcp unix shm' worlds='blocking engine_threads optimizer' jobs='2 6'
[ "$SANITIZERS" = no ] || ways='tcp shm' worlds=blocking jobs=6
for HVD_ALGORITHM in ring direct recursive-doubling halving-doubling tree two-level linear; do
    export HVD_ALGORITHM
    for world in $worlds; do
        ok "$world by $HVD_ALGORITHM" passes "$world"
    done
    for transport in $ways; do
        for np in $jobs; do
            [ "$transport$np" != unix2 ] || continue
            hosts=localhost:2
            [ "$np" = 2 ] || hosts=localhost:3,127.0.0.2:1,127.0.0.3:2
            run env HVD_TRANSPORT="$transport" "$HVDRUN" -np "$np" -H "$hosts" "$WORLD" init collectives shutdown
            is "$np ranks over $transport by $HVD_ALGORITHM: every operation, type and count" 0 "$status"
        done
    done
done

finish
