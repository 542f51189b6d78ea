#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvdrun starts what it was asked to start: places, environment, command, working directory, stdin.
. "$srcdir/tests/tap.sh"

run "$HVDRUN" -np 2 -H localhost:2 true
is "a job of two ranks that end well ends with status 0" 0 "$status"
ok "and prints nothing" [ ! -s "$tmp/out" ] && ok "on stderr either" [ ! -s "$tmp/err" ]

# shellcheck disable=SC2016  # expanded by the ranks' shell
table='echo "$HOROVOD_RANK $HOROVOD_SIZE $HOROVOD_LOCAL_RANK $HOROVOD_LOCAL_SIZE $HOROVOD_CROSS_RANK $HOROVOD_CROSS_SIZE $HOROVOD_HOSTNAME"'
run "$HVDRUN" -np 3 -H localhost:2,127.0.0.2:1 sh -c "$table"
sort "$tmp/out" >"$tmp/sorted"
cat >"$tmp/expected" <<-.
	[0]<stdout>:0 3 0 2 0 2 localhost
	[1]<stdout>:1 3 1 2 0 1 localhost
	[2]<stdout>:2 3 0 1 1 2 127.0.0.2
.
ok "each rank is told its place" cmp "$tmp/sorted" "$tmp/expected"

run "$HVDRUN" -np 2 -H localhost:4 sh -c "$table"
is "-np smaller than the slots is honoured" 2 "$(wc -l <"$tmp/out")"
like "and is the size of the world" '^\[1\]<stdout>:1 2 1 2 0 1 localhost$' "$tmp/out"

run "$HVDRUN" -np 2 sh -c "$table"
is "without hosts the ranks run on localhost" 2 "$(grep -c localhost "$tmp/out")"

run "$HVDRUN" --num-proc 1 --gloo --hosts "$(hostname):1" true
is "this machine's own name is this machine" 0 "$status"
run "$HVDRUN" -np 1 -H '[::1]:1' true
is "so is the IPv6 loopback address" 0 "$status"

printf '# two hosts\n\nlocalhost slots=1\n127.0.0.2:1 # the other\n' >"$tmp/hosts"
run "$HVDRUN" -np 2 --hostfile "$tmp/hosts" sh -c "$table"
is "a hostfile names hosts" 2 "$(wc -l <"$tmp/out")"

run "$HVDRUN" -np 7 -H h1:2,h2:4,h3:1 --dry-run true
is "a dry run ends with status 0, wherever the hosts are" 0 "$status"
is "and prints a line for each rank and a header" 8 "$(wc -l <"$tmp/out")"
like "with the cross rank of a heterogeneous job" '^ *6 +h3 +0 +1 +2 +3 *$' "$tmp/out"

# The command
run "$HVDRUN" -np 1 printf '<%s>' 'a b' '$HOME' '' "it's" '*' '-np' '--'
is "arguments arrive as they were given" "[0]<stdout>:<a b><\$HOME><><it's><*><-np><-->" "$(cat "$tmp/out")"
run "$HVDRUN" -np 1 -- echo --verbose
is "-- ends the options" "[0]<stdout>:--verbose" "$(cat "$tmp/out")"
printf 'echo from a script: "$1"\n' >"$tmp/script"
chmod +x "$tmp/script"
run "$HVDRUN" -np 1 "$tmp/script" argument
is "a script without #! is read by sh" "[0]<stdout>:from a script: argument" "$(cat "$tmp/out")"
mkdir "$tmp/cwd with blanks"
cd "$tmp/cwd with blanks" || exit 99
run "$HVDRUN" -np 1 pwd
is "ranks run in hvdrun's working directory" "[0]<stdout>:$tmp/cwd with blanks" "$(cat "$tmp/out")"
cd "$OLDPWD" || exit 99

