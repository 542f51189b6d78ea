#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How jobs end: whose status it is, what the last line says, and that nothing is left.
. "$srcdir/tests/tap.sh"

last_line() {
    tail -n 1 "$tmp/err"
}

# The first failure
run "$HVDRUN" -np 3 sh -c '[ $HOROVOD_RANK = 1 ] && { echo "it broke" >&2; exit 42; }; sleep 1000'
is "F3: the status of the first rank that fails is hvdrun's" 42 "$status"
like "the last line names rank, host, process and status" \
    '^hvdrun: FAILED rank 1 on localhost \(pid [0-9]+\): exited with status 42 after [0-9.]+ s; 2 other ranks terminated, 0 left$' "$tmp/err"
is "what it said last, right above, is not repeated" 1 "$(grep -c 'it broke' "$tmp/err")"
ok "nothing is left" no_survivors

run "$HVDRUN" -np 2 sh -c 'if [ $HOROVOD_RANK = 1 ]; then until [ -e "$0" ]; do sleep 0.1; done; echo "it broke" >&2; exit 42; fi
    trap "echo also ended >&2; exit 0" TERM; : >"$0"; while :; do sleep 0.1; done' "$tmp/ready"
like "it is where others have written since" '^hvdrun: rank 1 last wrote to stderr: it broke$' "$tmp/err"

for signum in 9 11 7 8 6; do
    run "$HVDRUN" -np 2 "$ACT" only 1 die $signum
    is "F6: a rank that dies of signal $signum is status $((128 + signum))" $((128 + signum)) "$status"
done
like "which is named" 'FAILED rank 1 on localhost .*: killed by signal 6 \(SIGABRT' "$tmp/err"
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ] && [ "$SANITIZERS" = no ] && (ulimit -c unlimited) 2>/dev/null; then
    run sh -c 'cd "$0" && ulimit -c unlimited && exec "$@"' "$tmp" "$HVDRUN" -np 1 "$ACT" die 6
    like "F6: a core that was dumped is told" 'killed by signal 6 \(SIGABRT.*, core dumped' "$tmp/err"
else
    skip "F6: a core that was dumped is told" "no core is dumped here"
fi
run "$HVDRUN" -np 2 -H localhost:1,127.0.0.2:1 sh -c 'exit $((HOROVOD_RANK * 5))'
is "a failure on the second host counts" 5 "$status"
like "and names that host" 'FAILED rank 1 on 127.0.0.2 ' "$tmp/err"
run "$HVDRUN" -np 2 "$ACT" only 0 exit 0
is "ranks that end early and well are no failure" 0 "$status"

# Stubborn ranks
run "$HVDRUN" -np 2 --grace 1 sh -c '[ $HOROVOD_RANK = 1 ] && exit 3; trap "" TERM; while :; do sleep 1000; done'
is "a rank that ignores SIGTERM is killed after the grace period" 3 "$status"
ok "and nothing is left of it" no_survivors
run "$HVDRUN" -np 2 --grace 30 sh -c 'if [ $HOROVOD_RANK = 1 ]; then until [ -e "$0" ]; do sleep 0.1; done; exit 3; fi
    trap "echo cleaned up; exit 0" TERM; : >"$0"; while :; do sleep 0.1; done' "$tmp/trapped"
like "one that handles SIGTERM has time to clean up" '\[0\]<stdout>:cleaned up' "$tmp/out"

