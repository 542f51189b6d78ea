#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Elastic jobs of hvdrun: ranks and hosts come and go, and the others go on. A worker prints "world EPOCH rank R of SIZE
# worker W pid P" for each world that it joins (tests/support/elastic_worker.c).
. "$srcdir/tests/tap.sh" && . "$srcdir/tests/support/elastic.sh"

# hosts LINE...: what the script prints from now on, all at once.
hosts() {
    printf '%s\n' "$@" >"$tmp/hosts.new"
    mv "$tmp/hosts.new" "$tmp/hosts"
}

# kill_agent_of WORKER [SIGNAL]: the agent of its host is its parent.
kill_agent_of() {
    kill "-${2-KILL}" "$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$(pid_of "$1")/status")"
}

# ---- ranks that are lost ----

elastic -np 4 --min-np 2 -H localhost:4
ok "four ranks are the first world" all_joined 0 0 1 2 3
kill_worker 1
ok "a rank is killed, and the others of the only host are the next world" all_joined 1 0 2 3
kill_worker 0
ok "rank 0 is killed, and the oldest that is left becomes rank 0" all_joined 2 2 3
end_job
is "the job ends well" 0 "$status"
is "with all that were left" "2 3" "$(sed -n 's/.*done with worker \([0-9]\).*/\1/p' "$tmp/out" | sort | tr '\n' ' ' | sed 's/ $//')"
ok "and nobody is left behind" no_survivors

elastic -np 4 --min-np 2 -H localhost:2,127.0.0.2:2
all_joined 0 0 1 2 3
kill_worker 0
ok "of two hosts the one with a failure is avoided" all_joined 1 2 3
ok "and its other worker is removed" until_said 'removed worker 1$'
end_job
is "which does not count" 0 "$status"
ok "and is not left behind" no_survivors

elastic -np 2 --min-np 1 -H localhost:2 --blacklist-cooldown-range 1 1
all_joined 0 0 1
kill_worker 1
# Worlds 1 and 2, or one world if the machine pauses for as long as the cool-down.
ok "after the cool-down the slot has another worker" all_joined '[12]' 0 2
end_job
is "and the job ends well" 0 "$status"

elastic -np 2 --min-np 1 -H localhost:1,127.0.0.2:1
all_joined 0 0 1
kill_agent_of 0
ok "the host of rank 0 is lost, and the other goes on" all_joined 1 1
end_job
is "and ends well" 0 "$status"
ok "with nobody left behind on the lost host" until_true no_survivors

elastic -np 2 --min-np 1 -H localhost:1,192.0.2.1:1 --remote-shell 'env HOST=%h'
all_joined 0 0 1
kill_agent_of 1
ok "a host of a remote shell is lost" all_joined 1 0
end_job
is "and the job ends well" 0 "$status"
ok "with nobody left behind there" until_true no_survivors

elastic -np 3 --min-np 1 -H localhost:2,127.0.0.2:1 --report "$tmp/report"
all_joined 0 0 1 2
kill_agent_of 0 TERM
ok "SIGTERM to an agent drains its host: the rank of the other one is the next world" all_joined 1 2
ok "and the workers of the host leave" until_said 'removed worker 0$'
ok "by themselves" until_said 'removed worker 1$'
end_job
is "which is no failure" 0 "$status"
like "hvdrun says it" '^hvdrun: localhost: drained, because SIGTERM has asked its agent to end: 2 workers are to leave it$' "$tmp/err"
unlike "no worker is lost" 'lost' "$tmp/err"
like "the report has it" '"why":.*"2 workers left, localhost is drained"' "$tmp/report"
ok "and nobody is left behind" no_survivors

elastic -np 3 --min-np 1 -H localhost:3
all_joined 0 0 1 2
kill_worker 1
all_joined 1 0 2
stop_with INT
is "a job is interrupted in its second world" 130 "$status"
ok "and leaves nobody" no_survivors

# ---- hosts that come and go ----

hosts localhost:2
elastic -np 2 --min-np 1 --max-np 4 --host-discovery-script "cat '$tmp/hosts'"
ok "a script names the hosts" all_joined 0 0 1
hosts localhost:2 127.0.0.2:1
ok "a host that appears is used" all_joined 1 0 1 2
hosts 127.0.0.2:1
ok "a host that disappears is left" all_joined 2 2
ok "by its first worker" until_said 'removed worker 0$'
ok "and its second" until_said 'removed worker 1$'
hosts ''
ok "a script that names no host any more is said" \
    until_said '^hvdrun: waiting for slots: 0 slots on 0 hosts, 1 needed \(--min-np\); the ranks go on where they are$' "$tmp/err"
