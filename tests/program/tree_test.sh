#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A tree of agents: who starts whom, what passes through, and what a process that dies costs. A command stands in for the way from
# one machine to another; it writes down who asks for whom.
. "$srcdir/tests/tap.sh"

unset HVD_REMOTE_SHELL OMPI_MCA_plm_rsh_agent XDG_RUNTIME_DIR
TMPDIR=$tmp
export TMPDIR
printf '#!/bin/sh\necho "$1 $PPID" >>%s\nexec /bin/sh\n' "$tmp/ways" >"$tmp/way"
printf '#!/bin/sh\n[ "$(cat /proc/$PPID/comm)" = hvdagent ] || exec /bin/sh\necho "Permission denied" >&2\nexit 255\n' >"$tmp/no-way"
chmod 755 "$tmp/way" "$tmp/no-way"
seven=a.invalid:1,b.invalid:1,c.invalid:1,d.invalid:1,e.invalid:1,f.invalid:1,g.invalid:1

# on_seven WIDTH COMMAND...: a rank on each host; `how` is run or start.
on_seven() {
    width=$1
    shift
    : >"$tmp/ways"
    "$how" "$HVDRUN" -np 7 -H "$seven" --remote-shell "${way-$tmp/way} %h" --tree-width "$width" "$@"
}

# starters: how many processes have started hosts, and for how many each.
starters() {
    cut -d' ' -f2 "$tmp/ways" | sort | uniq -c | awk '{ print $1 }' | sort -n | tr '\n' ' '
}

how=run
on_seven 2 sh -c 'echo "rank $HOROVOD_RANK on $HOROVOD_HOSTNAME"; echo "error $HOROVOD_RANK" >&2'
is "seven hosts are reached" 0 "$status"
is "by hvdrun and three agents" '1 2 2 2 ' "$(starters)"
is "their ranks are heard" 'rank 0 on arank 1 on brank 2 on crank 3 on drank 4 on erank 5 on frank 6 on g' \
    "$(grep -o 'rank . on .' "$tmp/out" | sort | tr -d '\n')"
is "on stderr too" '0123456' "$(grep -o 'error .' "$tmp/err" | sort | tr -cd 0-9)"
ok "nothing is left" no_survivors
on_seven 0 true
is "without a width hvdrun starts all" '7 ' "$(starters)"
on_seven 20 true
is "as it does with a width of more than the hosts" '7 ' "$(starters)"
on_seven 2 sh -c 'exit $((HOROVOD_RANK == 6 ? 3 : 0))'
is "a status comes from the last host" 3 "$status"
like "which is named" 'FAILED rank 6 on g.invalid .*exited with status 3' "$tmp/err"

# The description of the job passes from agent to agent.
big=$(head -c 100000 /dev/zero | tr '\0' x)
export big
on_seven 2 -x EVERYWHERE='it is' --network-interfaces lo sh -c 'echo "$EVERYWHERE $1 ${#big} $HVD_NETWORK_INTERFACES"' sh 'a  b'
is "arguments and variables reach every level" '      7 it is a  b 100000 lo' \
    "$(sed 's/^\[[0-9]*\]<stdout>: *//' "$tmp/out" | sort | uniq -c)"
unset big
on_seven 2 "$WORLD" init collectives shutdown
is "ranks meet through the tree" 0 "$status"

# Output that nobody reads stops its writer, and nobody else.
on_seven 2 sh -c 'if [ $HOROVOD_RANK = 6 ]; then head -c 3000000 /dev/zero | tr "\0" x; echo; fi'
is "much output comes whole" 3000000 "$(tr -cd x <"$tmp/out" | wc -c | tr -d ' ')"

run "$HVDRUN" -np 7 -H "$seven" --remote-shell "$tmp/no-way %h" --tree-width 2 true
is "where agents reach nobody, hvdrun does" 0 "$status"
is "with one warning" 1 "$(grep -c warning "$tmp/err")"
like "that says why" \
    "^hvdrun: warning: .\.invalid could not be connected from .\.invalid \(.*exited with status 255: Permission denied\): .* itself \(--tree-width\)$" \
    "$tmp/err"
ok "leaving nothing" no_survivors

# agent_of RANK: the agent of a rank of the job in the background.
agent_of() {
    sed -n "s/.*pid $1 //p" "$tmp/out"
}
all_run() {
    [ "$(grep -c ':pid ' "$tmp/out")" = 7 ]
}
sleepers() {
    how=start
    on_seven 2 "$@" sh -c 'echo "pid $HOROVOD_RANK $PPID"; exec sleep 1000'
    until_true all_run || complain "they do not run"
}

sleepers
stop_with KILL
ok "without hvdrun nothing lives on" until_true no_survivors
sleepers
kill -KILL "$(agent_of 0)"
finish_job
is "a lost agent is a lost host" 68 "$status"
like "which is named, not one of those behind it" 'FAILED on a\.invalid: host lost: .*killed by signal 9.* 7 ranks terminated, 0 left' "$tmp/err"
ok "with all behind it" until_true no_survivors
sleepers
kill -KILL "$(agent_of 6)"
finish_job
like "the last host is named when it is lost" 'FAILED on g\.invalid: host lost: .*killed by signal 9' "$tmp/err"
ok "and the others end" until_true no_survivors
sleepers --heartbeat-timeout 5
kill -STOP "$(agent_of 1)"
finish_job
like "an agent that is stopped is named, not those behind it" 'FAILED on b\.invalid: host lost: no sign of life for 5 s' "$tmp/err"
kill_job
# An agent that does not answer can neither stop the hosts below it nor say that they have stopped.
sleepers --grace 0 --heartbeat-timeout 3600 --report "$tmp/report"
kill -STOP "$(agent_of 1)"
stop_with TERM
is "a job ends although an agent with others below it is stopped" 143 "$status"
is "and the hosts below it are lost because of it" 2 "$(grep -c "host lost: b.invalid, through which it was reached, was lost" "$tmp/report")"
kill_job
sleepers
stop_with TERM
is "a signal ends the job" 143 "$status"
ok "with all of it" until_true no_survivors

# A signal goes to the first level, and from agent to agent to every rank.
ranks_in_state() { # STATE COUNT
    [ "$(for p in $(survivors | grep -oE '[0-9]+'); do cut -d' ' -f2,3 "/proc/$p/stat"; done 2>/dev/null | grep -c "(sleep) $1")" = "$2" ]
}
sleepers
until_true ranks_in_state '[RSD]' 7
kill -TSTP "$pid"
ok "SIGTSTP stops all ranks" until_true ranks_in_state T 7
ok "and hvdrun" until_true grep -q '^State:.T' "/proc/$pid/status"
kill -CONT "$pid"
ok "SIGCONT continues all ranks" until_true ranks_in_state '[RSD]' 7
stop_with TERM
is "and the job can be stopped" 143 "$status"
how=start
on_seven 2 sh -c 'trap "echo heard $HOROVOD_RANK; exit 0" USR1; echo "pid $HOROVOD_RANK $PPID"; while :; do sleep 1000 & wait; done'
until_true all_run || complain "they do not run"
kill -USR1 "$pid"
finish_job
is "a signal that is passed on ends the job well" 0 "$status"
is "after every rank has heard it" 0123456 "$(grep -o 'heard .' "$tmp/out" | sort | tr -cd 0-9)"

for wrong in 1 x -1 1025; do
    run "$HVDRUN" --tree-width "$wrong" -np 1 true
    is "--tree-width $wrong is refused" 2 "$status"
    is "in a line" 1 "$(wc -l <"$tmp/err" | tr -d ' ')"
done
finish
