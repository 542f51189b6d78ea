#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs of two ranks in which a call fails: they end in time, leave nothing, and either nothing is missing or one line says why.
# This is a sample; "make shim" tries every call. With sanitizers malloc() is theirs, and not ours to fail.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/shim/jobs.sh"

case ${SANITIZERS-} in
*thread*) echo "1..0 # SKIP ThreadSanitizer comes before any library that is preloaded" && exit 0 ;;
*address*) few=4 limits='16 64' rank_limits='5 9' ;;
*) few=12 limits='16 20 24 28 32 40 48 64' rank_limits='4 5 6 7 8 9 10 11 12 14 16 20 24' ;;
esac

# holds SENTENCE KIND OPTION...
holds() {
    sentence=$1 kind=$2
    shift 2
    ok "$sentence" quiet run_job "$kind" every --bound 100 "$@"
    sed 's/^/# /' "$tmp/points" | tail -n 1
}

quiet() {
    "$@" >"$tmp/points" 2>&1 && return
    head -n 30 "$tmp/points" | sed 's/^/# /'
    return 1
}

holds "F76: one byte is moved at a time, everywhere" local --fault SHORT --k 0
elements=2000
holds "F76: one byte is moved at a time, over a network" hosts --fault SHORT --k 0
elements=
holds "F36: every other call is interrupted" local --fault EINTR --k 0
holds "F36: every other call is interrupted, on other hosts" hosts --fault EINTR --k 0
holds "every other call says that it would have to wait" hosts --fault EAGAIN --call read --call recv --call write --call send --k 0

# Twice a hundred thousand signals at the agent, which waits for its ranks' ends with one of them.
run "$folder/hvdrun" -np 2 -H localhost:2 sh -c \
    'i=0; while [ $i -lt 100000 ]; do kill -CHLD $PPID; i=$((i + 1)); done; exit 7'
is "F36: a storm of SIGCHLD loses no exit status" 7 "$status"

case ${SANITIZERS-} in
*address*) skip "F82: an allocation fails" "the sanitizer allocates" ;;
*)
    memory="--call malloc --call calloc --call realloc"
    # shellcheck disable=SC2086  # words
    for role in launcher agent rank0 rank1; do
        holds "F82: an allocation fails: $role" local --role $role $memory --sample 10
    done
    # shellcheck disable=SC2086
    holds "F82: an allocation fails: supervisor and agent" hosts --role supervisor --role agent $memory --sample 10
    ;;
esac

# runs_out SENTENCE PATTERN: the job did not start, for want of something.
runs_out() {
    is "$1: status 71" 71 "$status"
    is "$1: one line" 1 "$(grep -c '^hvdrun: ' "$tmp/err")"
    like "$1: which says what" "$2" "$tmp/err"
}

every --role agent --call fork --fault EAGAIN --k 0 --verbose "$folder/hvdrun" -np 2 -H localhost:2 "$worker" >"$tmp/err" 2>&1
ok "F83: no process can be made for the ranks" grep -q 'fork EAGAIN every: held (status 0x4700' "$tmp/err"
like "F83: host and limit are named" 'FAILED rank 0 on localhost: .*fork: .*limit on processes.*ulimit -u' "$tmp/err"

for role in launcher launcher-child agent agent-child rank0 rank1; do
    holds "a call fails: $role" local --role "$role" --sample "$few"
done
for role in launcher supervisor agent rank0 rank1; do
    holds "a call fails, with two hosts: $role" hosts --role "$role" --sample "$few"
done

holds "libuv cannot watch a descriptor, or has none for its signals" local --role launcher --role agent \
    --call epoll_ctl --call pipe --sample 8

# The limit on descriptors, of everybody in the job
for limit in $limits; do
    run sh -c 'ulimit -n $0; exec "$@"' "$limit" "$folder/hvdrun" -np 2 -H localhost:2 "$worker"
    case $status in
    0) is "F81: with $limit descriptors the job runs: all of its output" 121 "$(cat "$tmp/out" "$tmp/err" | wc -l)" ;;
    *) runs_out "F81: with $limit descriptors" 'descriptors|Too many open files|too many open files' ;;
    esac
    ok "F81: nothing is left" no_survivors
done
works_or_says_why() {
    [ "$status" -eq 0 ] || [ "$(grep -c '^hvdrun: FAILED rank' "$tmp/err")" -eq 1 ]
}

for limit in $rank_limits; do
    run "$folder/hvdrun" -np 2 -H localhost:2 sh -c "ulimit -n $limit; exec \"\$0\"" "$worker"
    ok "F81: ranks with $limit descriptors end" works_or_says_why
done

finish