# The steps
run "$HVDRUN" --verbose -np 1 true
is "--verbose names each step of a host, in its order" "agent directory command resources network binding ready" \
    "$(sed -n 's/^hvdrun: [0-9.]* s: localhost: //p' "$tmp/err" | tr '\n' ' ' | sed 's/ $//')"

# The agent
# shellcheck disable=SC2016
parent='echo "$(basename "$(readlink /proc/$PPID/exe)") $(cat /proc/$PPID/comm) $(tr "\\0" " " </proc/$PPID/cmdline)"'
agent_of() {
    run "$HVDRUN" "$@" sh -c "$parent" && sed 's/^[^:]*://; s/ *$//' "$tmp/out" | sort -u
}
# The agent's memory is private, and with it the link, except to CAP_SYS_PTRACE. A preloaded library is to see each start.
# shellcheck disable=SC2016
run "$HVDRUN" -np 1 sh -c 'readlink /proc/$PPID/exe'
if [ -s "$tmp/out" ] && [ -z "${LD_PRELOAD-}" ]; then
    is "a job on this machine alone has a fork of hvdrun as its agent, under the agent's name" "hvdrun hvdagent hvdagent" "$(agent_of -np 2)"
    is "one that binds its ranks has the program hvdagent" "hvdagent hvdagent hvdagent" "$(agent_of --bind-to core:overload-allowed -np 2)"
    is "so has one of two hosts" "hvdagent hvdagent hvdagent" "$(agent_of -np 2 -H localhost:1,127.0.0.2:1)"
else
    skip "a job on this machine alone has a fork of hvdrun as its agent, under the agent's name" "the program of the agent cannot be read, or LD_PRELOAD is set"
    skip "one that binds its ranks has the program hvdagent" "the program of the agent cannot be read, or LD_PRELOAD is set"
    skip "so has one of two hosts" "the program of the agent cannot be read, or LD_PRELOAD is set"
fi

mkdir "$tmp/gone" && cd "$tmp/gone" && rmdir "$tmp/gone" || exit 99
run "$HVDRUN" -np 2 true
cd "$OLDPWD" || exit 99
is "a job that cannot be set up, because its working directory is gone, is status 127" 127 "$status"
ok "and leaves no agent" no_survivors

# The environment
# shellcheck disable=SC2016
run env VALUE='two
lines' EMPTY= CUDA_VISIBLE_DEVICES=1 HOROVOD_RANK=7 HOROVOD_SIZE=9 HVD_JOB_KEY=stale \
    "$HVDRUN" -np 1 sh -c 'echo "$VALUE|${EMPTY-unset}|${CUDA_VISIBLE_DEVICES-unset}|$HOROVOD_RANK|$HOROVOD_SIZE|${#HVD_JOB_KEY}|$PYTHONUNBUFFERED|$HOROVOD_CONTROLLER|$HOROVOD_GLOO_IFACE"'
is "the environment travels, stale values of an outer job do not" \
    '[0]<stdout>:two|[0]<stdout>:lines||1|0|1|64|1|gloo|lo|' "$(tr '\n' '|' <"$tmp/out")"
long=$(head -c 100000 /dev/zero | tr '\0' x)
# shellcheck disable=SC2016
run env A="$long" B="$long" C="$long" "$HVDRUN" -np 2 sh -c 'echo ${#A} ${#B} ${#C}'
is "300 kB of environment arrive" 2 "$(grep -c '100000 100000 100000' "$tmp/out")"
run "$HVDRUN" -np 2 "$ACT" fds
is "a rank has descriptors 0, 1 and 2 and no other" 2 "$(grep -c '>:0 1 2 $' "$tmp/out")"
run "$HVDRUN" -np 1 "$ACT" ignored
is "a rank starts with no signal ignored or blocked" '[0]<stdout>:' "$(cat "$tmp/out")"
start env TOKEN="$tmp" "$HVDRUN" -np 1 "$ACT" text 'up\n' stay
until_said up
for environ in $(grep -slaz "^TOKEN=$tmp" /proc/[0-9]*/environ); do
    tr '\0' '\n' <"$environ" | sed -n 's/^HVD_JOB_KEY=//p'
