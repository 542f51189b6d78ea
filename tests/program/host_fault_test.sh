#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever dies or stops while a job runs: the job ends, the host is named, nothing is left on any host.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 3 || skip_all "$hosts_reason"

busy="$WORLD init barriers 3 print up barriers 100000000"
idle="$WORLD init barriers 3 print up stay"

# agents I: the processes of hvdagent on host I: those without and with hvdagent as their parent.
agents() {
    for p in $(host_pids_named "$1" hvdagent); do
        parent=$(awk '/^PPid:/ { print $2 }' "/proc/$p/status" 2>/dev/null)
        [ "$(cat "/proc/$parent/comm" 2>/dev/null)" = hvdagent ] && echo "inner $p" || echo "outer $p"
    done
}

# session I: the process of sshd that serves hvdrun on host I.
session() {
    p=$(agents "$1" | sed -n 's/^outer //p' | head -n 1)
    until [ "$(cat "/proc/$p/comm" 2>/dev/null)" = sshd ]; do
        p=$(awk '/^PPid:/ { print $2 }' "/proc/$p/status" 2>/dev/null) || return
    done
    echo "$p"
}

# No rank lives on the hosts 1 and 2.
no_ranks_on_others() {
    [ -z "$(host_pids_named 1 world; host_pids_named 2 world)" ]
}

for act in "$busy" "$idle"; do
    [ "$act" = "$busy" ] && how="ranks that reduce" || how="idle ranks"
    start_world "$act"
    signal_hvdrun KILL
    finish_job
    clean "hvdrun is killed, $how: nothing is left on any host"

    start_world "$act"
    kill -KILL "$(job_pids world | head -n 1)"
    finish_job
    is "a rank is killed, $how: status 137" 137 "$status"
    like "rank and host are named" "^hvdrun: FAILED rank [0-3] on " "$tmp/err"
    clean "nothing is left on any host"

    for kind in inner outer; do
        start_world "$act"
        victim=$(agents 1 | sed -n "s/^$kind //p" | head -n 1)
        ok "there is an $kind process of hvdagent" [ -n "$victim" ]
        [ -z "$victim" ] || kill -KILL "$victim"
        host_lost "the $kind hvdagent of a host is killed, $how"
        clean "nothing is left on any host"
    done

    start_world "$act"
    victim=$(session 1)
    ok "there is a session of sshd" [ -n "$victim" ]
    [ -z "$victim" ] || kill -KILL "$victim"
    host_lost "the session of sshd is killed, $how"
    clean "nothing is left on any host"
done

start_world "$idle"
for p in $(job_pids hvdrun) $(agents 0 | cut -d' ' -f2); do kill -KILL "$p"; done
finish_job
clean "hvdrun and all of its own host's hvdagent are killed: nothing is left on the others"

# On a busy machine hvdrun, hvdssh or sshd may pass nothing on for 1 s. Then this host or another one is lost before its time, and
# there is another trial.
for _ in 1 2 3 4 5; do
    start_world "$idle" --heartbeat-timeout 1
    stopped=$(agents 1 | cut -d' ' -f2)
    # shellcheck disable=SC2086  # pids
    [ -z "$stopped" ] || kill -STOP $stopped
    finish_job
    ! grep -q 'no sign of life for 6 s' "$tmp/err" || break
    # shellcheck disable=SC2086
    [ -z "$stopped" ] || kill -CONT $stopped
    until_true nothing_left
done
host_was_lost "hvdagent is stopped"
like "after six times the time, because the host acknowledged" 'no sign of life for 6 s \(--heartbeat-timeout\), though the host' "$tmp/err"
# shellcheck disable=SC2086
kill -CONT $stopped
clean "and when it goes on nothing is left"

