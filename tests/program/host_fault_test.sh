#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever dies, stops or is cut off while a job runs: the job ends, the host is named, nothing is left on any host.
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/hosts.sh"
hosts_up 3 || skip_all "$hosts_reason"

# Ranks that reduce without end; and ranks that only wait.
busy="$WORLD init barriers 3 print up barriers 100000000"
idle="$WORLD init barriers 3 print up stay"

# start_job RANKS-DO [OPTION...]: on three hosts, two ranks on the second.
start_job() {
    act=$1
    shift
    # shellcheck disable=SC2086  # words
    start on 0 "$HVDRUN" "$@" -np 4 -H "$(slots 1 2 1)" $act
    for rank in 0 1 2 3; do until_said "\\[$rank\\].*up"; done
}

# lost SENTENCE: the job must end with the host 1 lost.
lost() {
    began=$(date +%s%N)
    finish_job
    echo "# ended after $((($(date +%s%N) - began) / 1000000)) ms"
    is "$1: the job ends with status 68" 68 "$status"
    like "and the host is named" "^hvdrun: FAILED on $(host 1): " "$tmp/err"
}

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
    start_job "$act"
    signal_hvdrun KILL
    finish_job
    clean "hvdrun is killed, $how: nothing is left on any host"

    start_job "$act"
    kill -KILL "$(job_pids world | head -n 1)"
    finish_job
    is "a rank is killed, $how: status 137" 137 "$status"
    like "rank and host are named" "^hvdrun: FAILED rank [0-3] on " "$tmp/err"
    clean "nothing is left on any host"

    for kind in inner outer; do
        start_job "$act"
        victim=$(agents 1 | sed -n "s/^$kind //p" | head -n 1)
        ok "there is an $kind process of hvdagent" [ -n "$victim" ]
        [ -z "$victim" ] || kill -KILL "$victim"
        lost "the $kind hvdagent of a host is killed, $how"
        clean "nothing is left on any host"
    done

    start_job "$act"
    victim=$(session 1)
    ok "there is a session of sshd" [ -n "$victim" ]
    [ -z "$victim" ] || kill -KILL "$victim"
    lost "the session of sshd is killed, $how"
    clean "nothing is left on any host"
done

start_job "$idle"
for p in $(job_pids hvdrun) $(agents 0 | cut -d' ' -f2); do kill -KILL "$p"; done
finish_job
clean "hvdrun and all of its own host's hvdagent are killed: nothing is left on the others"

start_job "$idle"
# shellcheck disable=SC2046
kill -STOP $(agents 1 | cut -d' ' -f2)
lost "hvdagent is stopped"
# shellcheck disable=SC2046
kill -CONT $(agents 1 | cut -d' ' -f2) 2>/dev/null
clean "and when it goes on nothing is left"

start_job "$idle" --heartbeat-timeout 2
signal_hvdrun STOP
ok "hvdrun is stopped and says nothing: the other hosts clean up" until_true no_ranks_on_others
signal_hvdrun CONT
finish_job
clean "and the job ends when it goes on"

if links; then
    for act in "$busy" "$idle"; do
        [ "$act" = "$busy" ] && how="ranks that reduce" || how="idle ranks"
        for fault in cut unplug pause crash; do
            start_job "$act"
            "tb_$fault" 1
            lost "$fault of a host, $how"
            [ $fault != pause ] || tb_resume 1
            clean "and nothing is left on any host, the one that is cut off included"
            case $fault in
            cut) tb_mend 1 ;;
            unplug) tb_plug 1 ;;
            crash) hosts_up 3 ;;
            esac
        done
    done
    start_job "$WORLD init barriers 3 print up wait $tmp/go barriers 100 shutdown"
    tb_cut 1
    sleep 2 # the length of the fault
    tb_mend 1
    : >"$tmp/go"
    finish_job
    is "a host that was cut off for 2 s: an idle job goes on" 0 "$status"
    rm "$tmp/go"
    start_job "$WORLD init barriers 3 print up barriers 30000 shutdown"
    tb_cut 1
    sleep 2 # the length of the fault
    tb_mend 1
    finish_job
    is "and a busy one" 0 "$status"
else
    skip "hosts that are cut off, unplugged, paused, or crash" "$no_links"
fi
finish
