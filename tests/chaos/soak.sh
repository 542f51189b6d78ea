#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make soak: for SECONDS, a service and a job live on while jobs come and go around them, healthy ones and ones that are hit
# by faults. Nothing may grow, every healthy job must end well, no trial may fail.
#
#   hvdrendezvousd    serves worlds of two workers, one after the other
#   long job          four ranks that reduce all the time
#   chaos             trials of jobs (tests/chaos/chaos.sh), three at a time; SOAK_FAULTS=0: none
# shellcheck shell=sh
: "${SECONDS_TO_SOAK:=600}" "${SOAK_FAULTS:=1}"
WORLD=${WORLD-}
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/support/service.sh"
worker_program=$builddir/tests/chaos/chaos_worker
until_s=$(($(date +%s) + SECONDS_TO_SOAK))
trap 'kill $background $service 2>/dev/null; wait; rm -rf "$tmp"' EXIT
background=

goes_on() {
    [ "$(date +%s)" -lt "$until_s" ]
}

# Worlds that meet at the service, until time is up; how many, and how many failed.
worlds() {
    worlds=0 failed=0
    while goes_on; do
        for rank in 0 1; do
            env HVD_RENDEZVOUS="127.0.0.1:$port" HVD_JOB_ID=train HVD_JOB_KEY="$(job_key train)" HOROVOD_SIZE=2 \
                HOROVOD_HOSTNAME=here timeout 60 "$worker_program" collective 50 >"$tmp/world.$rank" 2>&1 </dev/null &
            eval "world_$rank=$!"
        done
        wait "$world_0" && wait "$world_1" || { failed=$((failed + 1)); cat "$tmp"/world.?; }
        worlds=$((worlds + 1))
    done
    echo "$worlds worlds met at the service, $failed failed" >"$tmp/worlds"
}

# Jobs without a fault.
healthy() {
    jobs=0 failed=0
    while goes_on; do
        timeout 60 "$HVDRUN" -np 2 "$worker_program" collective 50 >"$tmp/healthy.out" 2>&1 </dev/null ||
            { failed=$((failed + 1)); cat "$tmp/healthy.out"; }
        jobs=$((jobs + 1))
    done
    echo "$jobs healthy jobs, $failed failed" >"$tmp/healthy"
}

faults() {
    echo "0 trials, 0 failed, 0 things left" >"$tmp/faults"
    [ "$SOAK_FAULTS" != 0 ] || return 0
    sh "$srcdir/tests/chaos/chaos.sh" --trials 0 --seconds "$SECONDS_TO_SOAK" --jobs 3 ${SEED:+--seed $SEED} >"$tmp/faults"
    grep -v '^ok ' "$tmp/faults"
}

pids_of() { # NAME PARENT: its processes below that one, as NAME.1=PID and so on
    _n=0
    for _p in $(pgrep -P "$2" -x "$1"); do
        _n=$((_n + 1))
        echo "$1.$_n=$_p"
    done
}

service_up
start "$HVDRUN" -np 4 "$worker_program" collective
for rank in 0 1 2 3; do until_said "\\[$rank\\].*up"; done
agent=$(pgrep -P "$pid" -x hvdagent)
worlds & worlds_pid=$!
healthy & healthy_pid=$!
faults & faults_pid=$!
background="$pid $worlds_pid $healthy_pid $faults_pid"
status=0
# shellcheck disable=SC2046  # words
"$builddir/tests/chaos/soak" "$SECONDS_TO_SOAK" "hvdrendezvousd=$service" "hvdrun=$pid" "hvdagent=$agent" \
    $(pids_of chaos_worker "$agent") || status=1
wait "$worlds_pid" "$healthy_pid" "$faults_pid"
cat "$tmp/worlds" "$tmp/healthy"
tail -n 1 "$tmp/faults"
grep -q ', 0 failed' "$tmp/worlds" && grep -q ', 0 failed' "$tmp/healthy" &&
    tail -n 1 "$tmp/faults" | grep -q ' 0 failed, 0 things left' || status=1
kill -TERM "$pid"
long=0
wait "$pid" || long=$?
[ "$long" = 143 ] || { echo "the long job ended with status $long"; cat "$tmp/err"; status=1; }
[ "$status" = 0 ] && echo "soak: $SECONDS_TO_SOAK s, nothing grows" || echo "soak: FAILED"
background=
exit "$status"
