#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --stack-traces: SIGUSR2 and --timeout tell where each rank stands, in C and in Python, and say why where they cannot: no
# debugger, one that hangs, is refused or floods, a rank that is stopped, an agent that does not answer. The job goes on.
. "$srcdir/tests/tap.sh"

# The leak check of a rank uses ptrace itself when the rank ends. It fails if a debugger still looks at the rank then, and a
# debugger may: each SIGUSR2 is a question, and the job may end while the last one is open.
no_leaks=ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

# ask_until_said PATTERN: asks again and again, because ranks need a moment to come to what they wait for.
ask_until_said() {
    until_true ask_and_look "$1"
}
ask_and_look() {
    kill -USR2 "$pid" 2>/dev/null && sleep 0.2 && grep -Eq -e "$1" "$tmp/err"
}

# said_or_ask PATTERN: asks again only if it was not said: what a debugger does in its time depends on how busy the machine is.
said_or_ask() {
    grep -Eq -e "$1" "$tmp/err" || { ask_and_look "$1" || sleep 1; grep -Eq -e "$1" "$tmp/err"; }
}

# can_look PROGRAM ARGUMENT...: whether a debugger that ends in "-p PID" may read a child of its own here.
can_look() {
    command -v "$1" >/dev/null && sh -c 'sleep 60 >/dev/null 2>&1 & echo $! >"$0" && exec "$@" -p $!' "$tmp/child" "$@" </dev/null 2>&1 | grep -q '^#0' || set --
    [ ! -s "$tmp/child" ] || kill "$(cat "$tmp/child")" 2>/dev/null
    rm -f "$tmp/child"
    [ $# != 0 ]
}

# pausing ARGUMENT...: hvdrun, as a job of four ranks in which rank 2 does not come to a barrier until $tmp/go is there.
pausing() {
    start "$@" -np 4 -x "$no_leaks" "$WORLD" init print up barriers 1 only 2 wait "$tmp/go" all barriers 1 shutdown
    for rank in 0 1 2 3; do until_said "\[$rank\]<stdout>:up"; done
}

ends_well() {
    : >"$tmp/go"
    finish_job
    is "$1: the job goes on when it has come" 0 "$status"
    rm -f "$tmp/go"
}

pid_of_rank() {
    survivors | cut -d/ -f3 | while read -r process; do
        ! grep -qz "^HOROVOD_RANK=$1\$" "/proc/$process/environ" || echo "$process"
    done
}

# In C
if can_look eu-stack; then
    pausing "$HVDRUN" --stack-traces
    ok "ranks that wait for another are told in one line" \
        ask_until_said '^hvdrun: ranks 0, 1, 3: hvd_barrier <- act_barriers <- (perform <- )?main$'
    ok "and the rank that does not come by what it does" ask_until_said '^hvdrun: rank 2: .*sleep.* <- act_wait <- (perform <- )?main$'
    ok "before what each rank says itself" until_said '^hvdrun: rank 3 on localhost: waiting for barrier' "$tmp/err"
    ends_well "eu-stack"
else
    skip "with eu-stack" "not installed, or not allowed"
fi
if [ "$SANITIZERS" != no ] || ! can_look gdb -nx -batch -ex backtrace; then # gdb reads the symbols of a sanitizer for long
    skip "gdb does as well" "not installed, not allowed, or built with $SANITIZERS"
else
    mkdir "$tmp/gdb"
    ln -s "$(command -v gdb)" "$tmp/gdb"
    start env PATH="$tmp/gdb" "$HVDRUN" --stack-traces -np 1 -x "$no_leaks" "$WORLD" init threads 40 print up wait "$tmp/go" shutdown
    until_said up
    ok "gdb does as well, of more threads than are kept" ask_until_said '^hvdrun: rank 0: .*sleep.* <- act_wait <- (perform <- )?main$'
    ends_well "gdb"
fi
mkdir "$tmp/none" "$tmp/fake"
pausing env PATH="$tmp/none" "$HVDRUN" --stack-traces
ok "without a debugger what /proc shows is told, and that there is none" \
    ask_until_said '^hvdrun: rank.* 2.*: .*\(this host has no eu-stack and no gdb\)$'
rank2=$(pid_of_rank 2)
kill -STOP "$rank2"
ok "a rank that is stopped is said to be" ask_until_said '^hvdrun: rank 2: .*state T.* \(stopped by a signal\)$'
kill -CONT "$rank2"
ends_well "no debugger"

# Debuggers that do all kinds of things, by the rank that they look at; the first leaves a stop signal behind.
cat >"$tmp/fake/eu-stack" <<'END'
#!/bin/sh
for pid; do :; done
rank=$(tr '\0' '\n' </proc/"$pid"/environ | sed -n 's/^HOROVOD_RANK=//p')
case $rank in
0) # as one that is killed before the stop is reported to it, in a script around it
    sleep 1000 &
    echo $! >"${0%/*}/hanging"
    kill -STOP "$pid"
    wait
    ;;
