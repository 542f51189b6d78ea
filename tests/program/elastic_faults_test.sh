#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What dies in an elastic job besides its ranks: agents, what ranks have started, hvdrun itself; and what is said of it, on the
# console, in files, in the report. Hosts are names of this machine; elastic_hosts_test.sh has real ones.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/support/elastic.sh"

# agent_of WORKER: the process of its agent, which is its parent.
agent_of() {
    sed 's/^[0-9]* (.*) . \([0-9]*\) .*/\1/' "/proc/$(pid_of "$1")/stat"
}

# ---- agents ----

elastic -np 4 --min-np 2 -H localhost:2,127.0.0.2:2 --report "$tmp/report"
all_joined 0 0 1 2 3
agent=$(agent_of 0)
kill -KILL "$agent"
ok "an agent is killed, and the workers of the other are the next world" all_joined 1 2 3
ok "which is said in one line" \
    until_said "^hvdrun: localhost: host lost: its agent \(pid $agent\) was killed by signal 9 \(SIGKILL\), and with it 2 workers\$" \
    "$tmp/err"
ok "the workers of the agent end with it" until_true workers_are 2 3
end_job
is "and the job ends well" 0 "$status"
like "the end names each of them, with time and cause" \
    '^hvdrun:   at [0-9.]+ s rank 1 on localhost \(worker 1\): host lost: its agent \(pid [0-9]+\) was killed by signal 9' "$tmp/err"
like "and how many" '^hvdrun: 2 of 4 workers were lost, in 2 worlds:$' "$tmp/err"
is "the report has the worlds" '0,1,2,3 2,3' "$(report_worlds)"
like "and why they have ended" '"why":.*"rank [01] on localhost \(worker [01]\): host lost: its agent' "$tmp/report"
like "the last one too" '"why":.*"all ranks have finished"' "$tmp/report"
like "and what became of a worker" '"loss":.*"host lost: its agent' "$tmp/report"
ok "nobody is left behind" until_true no_survivors

elastic -np 4 --min-np 2 -H localhost:2,127.0.0.2:2
all_joined 0 0 1 2 3
kill -STOP "$(agent_of 2)"
ok "an agent that is stopped is lost, with its workers" all_joined 1 0 1
end_job
is "and the job ends well" 0 "$status"
ok "with nobody left behind" until_true no_survivors

# ---- ranks that are stopped, and what they have started ----

elastic -np 3 --min-np 1 -H localhost:3 --stopped fail
all_joined 0 0 1 2
kill -STOP "$(pid_of 1)"
ok "under --stopped fail a stopped rank is lost, and the others go on" all_joined 1 0 2
ok "and it is said why" \
    until_said '^hvdrun: lost rank 1 on localhost \(worker 1, pid [0-9]+\): was stopped by signal 19 \(SIGSTOP\)' "$tmp/err"
end_job
is "to the end" 0 "$status"

# ---- ranks that do not submit ----

# A rank that the machine does not run for so long is lost as well. Ranks have half the warning time, at most 5 s, to answer the
# round that decides, so a short warning time would lose ranks that are only slow.
stall_shutdown_s=$((PATIENCE_S / 12))
stall_times="--stall-check-warning-time-seconds $((stall_shutdown_s - 1)) --stall-check-shutdown-time-seconds $stall_shutdown_s"
# shellcheck disable=SC2086
elastic -np 3 --min-np 1 -H localhost:3 $stall_times
all_joined 0 0 1 2
: >"$tmp/hang.1"
ok "a rank that hangs is lost after the time of the stall check, and those that waited go on" all_joined 1 0 2
like "hvdrun names it and what it has not submitted" \
    "^hvdrun: lost rank 1 on localhost \(worker 1, pid [0-9]+\): allreduce 'step' has waited [0-9]+ s for rank 1 " "$tmp/err"
ok "its process is ended" until_true workers_are 0 2
rm "$tmp/hang.1"
end_job
is "and the job ends well" 0 "$status"
unlike "no other rank is lost" 'lost rank [02]' "$tmp/err"
unlike "or fails" '^failed' "$tmp/out"
ok "and nobody is left behind" no_survivors

