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
until_true grep -q '^SigCgt:.*[89a-f]..$' "/proc/$pid/status" # SIGUSR2 is handled by now
while kill -USR2 "$pid" 2>/dev/null; do sleep 0.01; done
status=0
wait "$pid" 2>/dev/null || status=$?
is "a shower of signals to the very end is no harm" 0 "$status"
is "and gives nothing but answers" '' "$(grep -vE '^hvdrun: rank [0-3] on localhost: ' "$tmp/err")"
ok "and leaves nothing" no_survivors
finish
