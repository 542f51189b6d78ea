#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each algorithm forced gives the right results, on one host and on two, as far as the library can tell; what is no
# algorithm is refused.
. "$srcdir/tests/tap.sh"

# check SENTENCE NP COMMAND...: every rank of the job must end well and say that the matrix is.
check() {
    sentence=$1 np=$2
    shift 2
    run "$HVDRUN" -np "$np" "$@"
    is "$sentence" "0, $np" "$status, $(grep -c "^\[[0-9]*\]<stdout>:ok matrix\$" "$tmp/out")"
}

sizes='2 3 4 5'
[ "$SANITIZERS" = no ] || sizes='3 4'
for algorithm in ring direct recursive-doubling halving-doubling tree two-level linear; do
    for np in $sizes; do
        check "$algorithm, $np ranks" "$np" env HVD_ALGORITHM=$algorithm "$COLLECTIVES" matrix int8
    done
done

# Large vectors, too, with an average, which is divided once
for algorithm in halving-doubling two-level; do
    for hosts in localhost:2,127.0.0.2:2 localhost:3,127.0.0.2:1; do
        check "$algorithm, ranks on $hosts" 4 -H "$hosts" env HVD_ALGORITHM=$algorithm "$COLLECTIVES" matrix float32
    done
done

# algorithm_of TRANSPORT PROCESSORS: that of an allreduce of 1 MiB by three ranks, by the timeline.
algorithm_of() {
    rm -f "$tmp"/timeline*
    # shellcheck disable=SC2016  # a rank's own arguments
    run env HVD_TRANSPORT="$1" HOROVOD_TIMELINE="$tmp/timeline" "$HVDRUN" -np 3 \
        sh -c 'HVD_PROCESSORS=$1 exec "$0" -b 1M -e 1M -n 1 -q' "$HVD_BANDWIDTH" "$2"
    cat "$tmp"/timeline* 2>/dev/null | grep -o '"[A-Z_]*_ALLREDUCE"' | grep -v NEGOTIATE | sort -u
}
is "three ranks on two processors use the ring over TCP" '"RING_ALLREDUCE"' "$(algorithm_of tcp 2)"
is "... and none over shared memory" '"DIRECT_ALLREDUCE"' "$(algorithm_of shm 2)"

for name in Ring best 'ring,tree'; do
    run "$HVDRUN" -np 1 env HVD_ALGORITHM="$name" "$COLLECTIVES" matrix float32
    is "$name is refused in one line" "1" "$(grep -c "^\[0\]<stderr>:.*HVD_ALGORITHM: .$name. is not ring, direct" "$tmp/err")"
done
finish
