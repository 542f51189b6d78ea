#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How hosts are reached (--launcher): the words of each batch system's command, and one srun for all hosts of an allocation. Stand-ins
# take the place of the commands; slurm_test.sh has the real srun.
. "$srcdir/tests/tap.sh"

unset HVD_REMOTE_SHELL OMPI_MCA_plm_rsh_agent XDG_RUNTIME_DIR SLURM_JOB_ID SLURM_JOB_NODELIST SLURM_NODELIST PBS_JOBID LSB_JOBID PE_HOSTFILE FLUX_JOB_ID
TMPDIR=$tmp
export TMPDIR
mkdir "$tmp/bin"
real=$PATH
PATH=$tmp/bin:$PATH

# stand_in NAME BODY: a command that notes its words.
stand_in() {
    printf '#!/bin/sh\nprintf "%%s\\n" "${0##*/} $*" >>"%s/words"\n%s\n' "$tmp" "$2" >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

# ---- commands ----

runs_the_rest='while [ "$1" != /bin/sh ]; do shift; done; exec "$@"'
for name in pbsdsh blaunch qrsh; do
    stand_in $name "$runs_the_rest"
done
stand_in flux "[ \"\$1\" != overlay ] || { echo 7; exit; }; $runs_the_rest"

# reached_by LAUNCHER WORDS: a rank runs on a host that is reached with these words.
reached_by() {
    : >"$tmp/words"
    run "$HVDRUN" --launcher "$1" -np 1 -H far.invalid:1 sh -c 'echo here'
    is "--launcher $1: the rank runs" "0 [0]<stdout>:here" "$status $(cat "$tmp/out")"
    is "the words are those of $1" "$2" "$(paste -sd'|' "$tmp/words")"
}

reached_by pbsdsh 'pbsdsh -h far.invalid /bin/sh'
reached_by blaunch 'blaunch far.invalid /bin/sh'
reached_by qrsh 'qrsh -inherit far.invalid /bin/sh'
reached_by flux 'flux overlay lookup far.invalid|flux exec -r 7 /bin/sh'

# ---- what is refused ----

# refuses SENTENCE LINE ARGUMENT...
refuses() {
    sentence_of=$1 line=$2
    shift 2
    run "$HVDRUN" "$@" true
    is "$sentence_of is status 2" "2 hvdrun: error: $line" "$status $(cat "$tmp/err")"
}

run "$HVDRUN" --launcher rsh -np 1 true
is "an unknown launcher is status 2" 2 "$status"
like "and the known ones are named" "^hvdrun: error: --launcher: .*'rsh' .*ssh.*slurm.*blaunch" "$tmp/err"
refuses "another machine for local" "--launcher: local: host 'far.invalid' is not this machine" --launcher local -np 1 -H far.invalid
refuses "a user for blaunch" "--launcher: blaunch: host 'far.invalid' is given with a user" --launcher blaunch -np 1 -H me@far.invalid
refuses "a launcher beside a command" "--launcher: not together with --remote-shell, which is one itself" --launcher ssh --remote-shell 'x %h' -np 1
refuses "slurm outside an allocation" "--launcher: slurm outside an allocation of Slurm (no \$SLURM_JOB_ID or \$SLURM_JOB_NODELIST)" --launcher slurm -np 1 -H far.invalid
run "$HVDRUN" --launcher local -np 1 -H localhost true
is "local takes this machine" 0 "$status"
run env LSB_JOBID=1 "$HVDRUN" --log-level info --remote-shell 'false %h' -np 1 -H far.invalid true
like "a command of the user's own is told at info" '^hvdrun: hosts are reached by a command \(--remote-shell\)$' "$tmp/err"
run env HVD_REMOTE_SHELL='false %h' "$HVDRUN" --launcher blaunch -np 1 -H far.invalid true
is "--launcher has precedence over HVD_REMOTE_SHELL" 0 "$status"

# ---- srun ----

# As srun --label: one task for each node, whose stdin is srun's own; a task on a node named broken ends at once, and a node named bare has
# no hvdagent.
mkdir "$tmp/srun"
stand_in srun "exec sh $tmp/srun.sh \"\$@\""
cat >"$tmp/srun.sh" <<'.'
d=$(dirname "$0")/srun
for word; do
    case $word in --nodelist=*) nodes=${word#*=} ;; esac
done
printf '%s\n' "$@" >"$d/argv"
env >"$d/env"
umask 077
cat >"$d/stdin.$$"
n=0 pids=
for node in $(echo "$nodes" | tr , ' '); do
    [ "$node" != broken ] || {
        echo "$n: hvdagent: hvdrun is not reached" >&2
        echo "srun: error: broken: task $n: Exited with exit code 97" >&2
        continue
    }
    script=$word
    [ "$node" != bare ] || script=$(printf '%s\n' "$word" | sed 's|^agent=.*|agent=/nonexistent/hvdagent|')
    {
        exec 3>&1
        cat "$d/stdin.$$" | SLURMD_NODENAME=$node SLURM_PROCID=$n SLURM_LAUNCH_NODE_IPADDR=127.0.0.1 sh -c "$script" 2>&1 >&3 3>&- |
            sed -u "s/^/$n: /" >&2
    } | sed -u "s/^/$n: /" &
    pids="$pids $!"
    n=$((n + 1))
done
[ -z "${SRUN_SAYS-}" ] || until [ -e "$d/say" ]; do sleep 0.05; done
[ -z "${SRUN_STAYS-}" ] || { wait $pids && exec sleep 0.3; }
[ -z "${SRUN_SAYS-}" ] || [ ! -e "$d/agents" ] || {
    printf '%s\n' "$SRUN_SAYS" >&2
    kill "-${SRUN_SIGNAL-TERM}" $(cat "$d/agents")
    rm "$d/agents"
}
wait $pids
.
SLURM_JOB_ID=1 SLURM_JOB_NODELIST='far[1-3]' SLURM_TASKS_PER_NODE='2(x3)'
export SLURM_JOB_ID SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE
: >"$tmp/words"
run "$HVDRUN" sh -c 'echo "$HOROVOD_RANK $HOROVOD_HOSTNAME"; exit 0'
is "in an allocation of Slurm the ranks run on its hosts" "0 0 far1,1 far1,2 far2,3 far2,4 far3,5 far3" \
    "$status $(sed 's/.*>://' "$tmp/out" | sort | paste -sd,)"
is "nothing is said" '' "$(cat "$tmp/err")"
is "one srun has started them" 1 "$(grep -c '^srun ' "$tmp/words")"
is "with a task for each host" "srun --nodes=3 --ntasks=3 --nodelist=far1,far2,far3 --ntasks-per-node=1 --no-kill --kill-on-bad-exit=0 --wait=0 --cpu-bind=none --mpi=none --export=ALL --chdir=/ --label /bin/sh -c {" \
    "$(head -n 1 "$tmp/words")"
key=$(tail -c +17 "$tmp"/srun/stdin.* | head -c 32 | od -An -v -tx1 | tr -d ' \n')
is "stdin has a key" 64 ${#key}
hex=$(cat "$tmp/srun/argv" "$tmp/srun/env" | od -An -v -tx1 | tr -d ' \n')
key_is_seen() {
    case $hex in *"$key"*) ;; *) return 1 ;; esac
}
ok "which is neither in the words nor in the environment" not key_is_seen
ok "nothing is left" no_survivors
run "$HVDRUN" --log-level info true
like "info says how hosts are reached" '^hvdrun: hosts are reached by srun, because all are in this allocation of Slurm$' "$tmp/err"
run "$HVDRUN" sh -c 'exit $((HOROVOD_RANK == 3 ? 7 : 0))'
is "the status of a rank is that of the job" 7 "$status"
like "the last line names rank and host" 'FAILED rank 3 on far2 ' "$tmp/err"
run "$HVDRUN" --report "$tmp/report" -np 1 true
like "the report has the way" '"way":[[:space:]]*"srun"' "$tmp/report"
run "$HVDRUN" -np 1 -H far9:1 --launcher slurm true
is "a host outside the allocation is status 2" "2 hvdrun: error: --launcher: slurm: host 'far9' is not in the allocation (\$SLURM_JOB_NODELIST)" \
    "$status $(cat "$tmp/err")"