# Commands that cannot be run
run "$HVDRUN" -np 4 ./no-such-program
is "a command that is not found is status 127" 127 "$status"
is "said once" 1 "$(wc -l <"$tmp/err")"
like "with host and command" "^hvdrun: FAILED on localhost: command not found: './no-such-program'" "$tmp/err"
run "$HVDRUN" -np 2 no-such-program
is "nor in PATH" 127 "$status"
: >"$tmp/plain"
run "$HVDRUN" -np 2 "$tmp/plain"
is "one that is not executable is status 126" 126 "$status"
like "with the reason" "cannot be executed: '.*plain'.*: Permission denied" "$tmp/err"
run "$HVDRUN" -np 2 "$tmp"
is "a directory too" 126 "$status"
mkfifo -m 755 "$tmp/pipe"
run "$HVDRUN" -np 2 "$tmp/pipe"
is "a named pipe is not waited for" 126 "$status"
like "nor taken for a program" "^hvdrun: FAILED on localhost: command cannot be executed: '.*/pipe': not a regular file\$" "$tmp/err"
printf '#!/no/such/interpreter\n' >"$tmp/script"
chmod +x "$tmp/script"
run "$HVDRUN" -np 2 "$tmp/script"
is "a script whose interpreter is missing too" 126 "$status"
like "which is named before a rank is started" "^hvdrun: FAILED on localhost: command .*script': its interpreter '/no/such/interpreter': No such file" "$tmp/err"
printf 'a\0b\n' >"$tmp/binary"
chmod +x "$tmp/binary"
run "$HVDRUN" -np 1 "$tmp/binary"
is "a binary of another kind too" 126 "$status"
[ "$(uname -m)" = aarch64 ] && machine='\076' || machine='\267'
printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000'"$machine"'\000\001\000\000\000' >"$tmp/binary"
run "$HVDRUN" -np 1 "$tmp/binary"
is "a program for another machine too" 126 "$status"
like "which is said" "binary': Exec format error" "$tmp/err"
mkdir "$tmp/gone"
(cd "$tmp/gone" && rmdir "$tmp/gone" && "$HVDRUN" -np 1 true) 2>"$tmp/err"
is "a working directory that is gone is status 127" 127 $?