end_job
is "and the rest ends well" 0 "$status"
ok "without anybody left behind" no_survivors

hosts localhost:1
elastic -np 1 --host-discovery-script "cat '$tmp/hosts'"
all_joined 0 0
hosts 'no hosts today'
ok "a script that fails later is said" until_said 'host-discovery-script:1:3: bad character.*; the hosts stay as they were' "$tmp/err"
end_job
is "and does no harm" 0 "$status"
is "it is said once" 1 "$(grep -c 'stay as they were' "$tmp/err")"

hosts localhost:2
elastic -np 2 --min-np 2 --host-discovery-script "cat '$tmp/hosts'"
all_joined 0 0 1
kill_worker 0
ok "below the minimum a job says what it waits for" until_said 'waiting for slots: 1 slot on 1 host, 2 needed \(--min-np\)' "$tmp/err"
hosts localhost:2 127.0.0.2:1
ok "and goes on when a host appears" all_joined 1 1 2
end_job
is "and ends well" 0 "$status"

hosts localhost:2
elastic -np 2 --min-np 1 --host-discovery-script \
    "cat '$tmp/hosts'; [ ! -e '$tmp/hang' ] || { : >'$tmp/hangs'; sleep 1000; }"
all_joined 0 0 1
: >"$tmp/hang"
until_true test -e "$tmp/hangs"
kill_worker 1
ok "a script that hangs does not keep a job from going on" all_joined 1 0
end_job
is "or from ending" 0 "$status"
ok "and is killed then" until_true no_survivors

start "$HVDRUN" -np 2 --host-discovery-script ": >'$tmp/asked'; sleep 1000 & sleep 1000" true
until_true test -e "$tmp/asked"
stop_with TERM
is "a signal during the first run of a script ends hvdrun" 143 "$status"
like "which says so" "^hvdrun: stopped by signal 15 \\(SIGTERM\\) while --host-discovery-script ran: " "$tmp/err"
ok "and kills the script with its children" until_true no_survivors

printf 'localhost slots=1\n' >"$tmp/hostfile"
elastic -np 1 --min-np 1 --hostfile "$tmp/hostfile"
all_joined 0 0
printf 'localhost slots=2\n' >"$tmp/hostfile.new"
mv "$tmp/hostfile.new" "$tmp/hostfile"
ok "a hostfile that changes is read again" all_joined 1 0 1
end_job
is "and its job ends well" 0 "$status"

# ---- ranks for which the others wait ----

# Runs a command, in worker 1 only when $tmp/late_worker.go exists.
cat >"$tmp/late_worker" <<'EOF'
[ "$HVD_WORKER" != 1 ] || until [ -e "$0.go" ]; do sleep 0.05; done
exec "$@"
EOF
rm -f "$tmp/end"
start env HOROVOD_STALL_CHECK_TIME_SECONDS=1 "$HVDRUN" -np 3 --min-np 1 -H localhost:3 \
    sh "$tmp/late_worker" "$ELASTIC_WORKER" "$tmp"
# says_missing RANK: the one of worker 1.
says_missing() {
    until_said "^hvdrun: no world for [0-9]+ s: rank $1 on localhost \(worker 1\) has not called hvd_init; the job ends in [0-9]+ s \(--elastic-timeout\)\$" \
        "$tmp/err"
}
ok "a rank that does not call hvd_init is named before the job ends" says_missing 1
: >"$tmp/late_worker.go"
ok "and may still come" all_joined 0 0 1 2
kill -STOP "$(pid_of 1)"
kill_worker 0
ok "so is one that does not come back after a failure" says_missing 0
kill -CONT "$(pid_of 1)"
ok "which may come, too" all_joined 1 1 2
end_job
is "and the job ends well" 0 "$status"

# ---- workers that do not join the world ----

# Runs a command, except in workers 2 and 3, which never call hvd_init.
cat >"$tmp/never_worker" <<'EOF'
case $HVD_WORKER in 2 | 3) exec sleep 1000 ;; esac
exec "$@"
EOF
# with_never_workers ARGUMENT...: a job of two ranks, and a third when there is a host for it.
with_never_workers() {
    rm -f "$tmp/end"
    hosts localhost:2
    start "$HVDRUN" --grace 1 -np 2 --min-np 2 --max-np 3 --blacklist-cooldown-range 1 1 "$@" \
        --host-discovery-script "cat '$tmp/hosts'" sh "$tmp/never_worker" "$ELASTIC_WORKER" "$tmp"
}
with_never_workers --stall-check-warning-time-seconds 1
all_joined 0 0 1
hosts localhost:2 127.0.0.2:1
ok "a worker that does not join the world is named, with its host and the end of its time" \
    until_said '^hvdrun: no sign of worker 2 on 127\.0\.0\.2 for [0-9]+ s: it has not called hvd_init; it is given up in [0-9]+ s \(--elastic-timeout\)$' \
    "$tmp/err"