run "$HVDRUN" -np 7 true
is "more ranks than the allocation has are status 2" 2 "$status"
like "the line has both numbers" '7 ranks asked for, but \$SLURM_JOB_NODELIST has 6 slots on 3 hosts' "$tmp/err"
run env PATH="$real" "$HVDRUN" --launcher slurm -np 1 true
case $(PATH=$real command -v srun) in
'') is "without srun slurm is status 2" "2 hvdrun: error: --launcher: slurm: srun is not found in \$PATH (start hvdrun where the commands of Slurm are installed)" "$status $(cat "$tmp/err")" ;;
*) skip "without srun slurm is status 2" "srun is installed" ;;
esac
mkdir "$tmp/none"
run env PATH="$tmp/none" "$HVDRUN" --launcher slurm -np 1 true
is "without srun slurm is status 2, whatever is installed" "2 hvdrun: error: --launcher: slurm: srun is not found in \$PATH (start hvdrun where the commands of Slurm are installed)" "$status $(cat "$tmp/err")"

# What srun would take for options of the user's
run env SLURM_CONF=/etc/slurm.conf SLURM_STDINMODE=none SLURM_STDOUTMODE="$tmp/away" SLURM_STDERRMODE="$tmp/away" SLURM_UNBUFFEREDIO=1 SLURM_TIMELIMIT=1 \
    SLURM_GPU_BIND=closest SLURM_DEBUG=3 SRUN_OUTPUT="$tmp/away" "$HVDRUN" -np 1 true