# shellcheck disable=SC2086
elastic -np 3 --min-np 1 -H localhost:3 $stall_times
all_joined 0 0 1 2
: >"$tmp/hang.0"
ok "rank 0 may be the one" all_joined 1 1 2
rm "$tmp/hang.0"
end_job
is "and the job ends well" 0 "$status"

# shellcheck disable=SC2086
elastic -np 3 --min-np 1 -H localhost:3 $stall_times
all_joined 0 0 1 2
kill -STOP "$(pid_of 2)"
ok "a rank that a signal has stopped is lost likewise" all_joined 1 0 1
ok "and its process is ended" until_true workers_are 0 1
end_job
is "and the job ends well" 0 "$status"

# Nobody names rank 1, because the world ends by the death of rank 2.
# shellcheck disable=SC2086
elastic -np 3 --min-np 1 -H localhost:3 $stall_times
all_joined 0 0 1 2
kill -STOP "$(pid_of 1)"
kill -KILL "$(pid_of 2)"
ok "a rank that hangs while another one dies is lost when the others have waited for it" all_joined 1 0
like "hvdrun says that it has not come" \
    '^hvdrun: lost rank 1 on localhost \(worker 1, pid [0-9]+\): has not come to the next world, where others have waited [0-9]+ s ' "$tmp/err"
ok "and its process is ended" until_true workers_are 0
end_job
is "and the job ends well" 0 "$status"

# One on each host, and each host has one that is well. Both hang in the first step: otherwise one might wait for the other.
: >"$tmp/hang.1"
: >"$tmp/hang.2"
# shellcheck disable=SC2086
elastic -np 4 --min-np 2 -H localhost:2,127.0.0.2:2 $stall_times
ok "ranks of two hosts that hang at once are lost at once, and the others of both hosts go on" all_joined 1 0 3
rm "$tmp/hang.1" "$tmp/hang.2"
ok "their processes are ended" until_true workers_are 0 3
end_job
is "and the job ends well" 0 "$status"
is "hvdrun names each of them" "1 2" \
    "$(sed -n 's/^hvdrun: lost rank \([0-9]\) on .*step. has waited [0-9]* s for ranks 1-2 .*/\1/p' "$tmp/err" | tr '\n' ' ' | sed 's/ $//')"

: >"$tmp/hang.1"
: >"$tmp/hang.2"
# shellcheck disable=SC2086
elastic -np 4 --min-np 3 -H localhost:2,127.0.0.2:2 $stall_times
finish_job
rm "$tmp/hang.1" "$tmp/hang.2"
is "too few ranks that are well end the job as a timeout" 75 "$status"
like "with a line that names the ranks, their hosts and the cause" \
    '^hvdrun: FAILED: too few slots are left: 2 slots on 2 hosts, .* for ranks 1-2 .*rank 1 on localhost: .*rank 2 on 127\.0\.0\.2: ' "$tmp/err"
ok "and nobody is left behind" until_true no_survivors

# The shell starts a process that leaves its session, and becomes the worker.
elastic_with() {
    rm -f "$tmp/end"
    start "$HVDRUN" --grace 1 "$@" sh -c 'setsid sleep 1000 & exec "$0" "$1"' "$ELASTIC_WORKER" "$tmp"
}
sleepers_are() {
    [ "$(workers_of sleep)" = "$*" ]
}
elastic_with -np 3 --min-np 1 -H localhost:3
all_joined 0 0 1 2
ok "each rank has started a process" until_true sleepers_are 0 1 2
kill_worker 1
all_joined 1 0 2
ok "that of a killed rank is ended while the others run on" until_true sleepers_are 0 2
end_job
is "the others' at the end" 0 "$status"
ok "with nobody left behind" until_true no_survivors

# ---- the job as a whole ----

for ending in INT:130 TERM:143 HUP:129; do
    signal=${ending%:*}
    elastic -np 2 --min-np 1 -H localhost:2
    all_joined 0 0 1
    kill_worker 0
    all_joined 1 1
    stop_with "$signal"
    is "SIG$signal ends an elastic job" "${ending#*:}" "$status"
    like "and says so" "^hvdrun: stopped by signal [0-9]+ \\(SIG$signal\\) after" "$tmp/err"
    ok "and leaves nobody" until_true no_survivors
done

for limit in 8 32 90; do # a busy machine may need longer for the second world
    elastic -np 2 --min-np 1 -H localhost:2 --timeout $limit
    all_joined 0 0 1
    kill_worker 0
    finish_job
    ! grep -q 'while rank 0 on localhost still ran' "$tmp/err" || break
