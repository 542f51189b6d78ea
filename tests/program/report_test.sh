#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGUSR2 to hvdrun: what every rank is doing, in order of rank, on stderr; and the job goes on.
. "$srcdir/tests/tap.sh"

# asked LINE...: these are the lines about ranks on stderr, and nothing else.
asked() {
    printf 'hvdrun: %s\n' "$@" >"$tmp/expected"
    cmp "$tmp/expected" "$tmp/err"
}

said_times() { # PATTERN COUNT
    [ "$(grep -cE -e "$1" "$tmp/err")" -ge "$2" ]
}

# SIGUSR2 ends a process that does not handle it yet. The shell that becomes hvdrun may handle it, and then no more.
until_it_listens() {
    until_true it_listens
}
it_listens() {
    grep -qs '^Name:.hvdrun$' "/proc/$pid/status" && grep -qs '^SigCgt:.*[89a-f]..$' "/proc/$pid/status"
}

# Ranks without the library
start "$HVDRUN" -np 3 -H localhost:2,127.0.0.2:1 "$ACT" say-signals
for rank in 0 1 2; do until_said "\[$rank\].*listening"; done
kill -USR2 "$pid"
until_said 'rank 2' "$tmp/err"
ok "ranks that never call hvd_init are said to, in order, with their hosts" asked \
    'rank 0 on localhost: has not called hvd_init' 'rank 1 on localhost: has not called hvd_init' \
    'rank 2 on 127.0.0.2: has not called hvd_init'
for i in 2 3 4 5; do
    kill -USR2 "$pid"
    until_true said_times 'rank 2' $i
done
ok "each further signal asks again" said_times 'has not called hvd_init' 15
kill -USR1 "$pid"
until_said '\[0\].*got SIGUSR1' && until_said '\[1\].*got SIGUSR1' && until_said '\[2\].*got SIGUSR1'
unlike "the signal is not passed on" 'USR2' "$tmp/out"
stop_with TERM
is "and the job goes on until it is told to end" 143 "$status"

start "$HVDRUN" --verbose -np 2 "$ACT" only 1 text 'up\n' stay
until_said '\[1\].*up' && until_said 'rank 0 exited with status 0' "$tmp/err"
kill -USR2 "$pid"
until_said 'rank 1 on localhost: has not called hvd_init' "$tmp/err"
like "of a rank that has ended is said how" '^hvdrun: rank 0 on localhost: exited with status 0$' "$tmp/err"
stop_with TERM

start "$HVDRUN" --verbose --grace 1000 -np 1 "$ACT" ignore-term text 'up\n' stay
until_said up
kill -TERM "$pid"
until_said 'stopping with signal 15' "$tmp/err"
kill -USR2 "$pid"
ok "also while the job is being stopped" until_said 'rank 0 on localhost: has not called hvd_init' "$tmp/err"
stop_with INT
is "which goes on as well" 143 "$status"

# Signals that come one after the other, until the job has ended
start "$HVDRUN" -np 4 sleep 1
until_it_listens
while kill -USR2 "$pid" 2>/dev/null; do sleep 0.01; done
status=0
wait "$pid" 2>/dev/null || status=$?
is "a shower of signals to the very end is no harm" 0 "$status"
is "and gives nothing but answers" '' "$(grep -vE '^hvdrun: rank [0-3] on localhost: ' "$tmp/err")"
ok "and leaves nothing" no_survivors

# Ranks with the library
# ask_until_said PATTERN [LINES]: asks again and again, and looks at all lines or the last ones.
ask_until_said() {
    until_true ask_and_look "$1" "${2-+1}"
}
ask_and_look() {
    kill -USR2 "$pid" 2>/dev/null && sleep 0.1 && tail -n "$2" "$tmp/err" | grep -Eq -e "$1"
}

start "$HVDRUN" --start-timeout 600 -np 2 "$WORLD" only 1 wait "$tmp/go" all init shutdown
until_it_listens
ok "a rank that waits in hvd_init is said to" \
    ask_until_said '^hvdrun: rank 0 on localhost: waits in hvd_init for the other ranks$'
ok "and who is not there" until_said '^hvdrun: rank 1 on localhost: has not called hvd_init$' "$tmp/err"
: >"$tmp/go"
status=0
wait "$pid" || status=$?
is "the world comes about all the same" 0 "$status"

start "$HVDRUN" --grace 30 -np 3 "$WORLD" init barriers 2 print up only 1 wait "$tmp/leave" shutdown exit 0 all expect PEER_LEFT
for rank in 0 1 2; do until_said "\[$rank\].*up"; done
waits="waiting for allreduce 'next' since [0-9]+\.[0-9] s"
ok "rank 0 says what it waits for, since when, and who is missing" \
    ask_until_said "^hvdrun: rank 0 on localhost: $waits \(not submitted by 1\)\$"
ok "rank 2 what it waits for" ask_until_said "^hvdrun: rank 2 on localhost: $waits"
like "rank 1, which is busy elsewhere, that it waits for nothing" '^hvdrun: rank 1 on localhost: in no collective$' "$tmp/err"
like "and what it did last" '^hvdrun: rank 1 on localhost: last finished barrier' "$tmp/err"
unlike "nothing of that is a rank's own output" 'waiting for' "$tmp/out"
rank2=$(survivors | cut -d/ -f3 | while read -r process; do
    ! grep -qz '^HOROVOD_RANK=2$' "/proc/$process/environ" || echo "$process"
done)
kill -STOP "$rank2"
ok "a rank that is stopped gives no answer" ask_until_said '^hvdrun: rank 2 on localhost: no answer within 2 s$'
kill -CONT "$rank2"
ok "and does once it is continued" ask_until_said '^hvdrun: rank 2 on localhost: waiting for' 2
: >"$tmp/leave"
status=0
wait "$pid" || status=$?
is "in the end the job is as if nobody had asked" 0 "$status"
ok "and nothing is left" no_survivors
finish