is "srun has the variables that say where the job is, and none that change its streams or the step" "0 SLURM_CONF=/etc/slurm.conf" \
    "$status $(grep -E '^(SLURM_(CONF|STD|UNBUFF|TIMELIMIT|GPU_BIND|DEBUG)|SRUN_OUTPUT)' "$tmp/srun/env")"

# A host whose shell ends at once
run env SLURM_JOB_NODELIST='far1,broken' SLURM_TASKS_PER_NODE='1(x2)' "$HVDRUN" true
is "a host whose task ends has no agent: status 69" 69 "$status"
like "the last line has Slurm's words, and those of the task" \
    '^hvdrun: FAILED on broken: connect: hvdagent was not started: Slurm: broken: task 1: Exited with exit code 97: hvdagent: hvdrun is not reached' "$tmp/err"

# An installation that the hosts do not have: a copy goes with a second srun
: >"$tmp/words"
mkdir -p "$tmp/place" && cp "$HVDRUN" "$tmp/place/hvdrun" && cp "$HVDAGENT" "$tmp/place/hvdagent"
chmod 777 "$tmp/place" # anybody could have put it there
run "$tmp/place/hvdrun" sh -c 'readlink /proc/$PPID/exe; echo on $HOROVOD_HOSTNAME'
is "an hvdagent that others could have put there is not run: a copy is" "0 6" "$status $(grep -c 'hvdagent\.[^/]*/hvdagent (deleted)' "$tmp/out")"
is "by a second srun" 2 "$(grep -c '^srun ' "$tmp/words")"
is "and no copy is left" '' "$(find "$tmp" -maxdepth 1 -name 'hvdagent.*')"

run env SRUN_STAYS=1 "$tmp/place/hvdrun" -np 1 true
is "an srun whose hosts have gone to the second one may end later than the job" 0 "$status"
ok "and nothing is left" until_true no_survivors

# listening PID: the ports at which a process listens.
listening() {
    for inode in $(find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' | tr -cd '0-9\n'); do
        awk -v inode="$inode" '$4 == "0A" && $10 == inode { print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
    done
}
start env SLURM_JOB_NODELIST='far1,bare' SLURM_TASKS_PER_NODE='1(x2)' "$HVDRUN" sh -c 'echo up; exec sleep 100'
both_up() { [ "$(grep -c 'up$' "$tmp/out")" = 2 ]; }
ok "one host may have hvdagent, and another not" until_true both_up
is "no port is open any more when both agents have come" '' "$(listening "$pid")"
stop_with TERM

# Slurm ends the job
says='slurmstepd-far1: error: *** STEP 1.0 ON far1 CANCELLED AT 2026-11-24T23:42:35 DUE TO TIME LIMIT ***'
rm -f "$tmp/srun/say" "$tmp/srun/agents"
start env SRUN_SAYS="$says" "$HVDRUN" -np 2 -H far1:1,far2:1 sh -c 'cat /proc/$PPID/stat | cut -d" " -f1 >>"$0/agents"; echo up; exec sleep 100' "$tmp/srun"
both_run() { [ "$(grep -c . "$tmp/srun/agents" 2>/dev/null)" = 2 ]; }
ok "ranks run on both hosts" until_true both_run
: >"$tmp/srun/say"
finish_job
like "the last line has why Slurm has ended the job" '^hvdrun: FAILED on far[12]: host lost: its agent .*SIGTERM.*; Slurm: STEP 1.0 ON far1 CANCELLED AT 2026-11-24T23:42:35 DUE TO TIME LIMIT' "$tmp/err"
ok "nothing is left of that job" no_survivors

# Slurm takes a node away from an elastic job
rm -f "$tmp/srun/say" "$tmp/srun/agents" "$tmp/end"
start env SRUN_SAYS='srun: error: Node failure on far2' SRUN_SIGNAL=KILL LD_LIBRARY_PATH="$STAGE$LIBDIR" \
    "$HVDRUN" --grace 1 -np 2 --min-np 1 -H far1:1,far2:1 "$ELASTIC_WORKER" "$tmp"
until_said 'world 0 rank 0 of 2 worker 0 '
until_said 'world 0 rank 1 of 2 worker 1 '
worker=$(sed -n 's/.*worker 1 pid \([0-9]*\)$/\1/p' "$tmp/out" | head -n 1)
sed -n 's/^PPid:[[:space:]]*//p' "/proc/$worker/status" >"$tmp/srun/agents"
: >"$tmp/srun/say"
ok "a node that Slurm declares down costs an elastic job its ranks only" until_said 'world 1 rank 0 of 1 worker 0 '
: >"$tmp/end"
finish_job
is "which ends well" 0 "$status"
like "the loss of the node has Slurm's words" '^hvdrun: far2: host lost: .*Slurm: Node failure on far2, and with it 1 worker$' "$tmp/err"
like "and so has that of its rank" 'rank 1 on far2 \(worker 1\): host lost: .*Slurm: Node failure on far2$' "$tmp/err"
ok "and nothing is left of it" until_true no_survivors
finish
