#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libhvd inside jobs of hvdrun: right results, and an error instead of a hang when a rank is not there.
. "$srcdir/tests/tap.sh"

run "$WORLD" alone collectives shutdown
is "without hvdrun a program is a world of one" 0 "$status"
run "$HELLO"
is "the smallest program runs alone" 0 "$status"
run "$HVDRUN" -np 3 "$HELLO"
is "and in a job" 0 "$status"

sizes='1 2 3 4 5'
[ "$SANITIZERS" != thread ] || {
    sizes=3
    skip "1, 2, 4 and 5 ranks: the same" "built with $SANITIZERS: no more threads than in 3 ranks, and in 8"
}
for size in $sizes; do
    run "$HVDRUN" -np "$size" "$WORLD" init collectives shutdown
    is "$size ranks: every operation, type and count gives the reference's result" 0 "$status"
done
run "$HVDRUN" -np 8 -H localhost:3,127.0.0.2:4,127.0.0.3:1 "$WORLD" init collectives shutdown
is "8 ranks in three unequal groups too" 0 "$status"
[ "$SANITIZERS" = no ] && crowd=300 || crowd=60 # each is several times as large then
many=$(ulimit -Hn)
[ "$many" = unlimited ] || [ "$many" -ge 2048 ] || crowd=60 # four descriptors for each in hvdagent
run "$HVDRUN" --start-timeout 300 -np "$crowd" "$WORLD" init shutdown
is "$crowd ranks find each other" 0 "$status"
run "$HVDRUN" -np 3 "$WORLD" init collectives
is "ending without hvd_shutdown is fine when all ranks are through" 0 "$status"
start "$HVDRUN" --verbose -np 3 "$WORLD" init barriers 2 shutdown only 1 exit 0 all wait "$tmp/go" print through
until_said 'rank 1 exited with status 0' "$tmp/err"
: >"$tmp/go"
stop_with
is "F5: a rank that leaves and exits well leaves the others alone" '0 2' "$status $(grep -c '>:through$' "$tmp/out")"
run "$HVDRUN" -np 4 "$WORLD" init barriers 1000 shutdown
is "a thousand barriers" 0 "$status"
if [ "$SANITIZERS" = no ]; then
    run "$HVDRUN" -np 2 "$WORLD" init fork barriers 10 shutdown
    is "fork() harms nobody" 0 "$status"
else # the sanitizers' allocators do not survive fork() in a program with threads
    skip "fork() harms nobody" "built with $SANITIZERS"
fi

# A rank that is not there
run "$HVDRUN" -np 4 --grace 30 "$WORLD" patient init barriers 3 only 2 die 9 all expect PEER_LOST
is "a rank that is killed fails the job with its status" 137 "$status"
is "every other rank gets an error" 3 "$(grep -c '^\[[013]\]<stdout>:' "$tmp/out")"
is "which names rank, host and signal" 3 \
    "$(grep -c 'rank 2 on localhost was killed by signal 9 (SIGKILL)' "$tmp/out")"
like "as hvdrun does" 'FAILED rank 2 on localhost \(pid [0-9]+\): killed by signal 9' "$tmp/err"
ok "nothing is left" no_survivors

run "$HVDRUN" -np 3 --grace 30 "$WORLD" patient init barriers 1 only 0 die 11 all wait "$tmp/out" expect PEER_LOST
is "a rank that dies while nobody waits for it is known to the next call" 2 "$(grep -c 'rank 0 on localhost' "$tmp/out")"

run "$HVDRUN" -np 3 "$WORLD" init barriers 1 only 1 shutdown exit 0 all expect PEER_LEFT
is "a rank that leaves early is told apart from one that dies" 2 "$(grep -c 'rank 1 on localhost left' "$tmp/out")"
is "and if the others expected that, the job is fine" 0 "$status"
run "$HVDRUN" -np 2 "$WORLD" init barriers 1 only 1 exit 0 all expect PEER_LOST
like "ending at once without a word is no way to leave" 'rank 1 on localhost exited with status 0 without hvd_shutdown' "$tmp/out"