told_or_ended() {
    grep -q 'no sign of life from its agent' "$tmp/err" || job_has_ended
}
for _ in 1 2 3 4 5; do # as above
    start_world "$WORLD init barriers 3 print up wait $tmp/fed barriers 10 shutdown" --heartbeat-timeout 2
    stopped=$(agents 1 | cut -d' ' -f2)
    # shellcheck disable=SC2086  # pids
    [ -z "$stopped" ] || kill -STOP $stopped
    until_true told_or_ended
    # shellcheck disable=SC2086
    [ -z "$stopped" ] || kill -CONT $stopped
    : >"$tmp/fed"
    finish_job
    rm "$tmp/fed"
    [ "$status" != 0 ] || break
    until_true nothing_left
done
like "an agent that does not answer on a host that acknowledges is told of" \
    'no sign of life from its agent for [0-9.]+ s, but the host acknowledges' "$tmp/err"
is "F28: and if it answers again the job goes on" 0 "$status"
clean "nothing is left"

# Every rank is stopped: its agent has read the order that hvdrun sends before it stops itself, and waits without a limit.
all_stand_or_job_has_ended() {
    stand=0
    for p in $(for i in 0 1 2; do host_pids_named $i world; done); do
        case $(sed 's/.*) //' "/proc/$p/stat" 2>/dev/null) in T*) stand=$((stand + 1)) ;; esac
    done
    [ $stand = 4 ] || job_has_ended
}

# suspend_world PASS [OPTION...]: a world whose hvdrun is stopped with the processes that the command PASS prints, for longer than
# hosts may be silent. On a busy machine an agent may read the order to stop too late, when it has ended its ranks.
#
# Ranks leave right after they go on, and the agent may be sending SIGCONT still. When a process ends LeakSanitizer stops it with
# PTRACE_ATTACH. A SIGCONT discards the SIGSTOP of that, for which LeakSanitizer waits for ever: the rank spins, with TracerPid of
# its own child. So these ranks do not look for leaks, which the same ranks in other jobs do.
suspend_world() {
    pass=$1
    shift
    for _try in 1 2 3 4 5; do
        start_world "env ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 $WORLD init barriers 3 print up wait $tmp/go barriers 10 shutdown" \
            --heartbeat-timeout 3 "$@"
        passing=$($pass)
        # shellcheck disable=SC2086  # pids
        [ -z "$passing" ] || kill -TSTP $passing
        signal_hvdrun TSTP
        until_true all_stand_or_job_has_ended
        sleep 4 # longer than hosts may be silent
        # shellcheck disable=SC2086
        [ -z "$passing" ] || kill -CONT $passing
        signal_hvdrun CONT
        : >"$tmp/go"
        finish_job
        rm "$tmp/go"
        [ "$status" != 0 ] || break
        until_true nothing_left
    done
}
suspend_world true
is "Ctrl-Z stops a job on all hosts for as long as one likes" 0 "$status"

start_world "$idle" --heartbeat-timeout 3
signal_hvdrun STOP
ok "hvdrun is stopped and says nothing: the other hosts clean up" until_true no_ranks_on_others
signal_hvdrun CONT
finish_job
clean "and the job ends when it goes on"

start_world "$idle"
victim=$(for p in $(job_pids hvdrun); do pgrep -P "$p" -x hvdssh; done | while read -r p; do pgrep -P "$p" -x hvdssh; done | head -n 1)
ok "hvdssh has a process for a host" [ -n "$victim" ]
[ -z "$victim" ] || kill -KILL "$victim"
finish_job
is "the process of hvdssh for a host is killed: the job ends with status 68" 68 "$status"
like "host and cause are named" \
    "^hvdrun: FAILED on ($(host 0)|$(host 1)|$(host 2)): .*ssh connection to .*: hvdssh killed by signal 9 \\(SIGKILL\\)" "$tmp/err"
clean "nothing is left on any host"

# The hvdssh that hvdrun has started, and its processes, one for each host.
hvdssh_parent() {
    for _p in $(job_pids hvdrun); do pgrep -P "$_p" -x hvdssh; done
}

hvdssh_children() {
    for _p in $(hvdssh_parent); do pgrep -P "$_p" -x hvdssh; done
}