done | sort -u >"$tmp/key"
is "a rank has a key" 65 "$(wc -c <"$tmp/key")"
is "which is on no command line" '' "$(grep -lsaF -f "$tmp/key" /proc/[0-9]*/cmdline)"
stop_with TERM

run env --block-signal=CHLD --block-signal=TERM --block-signal=USR1 "$HVDRUN" -np 1 "$ACT" ignored
is "whatever signals hvdrun was started with are no hindrance" '0 [0]<stdout>:' "$status $(cat "$tmp/out")"
run sh -c "trap '' HUP; exec \"$HVDRUN\" -np 1 \"$ACT\" ignored"
is "except that under nohup the ranks ignore SIGHUP too" '[0]<stdout>:1 ' "$(cat "$tmp/out")"
run sh -c "ulimit -Sn 64; exec \"$HVDRUN\" -np 40 true"
is "a low soft limit on descriptors is raised for hvdrun's own" 0 "$status"
run sh -c "ulimit -Sn 64; exec \"$HVDRUN\" -np 1 sh -c 'ulimit -Sn'"
is "and is the ranks' as it was" '[0]<stdout>:64' "$(cat "$tmp/out")"
run sh -c "ulimit -n 64; exec \"$HVDRUN\" -np 40 --output-filename \"$tmp/many\" true"
is "a hard limit that is too low is status 71" 71 "$status"
like "which is said" 'descriptors are needed, at most 64 are allowed' "$tmp/err"
run sh -c "ulimit -n 64; exec \"$HVDRUN\" -np 4 true"
like "with the number that is enough" '^hvdrun: error: [0-9]+ descriptors are needed, at most 64 are allowed' "$tmp/err"
run sh -c "ulimit -n $(grep -oE '[0-9]+ descriptors' "$tmp/err" | cut -d' ' -f1); exec \"$HVDRUN\" -np 4 true"
is "also for an agent on this machine" 0 "$status"

# stdin
status=0
printf 'first\nsecond\n' | "$HVDRUN" -np 2 cat >"$tmp/out" 2>"$tmp/err" || status=$?
is "rank 0 reads hvdrun's stdin, to its end" '[0]<stdout>:first [0]<stdout>:second' "$(paste -sd' ' "$tmp/out")"
is "and the others read nothing" 0 "$status"
head -c 3000000 /dev/zero | tr '\0' '\n' | "$HVDRUN" -np 1 wc -c >"$tmp/out"
is "megabytes of stdin arrive" '[0]<stdout>:3000000' "$(cat "$tmp/out")"
yes | "$HVDRUN" -np 1 true >"$tmp/out" 2>"$tmp/err"
is "a rank that does not read its stdin is no failure" 0 $?
"$HVDRUN" -np 1 cat <&- >"$tmp/out" 2>"$tmp/err"
is "a closed stdin is an empty one" 0 $?
"$HVDRUN" -np 2 cat <"$tmp" >"$tmp/out" 2>"$tmp/err"
is "a stdin that cannot be read ends there, which is no failure" 0 $?
like "and is said" "^hvdrun: stdin cannot be read, and rank 0 finds its end there: " "$tmp/err"

run "$HVDRUN" --version
like "--version says which" '^hvdrun [0-9]+\.[0-9]+\.[0-9]+$' "$tmp/out"
run "$HVDRUN" --help
is "--help ends with status 0" 0 "$status"
"$HVDRUN" --help >/dev/full 2>"$tmp/err"
is "and with 74 if it cannot be printed" 74 $?
"$HVDRUN" --dry-run -np 2 true >&- 2>"$tmp/err"
is "nor a dry run without a stdout" 74 $?
run "$HVDRUN" -np 1 --verbose true
like "--verbose tells what happens" 'hvdrun: [0-9.]+ s: rank 0 exited with status 0' "$tmp/err"
finish