run "$HVDRUN" -np 3 "$WORLD" init barriers 1 mismatch
is "ranks that disagree get an error, all of them, and go on" 0 "$status"
is "which says who wants what" 3 "$(grep -c "allreduce 'grad': .*\[10\] on rank 0, \[11\] on rank 1, \[12\] on rank 2" "$tmp/out")"

if [ "$SANITIZERS" = thread ]; then # which has a thread of its own in every program
    run "$HVDRUN" --grace 20 -np 2 -x HOROVOD_STALL_CHECK_TIME_SECONDS=1 -x HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=2 \
        "$WORLD" patient init only 0 barriers 1 all only 1 expect INVALID
    waits='has waited [0-9]+ s'
else
    run "$HVDRUN" --grace 20 -np 2 "$WORLD" patient init only 0 barriers 1 all only 1 expect INVALID
    waits='deadlock: every rank waits:.*'
fi
is "F92: ranks that wait for different names end when they should wait no longer" 1 "$status"
like "F92: and are told who waits for whom" "$waits.* for rank 0" "$tmp/err"
like "both of them" "$waits.* for rank 1" "$tmp/err"

run "$HVDRUN" -np 2 "$WORLD" init shutdown expect SHUT_DOWN
is "after hvd_shutdown a call says so" 0 "$status"

# Joining
run "$HVDRUN" -np 3 sh -c '[ $HOROVOD_RANK != 1 ] || exit 4; exec "$0" init' "$WORLD"
is "a rank that ends before hvd_init does not leave the others waiting" 4 "$status"
run "$HVDRUN" -np 3 sh -c '[ $HOROVOD_RANK = 1 ] || exec "$0" init' "$WORLD"
ok "not even if it ends well" [ "$status" -ne 0 ]
like "the others say why" 'rank 1 on localhost exited with status 0 before hvd_init' "$tmp/err"
for limit in 1 5 25; do # the longer where a busy machine has not got so far by then
    run "$HVDRUN" -np 3 --start-timeout $limit sh -c '[ $HOROVOD_RANK = 0 ] || exec "$0" stay; exec "$0" init' "$WORLD"
    ! grep -q 'ranks 1, 2 on' "$tmp/err" || break
done
is "ranks that never call hvd_init are status 75" 75 "$status"
like "and are named" "FAILED: ranks 1, 2 on localhost have not called hvd_init within $limit s" "$tmp/err"
ok "nothing is left of them" no_survivors
for bad in HOROVOD_RANK=x HOROVOD_SIZE=0 HOROVOD_GLOO_RENDEZVOUS_PORT=70000 HVD_JOB_KEY= HVD_JOB_KEY=abc; do
    run "$HVDRUN" -np 1 env "$bad" "$WORLD" init
    is "$bad is an error" 1 "$status"
    like "which names the variable" "${bad%=*}" "$tmp/err"
done
run "$HVDRUN" -np 2 env HVD_JOB_KEY="$(printf '%064d' 0)" "$WORLD" init
is "the key of another job is refused" 1 "$status"
# A rank has its own key only. That of rank 0 waits meanwhile.
# shellcheck disable=SC2016  # for the rank's shell
run "$HVDRUN" -np 2 sh -c '[ "$HOROVOD_RANK" = 0 ] || export HOROVOD_RANK=0; exec "$0" init' "$WORLD"
is "a rank that says to be another is refused" 1 "$status"
like "and both are named" 'HOROVOD_RANK is 0, but HVD_JOB_KEY is the key of rank 1' "$tmp/err"
# shellcheck disable=SC2016
run "$HVDRUN" -np 2 sh -c '[ "$HOROVOD_RANK" = 0 ] || export HOROVOD_RANK=0 HVD_KEY_OF=0; exec "$0" init' "$WORLD"
is "its key does not prove that it is the other" 1 "$status"
like "which it is told" 'does not accept this HVD_JOB_KEY' "$tmp/err"

# One machine under two names: whether the port was free or not, at most one of the ranks has it.
run "$HVDRUN" -np 2 -H localhost:1,127.0.0.2:1 --port-range 39999-39999 "$WORLD" init shutdown
like "a rank that finds no port says which one it is, where, and why" \
    'rank [01] on (localhost|127\.0\.0\.2): HVD_PORT_RANGE: no port from 39999 to 39999 is free to listen at: Address already in use$' \
    "$tmp/err"
finish