done
is "--timeout ends an elastic job" 124 "$status"
like "and names the ranks of the present world" "$limit s have passed \\(--timeout\\) while rank 0 on localhost still ran" "$tmp/err"
ok "and leaves nobody" until_true no_survivors

elastic -np 2 --min-np 1 -H localhost:1,127.0.0.2:1
all_joined 0 0 1
kill_worker 0
all_joined 1 1
kill -KILL "$pid"
ok "when hvdrun is killed nobody is left" until_true no_survivors
wait "$pid" 2>/dev/null

# A script that hangs, with a child in its group and one in a session of its own.
hang="sleep 1000 & setsid sleep 1000 & : >'$tmp/hangs'; sleep 1000"
start "$HVDRUN" -np 1 --host-discovery-script "$hang" true
until_true test -e "$tmp/hangs"
stop_with KILL
ok "nor of a script that names the hosts, when hvdrun is killed in its first run" until_true no_survivors

rm -f "$tmp/hang" "$tmp/hangs"
elastic -np 1 --host-discovery-script "echo localhost:1; [ ! -e '$tmp/hang' ] || { $hang; }"
all_joined 0 0
: >"$tmp/hang"
until_true test -e "$tmp/hangs"
stop_with KILL
ok "or in a later one" until_true no_survivors

# The last rank leaves right after it goes on, when the agent may be sending SIGCONT still, which is no moment to look for leaks
# (host_fault_test.sh).
elastic -np 2 --min-np 1 -H localhost:2 -x "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
all_joined 0 0 1
kill_worker 0
all_joined 1 1
kill -TSTP "$pid"
# shellcheck disable=SC2317  # called by until_true
is_stopped() {
    grep -q '^State:.T' "/proc/$1/status"
}
ok "Ctrl-Z stops the ranks that are left" until_true is_stopped "$(pid_of 1)"
ok "and hvdrun" until_true is_stopped "$pid"
kill -CONT "$pid"
end_job
is "and SIGCONT continues them" 0 "$status"

# Worker 0 waits for worker 1, which a signal has stopped and SIGCONT continues together with hvdrun.
elastic -np 3 --min-np 1 -H localhost:3 --stall-check-warning-time-seconds 1 \
    --stall-check-shutdown-time-seconds $stall_shutdown_s -x "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
all_joined 0 0 1 2
kill -STOP "$(pid_of 1)"
kill_worker 2
until_said '^hvdrun: no world for [0-9]+ s: rank 1 on localhost \(worker 1\) has not called hvd_init' "$tmp/err"
kill -TSTP "$pid"
ok "hvdrun is stopped by Ctrl-Z while ranks wait for the next world" until_true is_stopped "$pid"
sleep $((stall_shutdown_s + 1)) # longer than ranks may be waited for
kill -CONT "$pid"
ok "and that time does not count for a rank that has not come" all_joined 1 0 1
end_job
is "which goes on to the end" 0 "$status"

# ---- output ----

elastic -np 2 --min-np 1 -H localhost:2 --output-filename "$tmp/files"
all_joined 0 0 1
kill -USR2 "$pid"
ok "SIGUSR2 prints the world" \
    until_said '^hvdrun: world 0, for [0-9.]+ s, 2 ranks; workers in order of rank: localhost: 0, 1$' "$tmp/err"
kill_worker 0
all_joined 1 1
kill -USR2 "$pid"
ok "the present one" until_said '^hvdrun: world 1, for [0-9.]+ s, 1 rank; workers in order of rank: localhost: 1$' "$tmp/err"
end_job
like "a prefix has the rank of the time" '^\[0\]<stdout>:world 1 rank 0 of 1 worker 1 ' "$tmp/out"
is "the file of a rank has the output of all workers that had it" '0 1' \
    "$(sed -n 's/^\[0\]<stdout>:world \(.\) rank 0 of . worker \1 .*/\1/p' "$tmp/files/rank.0/stdout" | tr '\n' ' ' | sed 's/ $//')"
like "that of rank 1 what came before" '^\[1\]<stdout>:world 0 rank 1 of 2 worker 1 ' "$tmp/files/rank.1/stdout"
finish