kill -USR2 "$pid"
ok "and SIGUSR2 names it" until_said '^hvdrun: worker 2 on 127\.0\.0\.2: has not called hvd_init$' "$tmp/err"
end_job
is "the job ends well without it" 0 "$status"
unlike "and has not waited for it" '^hvdrun: no world for' "$tmp/err"
ok "and leaves nobody" no_survivors

# says_lost WORKER
says_lost() {
    until_said "^hvdrun: lost rank 2 on 127\\.0\\.0\\.2 \\(worker $1, pid [0-9]+\\): has not called hvd_init within [0-9]+ s \\(--elastic-timeout\\)\$" \
        "$tmp/err"
}
# The first world, too, has to be made within the time: a busy machine gets more of it.
joined_or_ended() {
    job_has_ended || { grep -q 'world 0 rank 0 of 2' "$tmp/out" && grep -q 'world 0 rank 1 of 2' "$tmp/out"; }
}
for limit in 5 20 60; do
    with_never_workers --elastic-timeout $limit
    until_true joined_or_ended
    job_has_ended || break
    finish_job
done
hosts localhost:2 127.0.0.2:1
ok "a worker that never joins is lost after --elastic-timeout" says_lost 2
ok "and after the cool-down another one is started, which is lost too" says_lost 3
ok "until one comes" until_said 'world 1 rank 2 of 3 worker [4-9] pid '
end_job
is "and the job ends well" 0 "$status"
like "which counts the losses" '^hvdrun: [2-7] of [5-9] workers were lost, in 2 worlds:$' "$tmp/err"
ok "and leaves nobody behind" no_survivors

# ---- jobs that cannot go on ----

hosts localhost:2
for limit in 5 20 60; do
    elastic -np 2 --min-np 2 --elastic-timeout $limit --host-discovery-script "cat '$tmp/hosts'"
    until_true joined_or_ended
    job_has_ended || kill_worker 1
    finish_job
    grep -q 'no world within' "$tmp/err" || break
done
is "below the minimum a job ends after --elastic-timeout" 75 "$status"
like "and says so" "too few slots for $limit s \(--elastic-timeout\): 1 slot on 1 host, and 2 are needed \(--min-np\)" "$tmp/err"
ok "and leaves nobody behind" no_survivors

elastic -np 2 --min-np 2 -H localhost:2
all_joined 0 0 1
kill_worker 0
finish_job
ok "with fixed hosts it ends at once" [ "$status" -ne 0 ]
like "and says why" 'too few slots are left: 1 slot on 1 host, and 2 are needed \(--min-np\)' "$tmp/err"

elastic -np 3 --min-np 1 --reset-limit 1 -H localhost:3
all_joined 0 0 1 2
kill_worker 2
all_joined 1 0 1
kill_worker 1
finish_job
is "the limit of resets ends a job with the status of the rank" 137 "$status"
like "and is named" 'a further world is needed after 1 reset \(--reset-limit\)' "$tmp/err"
ok "and leaves nobody" no_survivors

elastic -np 2 --min-np 1 -H localhost:2
all_joined 0 0 1
kill_worker 0
kill_worker 1
finish_job
is "without a survivor the job has failed" 137 "$status"
like "and says what is lost" 'no rank is left that could go on' "$tmp/err"

rm -f "$tmp/end"
start "$HVDRUN" -np 3 --min-np 1 -H localhost:3 "$ELASTIC_WORKER" "$tmp" once
all_joined 0 0 1 2
kill_worker 1
finish_job
# The others may notice the death, and exit, before the kernel tells anybody that worker 1 has ended.
has_a_status_of_theirs() {
    [ "$status" = 1 ] || [ "$status" = 137 ]
}
ok "workers that do not come back end a job with the status of the last of them" has_a_status_of_theirs
like "which has failed" 'FAILED: no rank is left that could go on; the last loss was rank [0-9] on [^ ]+ \(worker [0-9](, rank [0-9] before)?\): ' "$tmp/err"

run "$HVDRUN" -np 2 --min-np 1 -H localhost:2 /no/such/program
is "a program that is missing ends an elastic job" 127 "$status"
run "$HVDRUN" -np 2 --min-np 1 -H localhost:2 true
is "workers without the library may end well" 0 "$status"
finish
