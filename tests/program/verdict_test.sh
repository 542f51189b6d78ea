#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is said of a job that has ended: who is to blame, in the last line and in the report; and how long it may take.
. "$srcdir/tests/tap.sh"

# flat FILE: a report in one line without blanks between its members, as $tmp/flat.
flat() {
    tr -d '\n\t' <"$1" >"$tmp/flat"
}

# rank_is N PATTERN: what the report in $tmp/flat says of a rank, in the order of its keys.
rank_is() {
    grep -Eq "\"rank\":$1,\"host\":\"[^\"]*\",[^{}]*$2" "$tmp/flat"
}

# The report
report=$tmp/report
run "$HVDRUN" --report "$report" -np 3 sh -c 'if [ $HOROVOD_RANK = 1 ]; then
        echo "just talk"; echo "it \"broke\"" >&2
        until [ -e "$0.0" ] && [ -e "$0.2" ]; do sleep 0.02; done
        exit 42
    fi
    echo up; : >"$0.$HOROVOD_RANK"; sleep 1000' "$tmp/up"
is "a job with a report has the status it had without" 42 "$status"
flat "$report"
like "the verdict names rank, host and process" \
    '"verdict":{"exit_status":42,"cause":"rank","text":"FAILED rank 1 on localhost \(pid [0-9]+\): exited with status 42 ' "$tmp/flat"
