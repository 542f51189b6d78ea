#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks that share memory, one of which has no descriptor, or too little address space, for the memory of the others:
# what lies there is copied, and the results are right. What a rank has no room for is its own failure. A small stack will do. tests/unit/lib/link/link_shm_refusal_test.c has each case alone.
. "$srcdir/tests/tap.sh"
export HOROVOD_LOG_HIDE_TIME=1

# lacking SIZE SCRIPT [VARIABLE...]: a job whose rank 1 runs the script, which replaces itself with "$@".
lacking() {
    _size=$1 _script=$2
    shift 2
    # shellcheck disable=SC2016,SC2086
    run env "$@" "$HVDRUN" -np "$_size" sh -c '[ "$HOROVOD_RANK" = 1 ] || exec "$@"; '"$_script" sh "$WORLD" $acts
}
acts="init shared shutdown"

said='^\[1\]<stderr>:\[I\]: shared memory of a rank of this host cannot be mapped:'
copied="$said .*; what lies there is copied\$"

# ---- stack ----

# Frames of a sanitizer are larger, and the environment is on the stack, too.
if [ "$SANITIZERS" = no ]; then
    # shellcheck disable=SC2016
    run env -i PATH="$PATH" LD_LIBRARY_PATH="${LD_LIBRARY_PATH-}" sh -c 'ulimit -s 80; exec "$@"' sh "$HVDRUN" -np 2 "$WORLD" init collectives shutdown
    is "hvdrun and ranks with a stack of 80 KiB" 0 "$status"
else
    skip "hvdrun and ranks with a stack of 80 KiB" "sanitizers need more"
fi

# ---- address space ----

export REFUSE
if "$REFUSE" pools -- true 2>/dev/null; then
    for size in 2 4; do
        lacking $size 'exec "$REFUSE" pools -- "$@"' HOROVOD_LOG_LEVEL=info
        is "$size ranks, of which one cannot map the memory of the others: right results" 0 "$status"
        is "it says so once" 1 "$(grep -Ec "$copied" "$tmp/err")"
        like "and why" 'map 67108864 bytes of shared memory: Operation not permitted' "$tmp/err"
    done
    lacking 2 'exec "$REFUSE" pools readv -- "$@"' HVD_TRANSPORT=shm
    is "nor may it read that of a process: right results, and nothing is said" '0 ' "$status $(cat "$tmp/err")"
else
    skip "a kernel that refuses" "no seccomp"
fi

# Less and less, in steps of half a pool: how much a rank needs besides is not the same everywhere. Where the last that does
# not fit is something else, the job may fail, in these words. Sanitizers need more.
squeeze() {
    for limit_kib in $(seq 768000 -32000 64000); do
        lacking "$1" "ulimit -v $limit_kib; exec \"\$@\"" MALLOC_ARENA_MAX=1 HVD_THREADS=1 HOROVOD_LOG_LEVEL=info
        if [ "$status" = 0 ]; then
            ! grep -Eq "$copied" "$tmp/err" || break
        else
            grep -Eq 'no memory|out of memory|Cannot allocate memory' "$tmp/err" || break
        fi
    done
    echo "# with $limit_kib KiB"
}
if [ "$SANITIZERS" = no ]; then
    for size in 2 4; do
        squeeze $size
        is "$size ranks, of which one has too little address space for a pool: right results" 0 "$status"
        like "and it was too little" "$copied" "$tmp/err"
    done

    # What comes from another rank and does not fit is not that rank's fault, nor the connection's. (Memory that rank 0
    # shares may be mapped just then; something smaller does not fit after that.)
    for transport in shm tcp; do
        run env HVD_TRANSPORT=$transport "$HVDRUN" -np 2 "$WORLD" init swamp exit 0
        is "$transport: rows for which a rank has no memory are its own failure, on each rank" 2 \
            "$(grep -Ecx '\[[01]\]<stdout>:rank 1 on localhost: (alltoall: no memory for 268435456 bytes of output|out of memory)' "$tmp/out")"
    done
else
    skip "little address space" "built with $SANITIZERS"
fi

# ---- descriptors: enough for the links, and not one more when memory is to be mapped ----

for size in 2 4; do
    acts="init stream / only 1 full all shared only 1 room all shutdown"
    lacking $size 'ulimit -n 64; exec "$@"' HVD_ALGORITHM=ring HOROVOD_LOG_LEVEL=info
    is "$size ranks, of which one has no descriptor left: right results" 0 "$status"
    like "and it could have used one" "$said its descriptor did not come" "$tmp/err"
done
finish
