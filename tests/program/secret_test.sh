#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who can read the key of a job: its ranks and their user, but not from the memory of hvdrun and hvdagent.
. "$srcdir/tests/tap.sh"

# A rank that stays until it may go, and says who has started it.
cat >"$tmp/rank" <<'RANK'
echo "$PPID" >"$1/agent.new"
printf '%s' "$HVD_JOB_KEY" >"$1/key"
mv "$1/agent.new" "$1/agent"
until [ -e "$1/go" ]; do sleep 0.05; done
RANK

# memory_of PID: all that it may write to.
memory_of() {
    while read -r _range _mode _; do
        case $_mode in rw*) ;; *) continue ;; esac
        _from=$((0x${_range%-*})) _to=$((0x${_range#*-}))
        dd if="/proc/$1/mem" bs=65536 iflag=skip_bytes,count_bytes skip=$_from count=$((_to - _from)) 2>/dev/null
    done <"/proc/$1/maps"
}

owner() {
    stat -c %u "/proc/$1/environ"
}

end_job() {
    : >"$tmp/go"
    finish_job
    rm -f "$tmp/go" "$tmp/agent"
}

start "$HVDRUN" -np 2 sh "$tmp/rank" "$tmp"
until_true test -e "$tmp/agent"
agent=$(cat "$tmp/agent")
if [ "$(id -u)" = 0 ] && [ "$SANITIZERS" = no ]; then
    memory_of "$agent" >"$tmp/memory"
    ok "the memory of the agent can be looked at" grep -aq 'hvdagent' "$tmp/memory"
    is "the agent has wiped the key when the ranks run" 0 "$(grep -ac "$(cat "$tmp/key")" "$tmp/memory")"
else
    skip "the memory of the agent can be looked at" "only root can, and sanitizers keep what is freed"
    skip "the agent has wiped the key when the ranks run" "only root can, and sanitizers keep what is freed"
fi
end_job
is "the job ends well" 0 "$status"

# As a user who is not root, if we can be one.
chmod 755 "$tmp"
mkdir "$tmp/user"
as_user=
if [ "$(id -u)" = 0 ]; then
    chown 65534 "$tmp/user"
    as_user='setpriv --reuid=65534 --regid=65534 --clear-groups'
fi
# shellcheck disable=SC2086
if $as_user sh -c "test -x '$HVDRUN' && cd '$tmp/user'" 2>/dev/null; then
    cp "$tmp/rank" "$tmp/user/rank"
    new_job
    (cd "$tmp/user" && exec $as_user env HVD_TEST_JOB="$job" "$HVDRUN" -np 1 sh rank "$tmp/user") >"$tmp/out" 2>"$tmp/err" </dev/null &
    pid=$!
    until_true test -e "$tmp/user/agent"
    agent=$(cat "$tmp/user/agent")
    is "what /proc tells of hvdrun is root's alone" 0 "$(owner "$pid")"
    is "and of the agent" 0 "$(owner "$agent")"
    is "the user reads neither's environment or memory" '' \
        "$($as_user sh -c 'for f; do (: <"$f") 2>/dev/null && echo "$f"; done' sh "/proc/$pid/environ" "/proc/$pid/mem" \
            "/proc/$agent/environ" "/proc/$agent/mem")"
    read -r rank _ <"/proc/$agent/task/$agent/children"
    is "a rank is as open as any program of its user" "$($as_user id -u)" "$(owner "$rank")"
    : >"$tmp/user/go"
    finish_job
    is "and the job of such a user ends well" 0 "$status"
else
    skip "jobs of a user who is not root" "no other user can run hvdrun here"
fi

finish
