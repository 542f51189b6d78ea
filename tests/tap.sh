# SPDX-License-Identifier: Apache-2.0
# For test programs in sh, which source it: TAP, a private folder, waiting for a condition, and who is still alive.
#
#   . "$srcdir/tests/tap.sh"
#   run "$HVDRUN" -np 2 true            fills $status, $tmp/out and $tmp/err
#   is "two ranks end well" 0 "$status"
#   finish
#
# Every process of a job carries HVD_TEST_JOB in its environment, so that none can hide.

# shellcheck shell=sh
exec </dev/null # nothing is asked, and stdin may have been closed
tests=0
tmp=$(mktemp -d) || exit 99
job=none
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM

# How long a condition that must come true is waited for. Only a test that fails waits as long.
: "${PATIENCE_S:=120}"

# ok SENTENCE COMMAND...: the command must succeed.
ok() {
    tests=$((tests + 1))
    sentence=$1
    shift
    if "$@"; then
        echo "ok $tests - $sentence"
    else
        echo "not ok $tests - $sentence"
        for _f in "$tmp/out" "$tmp/err"; do
            [ ! -s "$_f" ] || { echo "# ${_f##*/}:"; head -c 2000 "$_f" | sed 's/^/#   /' | head -n 20; echo; }
        done
    fi
}

# is SENTENCE EXPECTED ACTUAL
is() {
    ok "$1" [ "$2" = "$3" ]
    [ "$2" = "$3" ] || printf '%s\n' "expected: $2" "got:      $3" | sed 's/^/# /'
}

# like SENTENCE PATTERN FILE: some line of the file matches the extended pattern.
like() {
    ok "$1" grep -Eq -e "$2" "$3"
}

unlike() {
    ok "$1" not grep -Eq -e "$2" "$3"
}

not() {
    ! "$@"
}

skip() {
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

# ignores NUMBER: whether this test, and so what it starts, ignores that signal because whoever started it did. The harness
# sets signals to their default (DEFAULT_SIGNALS in configure.ac) where env can; a shell cannot.
ignores() {
    [ $((0x$(sed -n 's/^SigIgn:.*\(........\)$/\1/p' /proc/self/status) >> ($1 - 1) & 1)) = 1 ]
}

# run COMMAND...: runs a job, without stdin, and waits for it.
run() {
    new_job
    status=0
    timeout --foreground -k 5 $((PATIENCE_S * 2)) env HVD_TEST_JOB="$job" "$@" \
        >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
}

# start COMMAND...: runs a job in the background; $pid is its process.
start() {
    new_job
    : >"$tmp/out" && : >"$tmp/err"
    env HVD_TEST_JOB="$job" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
    pid=$!
}

# stop_with SIGNAL...: sends them to the job in the background, then waits for it and fills $status.
stop_with() {
    for _s in "$@"; do
        kill "-$_s" "$pid"
    done
    finish_job
}

# finish_process PID: waits for a child in the background, as long as a test that fails waits for anything; fills $status, and fails
# if it has not ended by then.
finish_process() {
    status=none
    until_true not is_child "$1" || return
    status=0
    wait "$1" 2>/dev/null || status=$?
}

# finish_job: the same for the job in the background, which is killed if it has not ended by then.
finish_job() {
    finish_process "$pid" || kill_job
}

job_has_ended() {
    not is_child "$pid"
}

# is_child PID: whether this process runs and is a child of this shell. While sh waits for one child it reaps every child that has
# ended, so the kernel may have given a number that sh remembers to a process of another test.
is_child() {
    case $(sed 's/^[0-9]* (.*) \(.\) \([0-9]*\) .*/\1 \2/' "/proc/$1/stat" 2>/dev/null) in
    [ZX]*) return 1 ;;
    *" $$") ;;
    *) return 1 ;;
    esac
}

# kill_children PID...: those of them that are children still.
kill_children() {
    for _p in "$@"; do
        ! is_child "$_p" || kill -KILL "$_p"
    done
}

kill_job() {
    # shellcheck disable=SC2046
    kill -KILL $(survivors | cut -d/ -f3) 2>/dev/null
    wait "$pid" 2>/dev/null
}

new_job() {
    jobs_run=$((${jobs_run:-0} + 1))
    job=$$.$jobs_run
}

# until_said PATTERN [FILE]: waits until the job in the background has said it.
until_said() {
    until_true grep -Eqs -e "$1" "${2-$tmp/out}"
}

# until_true COMMAND...: waits until it succeeds; fails when patience has run out.
until_true() {
    _left=$((PATIENCE_S * 20))
    until "$@"; do
        _left=$((_left - 1))
        [ $_left -gt 0 ] || return 1
        sleep 0.05
    done
}

# The processes of the latest job that still live, zombies excepted (they have no environment).
survivors() {
    grep -lsza "^HVD_TEST_JOB=$job\$" /proc/[0-9]*/environ
}

# Sanitizers look for leaks when a process ends, for as long as that takes on a busy machine.
no_survivors() {
    no_survivors_now || { [ "${SANITIZERS:-no}" != no ] && until_true no_survivors_now; }
}

no_survivors_now() {
    [ -z "$(survivors)" ]
}

# complain WHY: for a condition that fails.
complain() {
    printf '# %s\n' "$*"
    return 1
}

# refused PROGRAM STATUS PATTERN: the last run ended as it must on bad input: one printable line of at most 300 bytes, nothing else.
refused() {
    [ "$status" -eq "$2" ] || complain "status $status, not $2" || return
    [ ! -s "$tmp/out" ] || complain "something on stdout" || return
    [ "$(wc -l <"$tmp/err")" -eq 1 ] || complain "not one line on stderr" || return
    [ "$(wc -c <"$tmp/err")" -le 300 ] || complain "$(wc -c <"$tmp/err") bytes on stderr" || return
    ! LC_ALL=C grep -q '[^ -~]' "$tmp/err" || complain "bytes that cannot be printed" || return
    grep -q "^$1: error: " "$tmp/err" || complain "another beginning" || return
    grep -qF -e "$3" "$tmp/err" || complain "another text"
}

# repeat CHARACTER COUNT: for the arguments of a table's row.
repeat() {
    printf "%$2s" '' | tr ' ' "$1"
}

finish() {
    echo "1..$tests"
}
