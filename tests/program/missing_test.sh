#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who has not come to a collective, told by SIGUSR2, the last line of --timeout and the status page: the ranks that pause,
# wherever they are in the tree of ranks, and nobody else.
. "$srcdir/tests/tap.sh"

# pausing RANK...: arguments of a job in which these ranks have not come to its second barrier.
pausing() {
    echo init print up barriers 1
    for rank; do echo only "$rank" wait "$tmp/go" all; done
    echo barriers 1 shutdown
}

# Asks again and again: ranks need a moment to come to what they wait for, and to leave the barrier before.
ask_until_said() {
    until_true ask_and_look "$1"
}
ask_and_look() {
    kill -USR2 "$pid" 2>/dev/null && sleep 0.2 && grep -Eq -e "$1" "$tmp/err"
}

ends_well() {
    : >"$tmp/go"
    finish_job
    is "$1: the job goes on when they have come" 0 "$status"
    rm -f "$tmp/go"
}

# A leaf, an inner node, the last rank, several, one below another
while IFS='|' read -r size paused named; do
    # shellcheck disable=SC2046,SC2086 # words
    start "$HVDRUN" -np "$size" "$WORLD" $(pausing $paused)
    until_said ']<stdout>:up'
    ok "of $size ranks only $named are told to be missing" \
        ask_until_said "^hvdrun: rank 0 on localhost: waiting for barrier.* since [0-9.]+ s \(not submitted by $named\)\$"
    ends_well "$size ranks, $named"
done <<'END'
6|2|2
6|1|1
16|2|2
16|15|15
16|2 3 9|2-3, 9
32|5 20|5, 20
64|33|33
END

# shellcheck disable=SC2046 # words
start "$HVDRUN" -np 16 "$WORLD" $(pausing 0)
until_said ']<stdout>:up'
ok "so is rank 0, which says so itself" \
    ask_until_said '^hvdrun: rank 0 on localhost: not yet submitted: barrier.* since [0-9.]+ s \(not submitted by 0\)$'
ends_well "16 ranks, 0"

# The last line of --timeout
# named_in_time SENTENCE SIZE RANK WAITED STATUS: of SIZE ranks one, RANK, does not come; those in WAITED wait, and rank 0 gives
# that status. The limit grows, because a rank that answers late on a busy machine is one of which nothing is known.
named_in_time() {
    for limit in 2 10 50; do
        run "$HVDRUN" --timeout $limit -np "$2" "$WORLD" init barriers 1 but "$3" barriers 1 all stay
        ! grep -q "$4 waited" "$tmp/err" || break
    done
    like "$1" "$4 waited for others \(rank 0: $5 since [0-9.]+ s \(not submitted by $3(; not known of [^)]*)?\)\); $2 ranks" "$tmp/err"
}
named_in_time "--timeout names the rank that did not come, and no other" 16 2 'ranks 0, 1, 3-15' 'waiting for barrier.*'
named_in_time "also when it is rank 0" 6 0 'ranks 1-5' 'not yet submitted: barrier.*'

# The status page
page() {
    address=$(sed -n 's,.*status page at \(http://[0-9.:]*/\)$,\1,p' "$tmp/err")
    id=$(curl -sS --noproxy '*' -m "$PATIENCE_S" "${address}v1/jobs" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
    curl -sS --noproxy '*' -m "$PATIENCE_S" "${address}v1/jobs/$id?ask" >"$tmp/page"
    grep -Eq "$1" "$tmp/page"
}
# shellcheck disable=SC2046 # words
start "$HVDRUN" --verbose -np 16 "$WORLD" $(pausing 2)
until_said 'status page at' "$tmp/err"
ok "so does the status page" until_true page 'waiting for barrier[^"]* since [0-9.]+ s \(not submitted by 2\)"'
ends_well "16 ranks, 2"
finish
