#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An agent that is not what it should be: hvdrun beside a program of that name which says the wrong
# things, or nothing. Only a job with other hosts, or one that binds its ranks, starts that program.
. "$srcdir/tests/tap.sh"

mkdir "$tmp/fake"
cp "$HVDRUN" "$tmp/fake/hvdrun"
zeros='\000\000\000\000'
ready="HVD1\\006\\000\\000\\000\\040\\000\\000\\000$zeros$zeros$zeros$zeros\\000\\000$zeros$zeros\\000\\000$zeros"
rank0="$zeros"

# agent_says BYTES [THEN]: the agent writes them, in printf's notation, then does what THEN says.
agent_says() {
    printf '#!/bin/sh\nprintf "%s"\n%s\n' "$(printf '%s' "$1" | sed 's/\\/\\\\/g')" "${2-cat >/dev/null}" |
        sed 's/\\\\/\\/g' >"$tmp/fake/hvdagent"
    chmod +x "$tmp/fake/hvdagent"
}

# lost WHAT STATUS PATTERN BYTES [THEN]: time is up soon only for an agent that says no more; later where a busy machine has
# not got so far by then.
lost() {
    agent_says "$4" "${5-cat >/dev/null}"
    [ "$2" = 75 ] && limits='2 10 50' || limits=60
    for limit in $limits; do
        run "$tmp/fake/hvdrun" --heartbeat-timeout 1 --start-timeout "$limit" --grace 0 --bind-to core -np 2 true
        ! grep -Eq "^hvdrun: FAILED.*$3" "$tmp/err" || break
    done
    is "$1: status $2" "$2" "$status"
    like "$1: said in the last line" "^hvdrun: FAILED.*$3" "$tmp/err"
    ok "$1: nothing is left" no_survivors
}

lost "noise" 76 "broke its link: not a frame: 'nonsense" 'nonsense, and more of it'
lost "unknown flags" 76 'unknown flags 0x0001' "HVD1\\006\\000\\001\\000$zeros"
lost "a frame of 4 GB" 76 'frame of type 10 with 4294967295 bytes' 'HVD1\012\000\000\000\377\377\377\377'
lost "a frame of unknown type" 76 'frame of unknown type 99' "HVD1\\143\\000\\000\\000$zeros"
lost "a frame out of turn" 76 'OUTPUT frame out of turn' "HVD1\\012\\000\\000\\000$zeros"
lost "a second READY" 76 'READY frame out of turn' "$ready$ready"
lost "a malformed frame" 76 'malformed' "${ready}HVD1\\021\\000\\000\\000\\001\\000\\000\\000x"
lost "READY without facts" 76 'malformed READY' "HVD1\\006\\000\\000\\000$zeros"
lost "a clock beyond all time" 76 'clock that cannot be' \
    "HVD1\\006\\000\\000\\000\\040\\000\\000\\000$zeros\\000\\000\\000\\200$zeros$zeros\\000\\000$zeros$zeros\\000\\000$zeros"
lost "more processes left than there can be" 76 'DONE with 2147483647 processes' \
    "${ready}HVD1\\026\\000\\000\\000\\004\\000\\000\\000\\377\\377\\377\\177"
lost "a step that does not exist" 76 'step 99, which does not exist' \
    "HVD1\\007\\000\\000\\000\\015\\000\\000\\000\\377\\377\\377\\377\\143\\177\\000\\000\\000$zeros"
lost "a client that may belong to the user" 76 'RELAY_OPEN with 2 for yes or no' \
    "${ready}HVD1\\022\\000\\000\\000\\005\\000\\000\\000$zeros\\002"
lost "a malformed heartbeat" 76 'malformed HEARTBEAT' "${ready}HVD1\\025\\000\\000\\000\\001\\000\\000\\000x"
lost "a rank of another host" 76 'rank 5 in a wrong way' \
    "${ready}HVD1\\011\\000\\000\\000\\011\\000\\000\\000\\005\\000\\000\\000\\000$zeros"
lost "the end of a rank that does not run" 76 'rank 0 in a wrong way' \
    "${ready}HVD1\\021\\000\\000\\000\\060\\000\\000\\000\\001\\000\\000$zeros$zeros$rank0$zeros$zeros$zeros$zeros$zeros$zeros$zeros$zeros\\000"
lost "output of a rank that does not run" 76 'rank 0 in a wrong way' \
    "${ready}HVD1\\012\\000\\000\\000\\006\\000\\000\\000$rank0\\000x"
lost "success without a rank that ran" 76 'rank 0 in a wrong way' "${ready}HVD1\\026\\000\\000\\000\\004\\000\\000\\000$zeros"
lost "more stdin asked for than there is room" 76 'stdin that is not its' \
    "${ready}HVD1\\016\\000\\000\\000\\004\\000\\000\\000\\001\\000\\001\\000"
lost "an end at once" 68 'its agent \(pid [0-9]+\) exited with status 3' '' 'exit 3'
lost "an agent that says nothing" 75 "not ready in time \\(--start-timeout\\): localhost at step 'directory'" ''
lost "ranks that never start" 75 'not ready in time \(--start-timeout\): localhost has not started rank 0' "$ready"

agent_says "HVD1\\007\\000\\000\\000\\020\\000\\000\\000\\377\\377\\377\\377\\006\\177\\000\\000\\000\\003\\000\\000\\000boo"
run "$tmp/fake/hvdrun" --grace 0 -np 3 -H localhost:1,127.0.0.2:1,127.0.0.3:1 true
is "several hosts fail before the ranks run: one is the verdict" 1 "$(grep -c '^hvdrun: FAILED on .*: boo$' "$tmp/err")"
is "and the others are told" 2 "$(grep -c '^hvdrun: [l1].*: boo$' "$tmp/err")"

printf '#!/no/such/interpreter\n' >"$tmp/fake/hvdagent"
run "$tmp/fake/hvdrun" -np 2 -H localhost:1,127.0.0.2:1 true
is "an agent that cannot be executed is status 71" 71 "$status"
like "and is named" 'FAILED on localhost: .*hvdagent: No such file or directory' "$tmp/err"
rm "$tmp/fake/hvdagent"
[ -x "$AGENTDIR/hvdagent" ] || {
    run "$tmp/fake/hvdrun" -np 1 true
    is "no agent at all is status 70" 70 "$status"
}
finish
