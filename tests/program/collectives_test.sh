#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every collective of libhvd inside jobs of hvdrun, against plain loops: types, operations, counts, shapes, orders,
# process sets, errors and joins, on 1 to 5 ranks and on 8; and more elements than fit in 32 bits.
. "$srcdir/tests/tap.sh"

# check SENTENCE NP WHAT COMMAND...: every rank of the job must end well and say that WHAT is.
check() {
    sentence=$1 np=$2 what=$3
    shift 3
    run "$HVDRUN" -np "$np" "$@"
    is "$sentence" "0, $np" "$status, $(grep -c "^\[[0-9]*\]<stdout>:ok $what\$" "$tmp/out")"
}

seed=${COLLECTIVES_SEED:-$(date +%s)}
echo "# COLLECTIVES_SEED=$seed"

sizes='1 2 3 4 5' integers='uint8 int8 uint16 int16 int32 int64 bool' floating='float16 bfloat16 float32 float64'
settings='HOROVOD_FUSION_THRESHOLD=0 HOROVOD_CACHE_CAPACITY=0 HOROVOD_CACHE_CAPACITY=8 HOROVOD_CYCLE_TIME=2
    HOROVOD_DISABLE_GROUP_FUSION=1'
case $SANITIZERS in
thread) # which is ten times as slow; no type has a thread of its own
    sizes=3 integers=int32 floating=float16
    skip "3 ranks: the other types" "built with $SANITIZERS: nothing of it is about threads"
    ;;
address*) sizes='2 5' settings='HOROVOD_FUSION_THRESHOLD=0 HOROVOD_CACHE_CAPACITY=8' ;;
esac
for np in $sizes; do
    # shellcheck disable=SC2086 # words
    {
        check "$np ranks: integers" "$np" matrix "$COLLECTIVES" matrix $integers
        check "$np ranks: floating point" "$np" matrix "$COLLECTIVES" matrix $floating
    }
    check "$np ranks: factors" "$np" scales "$COLLECTIVES" scales
    check "$np ranks: shapes, splits and shares" "$np" shapes "$COLLECTIVES" shapes
    check "$np ranks: any order, several threads, 10 000 tensors" "$np" order "$COLLECTIVES" order $((seed + np))
    check "$np ranks: process sets" "$np" sets "$COLLECTIVES" sets
    check "$np ranks: errors, and the world goes on" "$np" errors "$COLLECTIVES" errors
    check "$np ranks: joins" "$np" join "$COLLECTIVES" join
done

if [ "$SANITIZERS" = thread ]; then
    finish
    exit
fi

# On three hosts, as far as the library can tell
for what in matrix scales shapes order sets errors join; do
    check "8 ranks: $what" 8 "$what" -H localhost:3,127.0.0.2:4,127.0.0.3:1 "$COLLECTIVES" "$what"
done

# In little memory, and in seconds; but not where each access is looked at.
huge() {
    if [ "$SANITIZERS" != no ]; then
        skip "$1" "built with $SANITIZERS"
    else
        check "$1" 2 huge env HVD_TRANSPORT="$2" HVD_ALGORITHM="$3" "$COLLECTIVES" huge "$4"
    fi
}
huge 'F97: 2^31 + 1 elements in shared memory' shm direct 31
huge 'F97: 2^31 + 1 elements over TCP' tcp ring 31
huge 'F97: 2^32 + 1 elements in shared memory' shm ring 32

# What is tuned does not change results.
for setting in $settings; do
    for what in order shapes; do
        check "3 ranks with $setting: $what" 3 "$what" env "$setting" "$COLLECTIVES" "$what"
    done
done
finish