# stop_hvdssh I: $victim, the process of hvdssh for host I, stops. The address at the other end of its socket, which only root sees,
# says whose it is.
stop_hvdssh() {
    address=$(awk -v host="host$1" '$2 == host { split($1, a, "."); printf "%02X%02X%02X%02X:0016", a[4], a[3], a[2], a[1] }' \
        "$TB_DIR/hosts")
    victim=
    for p in $(hvdssh_children); do
        awk -v to="$address" '$3 == to { print "socket:[" $10 "]" }' "/proc/$p/net/tcp" >"$tmp/inodes"
        for fd in "/proc/$p/fd"/*; do
            ! readlink "$fd" | grep -qxF -f "$tmp/inodes" || victim=$p
        done
    done
    ok "there is a process of hvdssh for host $1" [ -n "$victim" ]
    [ -n "$victim" ] && kill -STOP "$victim" || signal_hvdrun TERM
}

# Rank 3 alone is on host 2.
said_later_but_one() {
    [ "$(grep -c later "$tmp/out")" = 3 ] || job_has_ended
}

no_ranks_on_host() {
    [ -z "$(host_pids_named "$1" world)" ]
}

if links; then
    start_world "$idle" --heartbeat-timeout 3
    stop_hvdssh 1
    host_lost "hvdssh of a host is stopped and does not go on"
    like "after the timeout" 'no sign of life for 3 s \(--heartbeat-timeout\)' "$tmp/err"
    clean "and nothing is left on any host, nor of hvdssh"

    start_world "$idle" --heartbeat-timeout 3
    stop_hvdssh 1
    until_true no_ranks_on_host 1
    kill -CONT "$victim"
    host_lost "hvdssh of a host is stopped until the agent there has ended its ranks, and goes on"
    clean "and nothing is left on any host"

    start_world "$WORLD init barriers 3 print up wait $tmp/later print later barriers 10 shutdown" --heartbeat-timeout 60
    stop_hvdssh 2
    : >"$tmp/later"
    until_true said_later_but_one
    unlike "what a rank prints waits for the hvdssh that is stopped" '\[3\].*later' "$tmp/out"
    kill -CONT "$victim"
    finish_job
    rm "$tmp/later"
    is "and if that goes on in time the job does" 0 "$status"
    like "with the output" '\[3\].*later' "$tmp/out"

    start_world "$WORLD init barriers 3 print up wait $tmp/later barriers 10 shutdown" --heartbeat-timeout 3
    kill -STOP "$(hvdssh_parent)"
    : >"$tmp/later"
    finish_job
    rm "$tmp/later"
    is "the hvdssh that makes the processes is stopped: the job does not need it any more" 0 "$status"
    clean "and nothing is left"

    # As a batch system does that suspends a job: all its processes get SIGTSTP, those that pass on what hvdrun orders first.
    passing_on() {
        hvdssh_parent
        hvdssh_children
        job_pids ssh
    }
    for shell in '' 'ssh %h'; do
        suspend_world passing_on ${shell:+--remote-shell "$shell"}
        is "SIGTSTP to hvdrun and ${shell:-hvdssh} stops a job for as long as one likes" 0 "$status"
    done
else
    skip "hvdssh of a host that is stopped" "$no_links"
fi

start_world "$idle" --remote-shell 'ssh %h'
for p in $(job_pids ssh); do
    tr '\0' ' ' <"/proc/$p/cmdline" | grep -q "$(host 1) " && victim=$p
done
ok "there is an ssh client for each host" [ -n "$victim" ]
kill -KILL "$victim"
host_lost "F16: the ssh client of a host is killed"
clean "and nothing is left on any host"

# The listening sshd of a host that is not needed any more; last, since nobody is let in there from now on.
start_world "$WORLD init barriers 3 print up wait $tmp/through barriers 10 shutdown"
kill -KILL "$(listener 1)"
: >"$tmp/through"
finish_job
is "F14: the listening sshd is killed: the job goes on" 0 "$status"
run on 0 "$HVDRUN" -np 1 -H "$(slots 0 1)" true
is "and the next one cannot reach the host" 69 "$status"
clean "nothing is left"

finish