1) echo "eu-stack: dwfl_linux_proc_attach pid $pid: Operation not permitted" >&2 && exit 1 ;;
2) exec tr '\0' x </dev/zero ;;
3) # ends before a process that it has started
    sleep 1000 &
    echo $! >"${0%/*}/left"
    printf 'TID %d:\n#0  0x1 read\n#1  0x2 load_batch\n#2  0x3 main\nTID 1:\n#0  0x1 think\n' "$pid"
    ;;
esac
END
chmod +x "$tmp/fake/eu-stack"
# Each question starts another, and its number may be in use again.
sleeper_is_gone() {
    not grep -qzx 1000 "/proc/$(cat "$tmp/fake/$1")/cmdline" 2>/dev/null
}
pausing env PATH="$tmp/fake:$PATH" "$HVDRUN" --stack-traces
kill -USR2 "$pid"
ok "a debugger that hangs is killed, and said to" until_true said_or_ask '^hvdrun: rank 0: .*\(the debugger took longer than 4 s\)$'
ok "one that the kernel refuses is quoted" until_true said_or_ask '^hvdrun: rank 1: .*\(eu-stack: .*Operation not permitted\)$'
ok "one that floods is cut" until_true said_or_ask '^hvdrun: rank 2: .* \(x+\)$'
ok "and frames of a good one are told" until_true said_or_ask '^hvdrun: rank 3: read <- load_batch <- main$'
ok "by thread" until_true said_or_ask '^hvdrun: rank 3: thread of another name: think$'
ok "the one that hung is gone" until_true sleeper_is_gone hanging
ok "and what another has left behind" until_true sleeper_is_gone left
ends_well "bad debuggers, one of which has stopped a rank"

# An agent that does not answer
pausing "$HVDRUN" --stack-traces --heartbeat-timeout 600
agent=$(survivors | cut -d/ -f3 | while read -r process; do
    [ "$(cat "/proc/$process/comm")" != hvdagent ] || echo "$process"
done)
# shellcheck disable=SC2086 # words
kill -STOP $agent
kill -USR2 "$pid"
ok "an agent that hangs is told by its ranks" \
    until_said '^hvdrun: ranks 0-3: no answer from the agent of localhost within 10 s$' "$tmp/err"
# shellcheck disable=SC2086 # words
kill -CONT $agent
ends_well "a hanging agent"

# --timeout
for timeout in 1 5 20 80; do # the ranks may not be there yet
    run "$HVDRUN" --stack-traces --timeout $timeout --grace 100 -np 2 -x "$no_leaks" "$WORLD" init only 1 stay all barriers 1
    ! grep -q '^hvdrun: rank.* 1: ' "$tmp/err" || break
done
is "a job whose time has passed ends" 124 "$status"
like "and tells where ranks stand" '^hvdrun: rank.* 1: ' "$tmp/err"
like "before its last line" '^hvdrun: FAILED: [0-9]+ s have passed \(--timeout\)' "$tmp/err"

# Without the option, and without a world
start "$HVDRUN" -np 1 -x "$no_leaks" "$WORLD" init print up wait "$tmp/go" shutdown
until_said up
ok "without the option nobody looks" ask_until_said '^hvdrun: rank 0 on localhost: in no collective$'
unlike "into a rank" '^hvdrun: rank 0: ' "$tmp/err"
ends_well "without the option"

# In Python
cat >"$tmp/train.py" <<'END'
import os, sys, threading, hvd.numpy as hvd, numpy
go = sys.argv[1]
def load_batch():
    os.read(os.open(go, os.O_RDONLY), 1)
def busy():
    while not os.path.exists(go + ".now"):
        pass
def train_step():
    if hvd.rank() == 1:
        load_batch()
    elif hvd.rank() == 2:
        busy()
    hvd.allreduce(numpy.ones(3), name="grad")
hvd.init()
print("up", flush=True)
train_step()
END
if [ -z "$PYDIR" ] || ! "$PYTHON" -c 'import numpy' 2>/dev/null; then
    skip "frames in Python" "built without Python, or no numpy"
elif [ "$SANITIZERS" != no ]; then
    skip "frames in Python" "built with $SANITIZERS"
else
    export PYTHONPATH="$STAGE$PYDIR" PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH="$STAGE$LIBDIR" OMP_NUM_THREADS=1
    mkfifo "$tmp/fifo"
    start env PATH="$tmp/none" "$HVDRUN" --stack-traces -np 4 "$PYTHON" "$tmp/train.py" "$tmp/fifo"
    for rank in 0 1 2 3; do until_said "\[$rank\]<stdout>:up"; done
    ok "ranks in Python are told by function, file and line, also those that wait in libhvd" \
        ask_until_said '^hvdrun: ranks 0, 3: .*allreduce \(.*\) <- train_step \(train.py:13\) <- <module> \(train.py:16\) '
    ok "one that waits for something else" \
        ask_until_said '^hvdrun: rank 1: load_batch \(train.py:4\) <- train_step \(train.py:10\) <- '
    ok "and one that computes" ask_until_said '^hvdrun: rank 2: .*busy \(train.py:[67]\) <- train_step \(train.py:12\) <- '
    : >"$tmp/fifo.now"
    echo x >"$tmp/fifo"
    finish_job
    is "and the job ends as if nobody had looked" 0 "$status"
fi
ok "and nothing is left" no_survivors
finish
