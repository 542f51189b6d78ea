#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill trials, a few of each fault; "make chaos" runs thousands. What is judged is in oracle.c: nothing is left, and status
# and last line are as promised.
. "$srcdir/tests/tap.sh"
case ${SANITIZERS-} in
*address* | *thread*) echo "1..0 # SKIP the plain build runs them"; exit 0 ;;
esac
CHAOS=$builddir/tests/chaos/chaos
export CHAOS

# begin NAME OPTION...: trials in the background. end NAME SENTENCE: their verdict; what failed is shown, with its seed.
# hits NAME: they are not all of jobs that had ended before the fault came, or had nobody to hit; chance has its share.
begin() {
    _name=$1
    shift
    (
        _status=0
        timeout --foreground -k 5 600 sh "$srcdir/tests/chaos/chaos.sh" "$@" >"$tmp/$_name" 2>&1 || _status=$?
        echo "$_status" >"$tmp/$_name.status"
    ) &
}

end() {
    until_true [ -s "$tmp/$1.status" ] || { ok "$2" false; return; }
    _status=$(cat "$tmp/$1.status")
    [ "$_status" != 77 ] || { skip "$2" "$(tail -n 1 "$tmp/$1")"; return; }
    ok "$2" [ "$_status" = 0 ]
    [ "$_status" = 0 ] || grep -v '^ok ' "$tmp/$1" | sed 's/^[^#]/# &/' | head -n 200
}

hits() {
    [ "$(cat "$tmp/$1.status")" != 77 ] || return 0
    # shellcheck disable=SC2046  # two numbers
    set -- $(awk '$1 == "fault" { rows = 1; next } /trials, / { rows = 0 } rows { trials += $2; hit += $3 }
        END { print trials + 0, hit + 0 }' "$tmp/$1")
    echo "# $2 of $1 hit"
    ok "and the fault was there in more than a third of them" [ $((3 * $2)) -gt "$1" ]
}

run "$CHAOS" --help
is "chaos says what it can do" 0 "$status"
run "$CHAOS" --fault nonsense
is "and refuses what it does not know" 2 "$status"
run "$CHAOS" --elastic --fault agent-kill
is "and a fault that is not for elastic jobs" 2 "$status"
begin hosts --hosts 3 --trials 10
begin guards --hosts 3 --trials 2 --uncontained --fault guards-kill --kind daemon --phase running
begin local --trials 36 --jobs 6
begin bombs --trials 2 --jobs 2 --uncontained --fault launcher-term --kind bomb --phase running
end local "F1 F8 F9 F18 and more, on one machine: nothing is left, status and last line are right"
hits local
begin elastic --elastic --trials 6 --jobs 3
end elastic "F100 F103 F104 F107 F109: elastic jobs lose no commit and end well, or with hvdrun"
begin once --trials 1 --seed 1
begin twice --trials 1 --seed 1
end once "a seed is one trial"
end twice "and the same one every time"
is "to the microsecond" "$(sed -n '1s/:.*//p' "$tmp/once")" "$(sed -n '1s/:.*//p' "$tmp/twice")"
PATIENCE_S=300
end bombs "F23: what forks without end, up to a limit, is ended, also without a control group"
end guards "F11: agent and supervisor are killed at once: what ranks have started is ended, also without a control group"
end hosts "F2 F8 F9 F10 F11 F13 and more, on three hosts: nothing is left, status and last line are right"
hits hosts
wait
finish
