#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks of one host share memory, with nothing that has a name; where the kernel refuses that they use a unix socket, or TCP,
# and say so. HVD_TRANSPORT chooses, or insists.
. "$srcdir/tests/tap.sh"
export HOROVOD_LOG_HIDE_TIME=1

for way in auto shm unix tcp; do
    for size in 2 4; do
        run env HVD_TRANSPORT=$way HOROVOD_LOG_LEVEL=info "$HVDRUN" -np $size "$WORLD" init collectives shutdown
        is "$way, $size ranks: right results" 0 "$status"
        unlike "and nothing to say about it" 'no shared memory|no unix socket' "$tmp/err"
    done
done
run "$HVDRUN" -np 2 env HVD_TRANSPORT=rdma "$WORLD" init
is "what is none is an error" 1 "$status"
like "which names it" "HVD_TRANSPORT: 'rdma' is not auto, shm, unix or tcp" "$tmp/err"

# ---- what it leaves ----

ranks_of_job() {
    for _p in $(survivors | cut -d/ -f3); do
        [ "$(cat "/proc/$_p/comm" 2>/dev/null)" != world ] || echo "$_p"
    done
}

# The names of unix sockets of ours that these processes have.
sockets_of() {
    for _p in "$@"; do
        readlink "/proc/$_p"/fd/* 2>/dev/null
    done | sed -n 's/^socket:\[\(.*\)\]/\1/p' >"$tmp/inodes"
    awk 'NR == FNR { mine[$1] = 1; next } $7 in mine && $8 ~ /^@hvd-/ { print $8 }' "$tmp/inodes" /proc/net/unix | sort -u
}

# hold WAY: two ranks that stay until $tmp/end is there.
hold() {
    rm -f "$tmp/end"
    start env HVD_TRANSPORT="$1" "$HVDRUN" -np 2 "$WORLD" init barriers 3 print up wait "$tmp/end" shutdown
    until_true eval '[ "$(grep -c up "$tmp/out")" = 2 ]'
    # shellcheck disable=SC2046
    set -- $(ranks_of_job)
    sockets_of "$@" >"$tmp/names"
    for _p in "$@"; do
        cat "/proc/$_p/maps"
        readlink "/proc/$_p"/fd/*
    done >"$tmp/maps" 2>/dev/null
}

release() {
    touch "$tmp/end"
    status=0
    wait "$pid" || status=$?
}

gone() {
    ! grep -qF -f "$1" /proc/net/unix
}

hold shm
is "each of two ranks has a unix socket" 2 "$(wc -l <"$tmp/names")"
like "and memory that is shared" 'rw-s .*/memfd:hvd' "$tmp/maps"
unlike "which has no name" '/dev/shm' "$tmp/maps"
release
is "which ends well" 0 "$status"
ok "and nothing is left of the sockets" gone "$tmp/names"

hold shm
# shellcheck disable=SC2046
kill -KILL $(ranks_of_job)
wait "$pid" 2>/dev/null
ok "not even after a crash" until_true gone "$tmp/names"

hold tcp
is "over TCP there is none" 0 "$(wc -l <"$tmp/names")"
release

# ---- what may be refused ----

"$REFUSE" memfd -- true 2>/dev/null || { skip "a kernel that refuses" "no seccomp"; finish; exit; }

# refused WORDS COMMAND...: a job of two ranks whose calls are refused.
job_without() {
    _words=$1
    shift
    # shellcheck disable=SC2086
    run "$@" HOROVOD_LOG_LEVEL=info "$HVDRUN" -np 2 "$REFUSE" $_words -- "$WORLD" init collectives shutdown
}

job_without memfd env
is "without shared memory the results are right" 0 "$status"
is "each rank says once that there is none" 2 "$(grep -c 'no shared memory' "$tmp/err")"
like "and why" '^\[0\]<stderr>:\[I\] \[0\]: rank 0 on localhost: no shared memory with rank 1: create shared memory: Operation not permitted; using unix$' "$tmp/err"
like "on either side" '\[1\]: rank 1 on localhost: no shared memory with rank 0: it cannot create any; using unix$' "$tmp/err"
run "$HVDRUN" -np 2 "$REFUSE" memfd -- "$WORLD" init collectives shutdown
is "by default nothing is said" '0 ' "$status $(cat "$tmp/err")"

job_without memfd env HVD_TRANSPORT=shm
is "who insists on it gets an error" 1 "$status"
like "which says whom it concerns, and why" \
    'HVD_TRANSPORT is shm: no shared memory with rank [01] on localhost: (create shared memory: Operation not permitted|it cannot create any)$' \
    "$tmp/err"

job_without unix env
is "without unix sockets the results are right" 0 "$status"
like "over TCP" 'no shared memory with rank [01]: .*; using tcp$' "$tmp/err"

job_without readv env HVD_TRANSPORT=shm
is "shared memory does not need to look into other processes" 0 "$status"

run env HOROVOD_LOG_LEVEL=info "$HVDRUN" -np 4 sh -c \
    '[ $HOROVOD_RANK = 2 ] && exec "$0" memfd -- "$@"; exec "$@"' "$REFUSE" "$WORLD" init collectives shutdown
is "one of four ranks without it" 0 "$status"
like "is left out" 'no shared memory with rank 2: .*; using unix$' "$tmp/err"

run "$HVDRUN" -np 4 sh -c 'case $HOROVOD_RANK in 1) t=tcp ;; 2) t=unix ;; *) t=auto ;; esac; HVD_TRANSPORT=$t exec "$@"' \
    sh "$WORLD" init collectives shutdown
is "ranks of one host that want different things" 0 "$status"

# Several streams between hosts
run env HVD_STREAMS=3 "$HVDRUN" -np 3 -H localhost:2,127.0.0.2:1 "$WORLD" init collectives shutdown
is "data between hosts goes over several connections" 0 "$status"
run "$HVDRUN" -np 2 -H localhost:1,127.0.0.2:1 sh -c 'HVD_STREAMS=$((HOROVOD_RANK + 1)) exec "$@"' sh "$WORLD" init shutdown
is "ranks that do not agree on how many" 1 "$status"
like "are told so" 'HVD_STREAMS is 1 on rank 0 and 2 on rank 1' "$tmp/err"

# A filter that no test here has: a limit on files, below the size of the memory that is shared.
run "$HVDRUN" -np 2 sh -c 'ulimit -f 8; exec "$@"' sh "$WORLD" init collectives shutdown
is "a limit on the size of files ends nobody" 0 "$status"
run env HVD_TRANSPORT=shm "$HVDRUN" -np 2 sh -c 'ulimit -v 200000; exec "$@"' sh "$WORLD" init barriers 10 shutdown
[ "$SANITIZERS" != no ] && skip "nor does one on memory" "built with $SANITIZERS" || is "nor does one on memory" 0 "$status"
finish