# Signals to hvdrun
for row in F30:INT:130 F32:TERM:143 F33:HUP:129; do
    fault=${row%%:*} signal=${row#*:} signal=${signal%:*}
    if ignores "$((${row##*:} - 128))"; then
        skip "$fault: SIG$signal ends the job" "SIG$signal is ignored here, and env has no --default-signal"
        continue
    fi
    start "$HVDRUN" -np 2 "$ACT" text 'up\n' stay
    until_said '\[1\].*up'
    stop_with "$signal"
    is "$fault: SIG$signal ends the job with status ${row##*:}" "${row##*:}" "$status"
    like "and is named" "^hvdrun: stopped by signal [0-9]+ \(SIG$signal\) after [0-9.]+ s; 2 ranks terminated, 0 left$" "$tmp/err"
    ok "and nothing is left" no_survivors
done
mkfifo "$tmp/hostfile"
for row in INT:2 TERM:15 HUP:1; do
    signal=${row%:*} number=${row#*:}
    if ignores "$number"; then
        skip "SIG$signal before the hosts are known ends hvdrun with one line" "SIG$signal is ignored here, and env has no --default-signal"
        continue
    fi
    start "$HVDRUN" --hostfile "$tmp/hostfile" true
    exec 9>"$tmp/hostfile" # hvdrun has opened it
    stop_with "$signal"
    exec 9>&-
    is "SIG$signal before the hosts are known ends hvdrun with one line" \
        "$((128 + number)) hvdrun: stopped by signal $number (SIG$signal) before anything was started" "$status $(cat "$tmp/err")"
done
printf '#!/bin/sh\n: >"%s/hangs"\nexec sleep 1000\n' "$tmp" >"$tmp/hang"
chmod +x "$tmp/hang"
start "$HVDRUN" --check-hosts --remote-shell "$tmp/hang %h" -H localhost:1,far1.example:1 true
until_true test -e "$tmp/hangs"
stop_with TERM
is "SIGTERM during --check-hosts ends it with one line" "143 hvdrun: stopped by signal 15 (SIGTERM) while hosts were checked" \
    "$status $(cat "$tmp/err")"
like "and the table has the step of the host that hangs" '^far1\.example: connect: not ready before signal 15 \(SIGTERM\)$' "$tmp/out"
ok "and nothing is left" until_true no_survivors_now
for row in F30:INT:130 F32:TERM:143; do
    fault=${row%%:*} signal=${row#*:} signal=${signal%:*}
    start "$HVDRUN" --grace 1 -np 2 "$ACT" ignore-term text 'up\n' stay
    until_said '\[0\].*up' && until_said '\[1\].*up'
    stop_with "$signal"
    is "$fault: so it does if the ranks ignore SIG$signal" "${row##*:}" "$status"
    ok "of which nothing is left" no_survivors
done
start "$HVDRUN" -np 2 "$ACT" say-signals
until_said '\[0\].*listening' && until_said '\[1\].*listening'
for signal in USR1 WINCH CONT; do
    kill "-$signal" "$pid"
    ok "F34: SIG$signal is passed on to every rank" until_said "\\[0\\]<stdout>:got SIG$signal"
    ok "really every rank" until_said "\\[1\\]<stdout>:got SIG$signal"
done
kill -PIPE "$pid"
pkill -PIPE -P "$pid" hvdagent
kill -INT "$pid"
ok "F35: SIGPIPE ends neither hvdrun nor its agent" until_said '\[1\]<stdout>:got SIGINT'
ok "and SIGINT is passed on as SIGINT" until_said '^\[0\]<stdout>:got SIGINT'
stop_with TERM
is "F30: the first signal is the status" 130 "$status"
is "F30: each rank that handles it gets it once" 2 "$(grep -c 'got SIGINT' "$tmp/out")"
start "$HVDRUN" -np 2 sh -c 'echo "pid $$"; exec "$0" stay' "$ACT"
until_said '\[0\].*pid' && until_said '\[1\].*pid'
rank1=$(sed -n 's/^\[1\].*pid //p' "$tmp/out")
kill -STOP "$rank1"
stopped="rank 1 on localhost (pid $rank1) was stopped by signal 19 (SIGSTOP)"
ok "F26: a rank that is stopped is named" until_true grep -qxF "hvdrun: $stopped" "$tmp/err"
kill -CONT "$rank1"
stop_with TERM
is "and the job goes on until it is told to end" '143 1' "$status $(grep -cxF "hvdrun: $stopped" "$tmp/err")"
start "$HVDRUN" -np 2 "$ACT" say-signals
until_said '\[0\].*listening' && until_said '\[1\].*listening'
pkill -STOP -g "$(pgrep -P "$(pgrep -P "$pid" hvdagent)" | head -n 1)"
stop_with TERM
is "F27: a job with a stopped rank ends when it is told to" 143 "$status"
is "and that rank too could clean up" 2 "$(grep -c 'got SIGTERM' "$tmp/out")"
start "$HVDRUN" --verbose --grace 1000 -np 2 "$ACT" ignore-term text 'up\n' stay
until_said '\[0\].*up' && until_said '\[1\].*up'
kill -INT "$pid"
until_said 'stopping with signal 2' "$tmp/err"
stop_with INT
is "F31: a second SIGINT kills at once" 130 "$status"
start "$HVDRUN" --grace 1000 -np 2 "$ACT" ignore-term text 'up\n' stay
until_said '\[0\].*up' && until_said '\[1\].*up'
kill -INT "$pid"
ok "F30: ranks that ignore SIGINT are named, and what ends them" \
    until_said '^hvdrun: stopping ranks 0, 1; Ctrl-C again kills$' "$tmp/err"
stop_with INT
is "which it does" 130 "$status"
ok "and nothing is left" no_survivors
start "$HVDRUN" --grace 1 -np 2 "$ACT" text 'up\n' stay
until_said '\[0\].*up' && until_said '\[1\].*up'
pkill -STOP -P "$pid" hvdagent
kill -INT "$pid"
stop_with INT
is "F31: even if the agent is stopped" 130 "$status"
ok "and then too nothing is left" until_true no_survivors

start "$HVDRUN" --grace 1 --heartbeat-timeout 1 -np 2 "$ACT" text 'up\n' stay
until_said '\[0\].*up' && until_said '\[1\].*up'
pkill -STOP -P "$pid" hvdagent
finish_job
is "F28: an agent of this machine that is stopped is lost" 68 "$status"
like "and that is said" '^hvdrun: FAILED on localhost: host lost: .*no sign of life for 1 s \(--heartbeat-timeout\): it is stopped; ' "$tmp/err"
ok "and nothing is left of what it ran" until_true no_survivors

# A reader who does not read must not keep a job from being stopped.
mkfifo "$tmp/fifo"
new_job
env HVD_TEST_JOB="$job" "$HVDRUN" --verbose --grace 1 -np 2 sh -c '
    if [ $HOROVOD_RANK = 0 ]; then
        yes | head -c 100000 # more than the pipe takes
        : >"$0"
        exec yes
    fi
    until [ -e "$0" ]; do sleep 0.02; done
    exit 3' "$tmp/full" >"$tmp/fifo" 2>"$tmp/err" </dev/null &
pid=$!
exec 9<"$tmp/fifo"
until_said 'rank 1 exited with status 3' "$tmp/err" && until_said 'rank 0 killed' "$tmp/err"
stop_with TERM
exec 9<&-
is "a job whose output nobody reads ends when it is told to" 3 "$status"
ok "and leaves nothing" no_survivors

# Ctrl-Z
in_state() { # NAME STATE COUNT
    [ "$(for p in $(survivors | grep -oE '[0-9]+'); do cut -d' ' -f2,3 "/proc/$p/stat"; done 2>/dev/null |
        grep -c "($1) $2")" -eq "$3" ]
}
ranks_in_state() { # STATE COUNT
    in_state act "$@"
}
start sh -c "exec \"$HVDRUN\" -np 2 \"$ACT\" lines 100000000 >/dev/null"
until_true ranks_in_state '[RSD]' 2
kill -TSTP "$pid"
ok "SIGTSTP stops the ranks" until_true ranks_in_state T 2
ok "and hvdrun" until_true grep -q '^State:.T' "/proc/$pid/status"
kill -CONT "$pid"
ok "SIGCONT continues them" until_true ranks_in_state '[RSD]' 2
stop_with TERM
is "and the job can be stopped" 143 "$status"
unlike "of ranks that hvdrun has stopped nothing is said" 'was stopped' "$tmp/err"
start "$HVDRUN" -np 2 "$ACT" say-signals
until_said '\[0\].*listening' && until_said '\[1\].*listening'
resized() { # COUNT
    [ "$(grep -c '^\[0\].*got SIGWINCH' "$tmp/out")" -ge "$1" ]
}
continues_each_time() { # SIGWINCH tells that hvdrun runs
    for count in 1 2 3 4 5 6 7 8 9 10; do
        kill -TSTP "$pid"
        until_true grep -q '^State:.T' "/proc/$pid/status" || return
        for signal in CONT TSTP CONT WINCH; do
            kill "-$signal" "$pid"
        done
        until_true resized "$count" || return
    done
}
ok "F29: however soon SIGCONT follows, it counts" continues_each_time
stop_with TERM
start "$HVDRUN" -np 2 sh -c "[ \$HOROVOD_RANK = 1 ] || setsid sh -c 'kill -STOP \$\$; exit' & $ACT daemon; exec $ACT holder stay"
until_true ranks_in_state '[RSD]' 6 && until_true in_state sh T 1
kill -TSTP "$pid"
ok "SIGTSTP stops what has left the session of its rank, too" until_true ranks_in_state T 6
until_true grep -q '^State:.T' "/proc/$pid/status"
kill -CONT "$pid"
ok "SIGCONT continues that" until_true ranks_in_state '[RSD]' 6
ok "but not what stood still before" in_state sh T 1
kill -TSTP "$pid"
until_true ranks_in_state T 6
kill -TERM "$pid"
kill -CONT "$pid"
stop_with
ok "and all of it ends" until_true no_survivors

# An agent that does not answer holds up the stop of hvdrun itself for a second.
start "$HVDRUN" --grace 1 -np 2 "$ACT" text 'up\n' stay
until_said '\[0\].*up' && until_said '\[1\].*up'
pkill -STOP -P "$pid" hvdagent
kill -TSTP "$pid"
stop_with TERM
is "F32: SIGTERM while hvdrun is about to stop itself ends the job, without SIGCONT" 143 "$status"
ok "and nothing is left of it" until_true no_survivors

new_job
: >"$tmp/out"
(trap '' HUP; exec env HVD_TEST_JOB="$job" "$HVDRUN" -np 1 "$ACT" text 'up\n' stay) >"$tmp/out" 2>"$tmp/err" &
pid=$!
until_said up
kill -HUP "$pid"
ok "F33: under nohup SIGHUP does nothing" kill -0 "$pid"
stop_with TERM
is "until SIGTERM comes" 143 "$status"

# Nobody hides
start "$HVDRUN" -np 2 sh -c "$ACT daemon; $ACT holder; sleep 1000 & echo up; sleep 1000"
until_said '\[0\].*up' && until_said '\[1\].*up'
many_survivors() { # who becomes another program has no environment meanwhile
    [ "$(survivors | wc -l)" -ge 10 ]
}
ok "ranks have descendants that have left their session" until_true many_survivors
kill -KILL "$pid"
ok "hvdrun killed with SIGKILL leaves no process behind" until_true no_survivors
wait "$pid" 2>/dev/null
start "$HVDRUN" -np 2 "$ACT" ignore-term text 'up\n' stay
until_said '\[0\].*up' && until_said '\[1\].*up'
kill -KILL "$pid"
ok "not even one that ignores SIGTERM" until_true no_survivors
wait "$pid" 2>/dev/null
while IFS='|' read -r what left; do
    run "$HVDRUN" -np 2 sh -c "$left exit 0"
    is "$what does not keep the job from ending" 0 "$status"
    ok "and is ended with it" no_survivors
done <<-.
	F19: a child that outlives its rank|sleep 1000 >/dev/null 2>&1 &
	F20: a daemon that has left session and group and ignores SIGTERM|$ACT holder >/dev/null 2>&1;
	F21: a daemon that has closed all descriptors, too,|$ACT daemon;
	F22: a daemon that holds stdout open|$ACT holder;
.
start "$HVDRUN" -np 2 sh -c "$ACT orphans 20; echo up; exec $ACT stay"
until_said '\[0\].*up' && until_said '\[1\].*up'
no_zombies() { # among the children of the agent
    ! ps -o stat= --ppid "$(pgrep -P "$pid" hvdagent)" | grep -q Z
}
ok "F24: what ranks have orphaned does not stay as zombies" until_true no_zombies
stop_with TERM
run "$HVDRUN" -np 2 sh -c '(while kill -0 $$ 2>/dev/null; do :; done; echo late) & exit 0' # when the rank has gone
is "a descendant may still finish what it has to say" 2 "$(grep -c 'late' "$tmp/out")"
for victim in INT KILL SEGV; do
    start "$HVDRUN" -np 2 sh -c "$ACT daemon; sleep 1000 & echo up; sleep 1000"
    until_said '\[0\].*up' && until_said '\[1\].*up'
    agent=$(pgrep -P "$pid" hvdagent)
    kill "-$victim" "$agent"
    status=0
    wait "$pid" 2>/dev/null || status=$?
    is "F15: an agent that gets SIG$victim loses its host, status 68" 68 "$status"
    like "which is named" '^hvdrun: FAILED on localhost: host lost: its agent \(pid [0-9]+\)' "$tmp/err"
    ok "and nothing is left" until_true no_survivors
done
# Who was there before the job, and what a command has started, is not hvdrun's to kill.
cat >"$tmp/before" <<'END'
folder=$1; shift
sleep 1000 & echo $! >"$folder/elder.child"
(sleep 1000 & echo $! >"$folder/elder.orphan"; until [ -e "$folder/go" ]; do sleep 0.02; done) &
exec "$@"
END
cat >"$tmp/way" <<'END'
folder=$1; shift 2
(setsid sh -c 'echo $$ >>"$0/elder.master"; exec sleep 1000' "$folder" &)
exec "$@"
END
orphaned() { # the first in a file is a child of hvdrun
    [ "$(ps -o ppid= -p "$(head -n 1 "$tmp/elder.$1")" | tr -d ' ')" = "$pid" ]
}
lives() { # all in a file, which end now
    while read -r elder; do
        kill "$elder" || return 1
    done <"$tmp/elder.$1"
}
start sh "$tmp/before" "$tmp" "$HVDRUN" -np 2 -H localhost:1,192.0.2.1:1 --remote-shell "sh $tmp/way $tmp %h" "$ACT" text 'up\n' stay
until_said '\[0\].*up' && until_said '\[1\].*up'
: >"$tmp/go"
until_true orphaned orphan && until_true orphaned master
pkill -KILL -P "$pid" hvdagent
wait "$pid" 2>/dev/null
ok "children that hvdrun had before live on when an agent is killed" lives child
ok "and whom they have orphaned" lives orphan
ok "and what a command has started that reached another host" lives master
ok "but nothing of the job" until_true no_survivors

run sh -c 'printf "HVD1 and then nonsense that is no frame" | "$0"' "${HVDAGENT}"
like "an agent that hears nonsense says so and ends" 'hvdagent: link to hvdrun: frame of type' "$tmp/err"
finish