is "its text is the last line" "$(tail -n 1 "$tmp/err")" \
    "hvdrun: $(sed 's/.*"text":"\([^"]*\)".*/\1/' "$tmp/flat")"
ok "who failed did so by itself" rank_is 1 '"end":"by itself","exit_status":42,"signal":null'
ok "what it said last on stderr is there" rank_is 1 '"last_lines_of":"stderr","last_lines":\["it \\"broke\\""\]'
ok "who was stopped was terminated, by which signal" rank_is 0 '"end":"terminated","exit_status":null,"signal":15,"signal_name":"SIGTERM"'
ok "who said nothing on stderr is quoted from stdout" rank_is 0 '"last_lines_of":"stdout","last_lines":\["up"\]'
like "times are those of the day, too" '"started":[0-9.]+,"started_at":"20[0-9-]*T[0-9:.]*Z","ended":' "$tmp/flat"
like "the host tells how it was reached" '"host":"localhost","way":"local","agent_pid":[0-9]+,"reached":[0-9.]+,' "$tmp/flat"
unlike "the key of the job is not in it" '[0-9a-f]{64}' "$report"
run "$HVDRUN" --report "$report" -np 2 true
flat "$report"
is "a job that ends well has one as well" 0 "$status"
like "which says so" '"verdict":{"exit_status":0,"cause":"none","text":null,"rank":null,' "$tmp/flat"
run "$HVDRUN" --report "$report" -np 2 no-such-program
flat "$report"
like "and one that never began" '"exit_status":127,"cause":"host",.*"end":"not started",' "$tmp/flat"
: >"$tmp/plain"
run "$HVDRUN" --report "$report" --output-filename "$tmp/plain" -np 2 true
flat "$report"
like "even before hosts are reached" '"exit_status":73,"cause":"job","text":"error: --output-filename: ' "$tmp/flat"
run "$HVDRUN" --report /dev/stdout -np 1 sh -c 'echo output'
is "/dev/stdout gets it behind the output" '[0]<stdout>:output {' "$(head -n 2 "$tmp/out" | tr '\n' ' ' | sed 's/ $//')"
run "$HVDRUN" --report "$tmp/out" -np 1 sh -c 'echo output'
is "so does a file that is standard output" '[0]<stdout>:output {' "$(head -n 2 "$tmp/out" | tr '\n' ' ' | sed 's/ $//')"
run sh -c 'exec "$@" 2>&1' sh "$HVDRUN" --report /dev/stdout -np 1 sh -c 'printf unfinished; exit 3'
is "and begins a line of its own, as the verdict does" "[0]<stdout>:unfinished
{
}
hvdrun: FAILED rank 0" "$(sed -n '1,2p; /^}/p; s/^\(hvdrun: FAILED rank 0\) .*/\1/p' "$tmp/out")"
run "$HVDRUN" --report /dev/stderr -np 1 sh -c 'printf "10 %%\r" >&2'
is "on standard error likewise" '{' "$(sed -n 2p "$tmp/err")"
is "nothing else lies beside the file" report "$(cd "$tmp" && ls -d report*)"

# Reports that cannot be written
run "$HVDRUN" --report "$tmp/none/report" -np 1 touch "$tmp/started"
is "a report that cannot be made is status 73" 73 "$status"
ok "in one line, with nothing started" refused hvdrun 73 "--report: cannot create: '$tmp/none/report': No such file"
ok "really nothing" [ ! -e "$tmp/started" ]
run "$HVDRUN" --report "$tmp" -np 1 touch "$tmp/started"
ok "a directory is none" refused hvdrun 73 "Is a directory"
mkdir "$tmp/gone"
run sh -c 'cd "$0" && rmdir "$0" && exec "$@"' "$tmp/gone" "$HVDRUN" --check-hosts --report "$tmp/none" -np 1
ok "--check-hosts, which has no report, tells what it cannot do in one line" refused hvdrun 127 'working directory: No such file'
run sh -c 'exec "$@" >&-' sh "$HVDRUN" --report /dev/stdout -np 1 touch "$tmp/started"
ok "nor is standard output when it is closed" refused hvdrun 73 "--report: cannot create: '/dev/stdout': Bad file descriptor"
ok "really nothing" [ ! -e "$tmp/started" ]
run sh -c 'exec "$@" >/dev/full' sh "$HVDRUN" --report /dev/stdout -np 1 true
is "B47: one for a standard output that is full is status 74" 74 "$status"
like "B47: which is said" "warning: --report: '/dev/stdout': No space left on device" "$tmp/err"
run sh -c 'ulimit -f 1; exec "$@"' sh "$HVDRUN" --report "$report" -np 4 true
is "B47: one that is larger than files may be is status 74" 74 "$status"
like "B47: which is said, too" "warning: --report: '$report': File too large" "$tmp/err"
run "$HVDRUN" --report /dev/full -np 2 true
is "B47: one that cannot be written is status 74" 74 "$status"
is "B47: which is said once" 1 "$(grep -c 'warning: --report: .*No space left on device' "$tmp/err")"
like "and in the last line" '^hvdrun: FAILED: the report was lost; all ranks exited with status 0$' "$tmp/err"
run "$HVDRUN" --report /dev/full -np 2 sh -c 'exit 3'
is "B47: a job that has failed keeps its status" 3 "$status"
like "B47: and its last line" '^hvdrun: FAILED rank [01] on localhost .*: exited with status 3' "$tmp/err"

# Who is to blame
run "$HVDRUN" --report "$report" -np 3 sh -c 'trap "" TERM; : >"$0.$HOROVOD_RANK"
    [ $HOROVOD_RANK != 2 ] || { until [ -e "$0.0" ] && [ -e "$0.1" ]; do sleep 0.02; done; : >"$0"; }
    [ $HOROVOD_RANK = 2 ] || { until [ -e "$0" ]; do :; done; exit $((3 + HOROVOD_RANK)); }; exec sleep 1000' "$tmp/go"
flat "$report"
ended() {
    sed "s/.*\"rank\":$1,\"host\":[^{}]*\"ended\":\([0-9.]*\),.*/\1/" "$tmp/flat"
}
ok "F7: of two ranks that fail at the same time the first is the job's failure" \
    eval '[ "$status" = 3 ] || [ "$status" = 4 ]'
first=$((status - 3)) second=$((4 - status))
ok "F7: by the time at which it ended" awk "BEGIN { exit !($(ended $first) <= $(ended $second)) }"
ok "F7: both are in the report" eval 'rank_is 0 "\"exit_status\":3," && rank_is 1 "\"exit_status\":4,"'

run "$HVDRUN" --report "$report" -np 3 "$WORLD" init barriers 1 only 2 exit 0 all barriers 3
flat "$report"
is "F4: a rank that exits with 0 while others wait for it is status 76" 76 "$status"
like "F4: and is named, not who failed for it" \
    '^hvdrun: FAILED rank 2 on localhost \(pid [0-9]+\): exited with status 0 without hvd_shutdown, and rank [01] needed it; 2 other ranks terminated, 0 left$' "$tmp/err"
like "which the report says, too" '"verdict":{"exit_status":76,"cause":"left",.*"rank":2,"host":"localhost","pid":[0-9]' "$tmp/flat"
run "$HVDRUN" -np 3 "$WORLD" init barriers 1 only 2 shutdown exit 0 all expect PEER_LEFT return 5
is "F4: one that leaves by hvd_shutdown while others wait for it is, too" 76 "$status"
like "F4: with the collective that failed for it" \
    "^hvdrun: FAILED rank 2 on localhost .*: left before allreduce 'next', for which rank [01] waited; 2 other" "$tmp/err"
run "$HVDRUN" -np 3 sh -c '[ $HOROVOD_RANK = 1 ] || exec "$0" init' "$WORLD"
is "F4: one that ends before hvd_init likewise" 76 "$status"
run "$HVDRUN" -np 2 sh -c '[ $HOROVOD_RANK = 0 ] || { sleep 0.3; exit 5; }'
is "ranks that do not use the library need nobody" 5 "$status"
run "$HVDRUN" --grace 30 -np 3 "$WORLD" patient init barriers 3 only 2 die 9 all expect PEER_LOST return 5
is "who failed because another was killed is not to blame" 137 "$status"

# A rank becomes another program: its connections end, and it runs on.
for victim in 'expect PEER_LOST return 5' 'barriers 1'; do # with hvd_shutdown, and without
    # shellcheck disable=SC2086
    run "$HVDRUN" -np 3 "$WORLD" init barriers 1 only 2 become 'exec sleep 1000' all $victim
    is "F7: a rank that leaves by exec while others wait for it is status 76 ($victim)" 76 "$status"
    like "F7: and is named, not who failed for it" \
        '^hvdrun: FAILED rank 2 on localhost \(pid [0-9]+\): disconnected without hvd_shutdown and ran on \(exec\?\), and rank [01] needed it; 2 other ranks terminated, 0 left$' "$tmp/err"
done

# A rank has no descriptor for the link that a collective needs, and all others are told.
# without_descriptors CONDITION ACT...: what comes of it; rank 1 does not end before that holds.
without_descriptors() {
    _until=$1
    shift
    # shellcheck disable=SC2016
    run env HVD_ALGORITHM=recursive-doubling "$HVDRUN" --verbose --grace 60 -np 4 sh -c '
        until=$1 && shift && [ $HOROVOD_RANK = 1 ] || exec "$@"
        trap told=yes TERM; ulimit -n 64; (trap "" TERM; exec "$@"); status=$?
        until eval "$until"; do sleep 0.02; done; exit $status' \
        sh "$_until" "$WORLD" init barriers 1 only 1 full all "$@"
}
lacked='link to rank 3 on localhost: .*: socket: Too many open files'
without_descriptors "grep -q '^.0.' $tmp/out" only 1 expect SYSTEM return 5 all expect SYSTEM stay
is "F81: a rank without descriptors is the failure" 5 "$status"
like "F81: with what it had none for" \
    "^hvdrun: FAILED rank 1 on localhost \(pid [0-9]+\): exited with status 5 after [0-9.]+ s: $lacked; 3 other ranks terminated, 0 left\$" "$tmp/err"
like "F81: which all others know" "^\[0\]<stdout>:rank 1 on localhost: $lacked" "$tmp/out"
for ends in 'expect SYSTEM return 3' 'expect nothing'; do # with hvd_shutdown, and without
    # shellcheck disable=SC2086
    without_descriptors '[ "$told" ]' $ends
    is "F81: so it is when another ends first ($ends)" "$status" \
        "$(sed -n 's/^hvdrun: [0-9.]* s: rank [023] exited with status //p' "$tmp/err" | head -n 1)"
    like "F81: and is named" \
        "^hvdrun: FAILED rank 1 on localhost \(pid [0-9]+\): $lacked, and rank [023] failed for it; 3 other ranks terminated, 0 left\$" "$tmp/err"
done

run "$HVDRUN" --stopped fail -np 2 sh -c '[ $HOROVOD_RANK = 0 ] || kill -STOP $$; sleep 1000'
is "F26: with --stopped fail a rank that is stopped ends the job" 147 "$status"
like "F26: and is the failure" '^hvdrun: FAILED rank 1 on localhost .*: stopped by signal 19 \(SIGSTOP\) after [0-9.]+ s; 1 other' "$tmp/err"
ok "nothing is left" no_survivors

# Memory
group=/sys/fs/cgroup/memory/hvd-test-$$ limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/hvd-test-$$ limit=memory.max
# no_swap: a process of the group that wants more than it may have is killed, not swapped out.
no_swap() {
    [ "$(wc -l </proc/swaps)" -le 1 ] || echo 0 >"$group/memory.swap.max" ||
        echo 33554432 >"$group/memory.memsw.limit_in_bytes"
}
oom_kills() {
    awk '$1 == "oom_kill" { print $2 }' /proc/vmstat
}
if grep -qs '^oom_kill ' /proc/vmstat && mkdir "$group" 2>/dev/null && echo 33554432 2>/dev/null >"$group/$limit" &&
    no_swap 2>/dev/null; then
    run "$HVDRUN" --report "$report" -np 2 sh -c '[ $HOROVOD_RANK = 1 ] || exec sleep 1000
        ulimit -v 1000000; echo $$ >"$0/cgroup.procs" && exec tail /dev/zero' "$group"
    flat "$report"
    is "F17: a rank that the kernel kills for want of memory is status 137" 137 "$status"
    like "F17: and told from one that somebody kills" \
        '^hvdrun: FAILED rank 1 on localhost .*: killed by signal 9 \(SIGKILL; kernel OOM counter rose\) after ' "$tmp/err"
    ok "F17: in the report, too" rank_is 1 '"signal":9,"signal_name":"SIGKILL","core_dumped":false,"oom":true'
else
    skip "F17: a rank that the kernel kills for want of memory is status 137" "no memory cgroup can be made here"
fi
[ ! -d "$group" ] || rmdir "$group"
for _ in 1 2 3 4 5; do # another test's may fall into the same moment: the kernel counts for the whole machine
    before=$(oom_kills)
    run "$HVDRUN" --report "$report" -np 1 "$ACT" die 9
    [ "$(oom_kills)" != "$before" ] || break
done
flat "$report"
ok "F17: who is killed otherwise was not killed for want of memory" rank_is 0 '"oom":false'

# Processes that cannot be killed
mkdir "$tmp/stuck"
run "$builddir/tests/support/stuck_fs" "$tmp/stuck" "$HVDRUN" --report "$report" --grace 0 -np 3 sh -c '
    [ $HOROVOD_RANK != 1 ] || exec cat "$0/stuck"
    [ $HOROVOD_RANK != 2 ] || until [ -e "$0.read" ]; do sleep 0.1; done
    [ $HOROVOD_RANK != 2 ] || exit 5
    sleep 1000' "$tmp/stuck"
if [ "$status" = 77 ]; then
    skip "F25: a rank that cannot be killed does not keep hvdrun from ending" "nothing can be mounted here"
else
    flat "$report"
    is "F25: a rank that cannot be killed does not keep hvdrun from ending, with the status of the failure" 5 "$status"
    like "F25: it is named, and where it waits" \
        '^hvdrun: localhost: rank 1 \(pid [0-9]+, cat\) cannot be killed: it waits inside the kernel \([^)]+\)$' "$tmp/err"
    like "F25: and counted" '^hvdrun: FAILED rank 2 on .*; 1 other rank terminated, 1 process could not be killed$' "$tmp/err"
    ok "F25: in the report, too" rank_is 1 '"ended":null,"ended_at":null,"end":"not killed"'
    ok "and is gone when it can go" until_true no_survivors
fi
umount -l "$tmp/stuck" 2>/dev/null # if it was killed
rm -f "$tmp/stuck.read"
run "$builddir/tests/support/stuck_fs" "$tmp/stuck" "$HVDRUN" --grace 0 -np 2 --min-np 2 -H localhost:2 sh -c '
    [ $HVD_WORKER != 1 ] || exec cat "$0/stuck"
    until [ -e "$0.read" ]; do sleep 0.1; done
    exit 5' "$tmp/stuck"
if [ "$status" = 77 ]; then
    skip "F25: in an elastic job it is named by its worker" "nothing can be mounted here"
else
    like "F25: in an elastic job it is named by its worker" \
        '^hvdrun: localhost: worker 1 \(pid [0-9]+, cat\) cannot be killed: ' "$tmp/err"
fi
umount -l "$tmp/stuck" 2>/dev/null # if it was killed

# --timeout; a longer one where a busy machine has not got so far by then
for limit in 1 5 25; do
    run "$HVDRUN" --timeout $limit --report "$report" -np 3 sh -c '[ $HOROVOD_RANK != 1 ] || exit 0; sleep 1000'
    ! grep -q 'ranks 0, 2 on' "$tmp/err" || break
done
is "a job that takes longer than it may is status 124" 124 "$status"
like "which ranks still ran is said" \
    "^hvdrun: FAILED: $limit s have passed \(--timeout\) while ranks 0, 2 on localhost still ran; 2 ranks terminated, 0 left$" "$tmp/err"
ok "nothing is left of them" no_survivors
flat "$report"
like "and it is in the report" '"verdict":{"exit_status":124,"cause":"timeout"' "$tmp/flat"
run "$HVDRUN" --timeout 1000 -np 2 sh -c 'exit 5'
is "one that fails before keeps its status" 5 "$status"
run "$HVDRUN" --timeout 1 --grace 1 -np 1 "$ACT" ignore-term stay
is "who does not heed SIGTERM is killed" 124 "$status"
ok "and gone" no_survivors
for limit in 1 5 25; do
    run "$HVDRUN" --timeout $limit --grace 60 -np 2 sh -c '[ $HOROVOD_RANK = 0 ] && exit 6
        trap "sleep $(($0 + 1)); exit 0" TERM; while :; do sleep 0.1; done' $limit
    [ "$status" != 6 ] || break
done
is "time that passes while the job is stopped changes nothing" 6 "$status"
for limit in 1 5 25; do
    run "$HVDRUN" --timeout $limit -np 3 sh -c '[ $HOROVOD_RANK != 1 ] || exec sleep 1000; exec "$0" init' "$WORLD"
    ! grep -q 'of which rank 1 had' "$tmp/err" || break
done
like "a rank that the others wait for in hvd_init is named" \
    "while ranks 0-2 on localhost still ran, of which rank 1 had not called hvd_init, ranks 0, 2 waited in it; 3 ranks" "$tmp/err"
for limit in 1 5 25; do
    run "$HVDRUN" --timeout $limit -np 3 sh -c '[ $HOROVOD_RANK != 1 ] || kill -STOP $$; sleep 1000'
    ! grep -q 'rank 1 was' "$tmp/err" || break
done
like "so is one that is stopped" "while ranks 0-2 on localhost still ran, of which rank 1 was stopped; 3 ranks" "$tmp/err"
for limit in 1 5 25; do
    run "$HVDRUN" --timeout $limit -np 2 sh -c '[ $HOROVOD_RANK = 0 ] || {
        (until grep -q "^State:.T" /proc/$$/status; do :; done; kill -CONT $$) &
        kill -STOP $$; }; exec sleep 1000'
    { ! grep -q '^hvdrun: rank 1.* was stopped' "$tmp/err" || grep -q 'of which' "$tmp/err"; } || break
done
like "and not when it goes on" "while ranks 0, 1 on localhost still ran; 2 ranks" "$tmp/err"
for limit in 2 10 50; do
    run "$HVDRUN" --timeout $limit -np 3 "$WORLD" init but 2 barriers 1 all stay
    ! grep -q 'ranks 0, 1 waited' "$tmp/err" || break
done
like "of who waits in a collective is said for what" "while ranks 0-2 on localhost still ran, of which ranks 0, 1 waited for others \(rank 0: waiting for barrier.* since [0-9.]+ s \(not submitted by 2\)\); 3 ranks" "$tmp/err"
hang="sh -c 'sleep 1000' sh %h"
for limit in 1 5 25; do
    run "$HVDRUN" --timeout $limit --remote-shell "$hang" -np 3 -H localhost:1,far1.example:1,far2.example:1 true
    ! grep -q 'started: far1.*far2' "$tmp/err" || break
done
is "hosts that are not reached by then are status 124" 124 "$status"
like "each is named, with the step at which it hangs and for how long" \
    "^hvdrun: FAILED: $limit s have passed \(--timeout\) before the ranks were started: far1.example at step 'connect' for [0-9.]+ s, far2.example at step 'connect' for [0-9.]+ s\$" "$tmp/err"
start "$HVDRUN" --verbose --remote-shell "$hang" -np 2 -H localhost:1,far1.example:1 true
until_said 'far1.example: connect' "$tmp/err" && until_said 'localhost: ready' "$tmp/err"
stop_with INT
like "so they are when somebody does not want to wait so long" \
    "^hvdrun: stopped by signal 2 \(SIGINT\) after [0-9.]+ s, before the ranks were started: far1.example at step 'connect' for [0-9.]+ s\$" "$tmp/err"
ok "and nothing is left" no_survivors
mkfifo "$tmp/fifo"
for limit in 2 10 50; do
    new_job
    env HVD_TEST_JOB="$job" "$HVDRUN" --timeout $limit -np 1 "$ACT" lines 10000 >"$tmp/fifo" 2>"$tmp/err" </dev/null &
    pid=$!
    exec 9<"$tmp/fifo"
    status=0
    wait "$pid" || status=$?
    exec 9<&-
    grep -q 'before the ranks' "$tmp/err" || break
done
is "it ends the wait for a reader who does not read, too" 124 "$status"
like "which is said" '--timeout\) (before all output was written$|while rank 0 on localhost still ran; )' "$tmp/err"
finish
