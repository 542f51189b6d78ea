#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random programs of collectives, some of which a rank wants otherwise than the rest: right results, or a mismatch on all ranks
# that names both sides, and no end without an answer. A few hundred; "make random" runs as many as are asked for.
. "$srcdir/tests/tap.sh"
seed=${RANDOM_SEED:-1}
echo "# RANDOM_SEED=$seed"

# programs SENTENCE COUNT OPTION...: what rank 0 has counted is printed.
programs() {
    _sentence=$1 _count=$2
    shift 2
    run "$HVDRUN" "$@" "$builddir/tests/random/random" "$seed" "$_count"
    is "$_sentence" "0 $_count" "$status $(sed -n 's/^\[0\]<stdout>:\([0-9]*\) programs, .*/\1/p' "$tmp/out")"
    sed -n 's/^\[0\]<stdout>:/# /p' "$tmp/out"
}

case ${RANDOM_COUNT-}$SANITIZERS in
no) set -- 300 ;;
thread | address*) set -- 60 ;;
*) set -- "$RANDOM_COUNT" ;;
esac
for transport in shm unix tcp; do
    programs "F90 F91 F94: random programs of 3 ranks over $transport" "$1" -np 3 -x HVD_TRANSPORT=$transport
done
programs "of 2 ranks that remember no names" "$1" -np 2 -x HOROVOD_CACHE_CAPACITY=0
programs "of 4 ranks on two hosts, as far as the library can tell" "$1" -np 4 -H localhost:2,127.0.0.2:2
finish
