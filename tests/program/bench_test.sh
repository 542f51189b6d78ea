#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/run: what it writes, what it refuses. How fast anything is plays no part.
. "$srcdir/tests/tap.sh"

if [ "$SANITIZERS" != no ]; then
    skip "bench/run" "built with $SANITIZERS"
    finish
    exit
fi

bench() { run env BUILD="$PWD" sh "$srcdir/bench/run" "$@"; }
column() { grep -v '^#' "$tmp/tsv" | cut -f "$1" | sort -u | tr '\n' ' '; }

bench --quick --rounds 1 --sizes 8,64 --ops allreduce,launch --ranks 2 --transports tcp --congestion default --peers bound --out "$tmp/tsv"
is "a quick round ends well" 0 "$status"
is "and writes the columns that are promised" "peer op algorithm ranks bytes median_us min_us spread_pct turns state" \
    "$(grep -v '^#' "$tmp/tsv" | head -n 1 | tr '\t' ' ')"
is "all lines have them" 10 "$(grep -v '^#' "$tmp/tsv" | awk -F '\t' '{ print NF }' | sort -u)"
is "for libhvd, those beside it, and the machine" "bound/tcp hvd hvd/tcp machine peer " "$(column 1)"
is "with what was asked for" "allreduce launch line op " "$(column 2)"
is "of these sizes" "0 64 8 bytes " "$(column 5)"
is "each in one state of the machine" "" "$(column 10 | tr ' ' '\n' | grep -vxE -e 'state|fast|slow|mixed|changed|-|')"
like "the table says what else the machine did" '^# the machine did something else' "$tmp/out"

run sh "$srcdir/bench/report" "$tmp/tsv"
is "the table of aims has a line for each" 27 "$(grep -c '^|.*|.*|.*|.*|.*|.*|$' "$tmp/out")"
like "that says what was not measured" '^\| idle world, .* \| - \| - \| - \|$' "$tmp/out"

# line PEER OP RANKS BYTES MEDIAN [STATE]
line() { printf '%s\t%s\t-\t%s\t%s\t%s\t1.0\t0\t1%s\n' "$1" "$2" "$3" "$4" "$5" "${6:+	$6}"; }
{
    line hvd/shm allreduce 2 8 0.2 fast && line openmpi/shm allreduce 2 8 0.3 fast && line mpich/shm allreduce 2 8 0.1 slow
    line hvd/shm allreduce 2 1048576 11 slow && line openmpi/shm allreduce 2 1048576 20 slow
    line hvd/shm allreduce 2 1048576 90 fast && line mpich/shm allreduce 2 1048576 10 fast
    line hvd/shm allreduce 2 16777216 10 mixed && line mpich/shm allreduce 2 16777216 10 mixed
    line hvd/shm allreduce 2 67108864 64 changed && line mpich/shm allreduce 2 67108864 64 changed
    line hvd/tcp allreduce 2 1048576 9 slow && line gloo/tcp allreduce 2 1048576 10 slow
    line hvd/tcp-reno allreduce 2 1048576 30 slow && line gloo/tcp-reno allreduce 2 1048576 10 slow
    line hvd+alloc/shm allreduce 2 1048576 11 slow
} >"$tmp/made"
run sh "$srcdir/bench/report" "$tmp/made"
like "what reaches its aim is won" '8 B \| 1.0 \| 2.0 \| 0.67: won \| - \| - \|$' "$tmp/out"
like "what does not is at least what is required, or missed, in each state" \
    '^\| 1 MiB \| 0.6 F, 0.5 S \| 0.75 \| 9.00: \*\*missed\*\* \| 0.55: required \| - \|$' "$tmp/out"
like "reno has a column" '^\| 1 MiB \| 0.85 \| 1.0 \| - \| 0.90: required \| 3.00: \*\*missed\*\* \|$' "$tmp/out"
like "an aim may be another row of ours" '64 KiB to 1 MiB \| as user buffers or better \| 0.6 \| - \| 0.55: won \| - \|$' "$tmp/out"
like "what was measured in no state is not beside anything" '^\| 16 MiB \| 0.6 \| 0.8 \| - \| - \| - \|$' "$tmp/out"
like "and told" '^4 lines were measured while the machine was in neither state' "$tmp/out"
run awk -f "$srcdir/bench/support/table.awk" "$tmp/made"
like "the table shows the medians" '^ +8 +0\.20 \(1\.00\) +0\.30 \(1\.00\) +- +0\.67 ' "$tmp/out"
like "of turns in one state" '^2 lines were measured while the machine changed its state' "$tmp/out"
unlike "and no others" '64\.00' "$tmp/out"

# turn_state BEFORE AFTER: the state of a turn with these round trips.
turn_state() {
    printf 'machine\tline\t-\t2\t64\t%s\t0\t0\n' "$@" |
        awk -f "$srcdir/bench/support/state.awk" -f "$srcdir/bench/support/turn_state.awk"
}
is "a turn is in the state of its ends" "fast slow mixed" \
    "$(turn_state 0.06 0.14) $(turn_state 0.31 0.5) $(turn_state 0.2 0.25)"
is "if these agree" "changed changed changed" "$(turn_state 0.06 0.4) $(turn_state 0.4 0.06) $(turn_state 0.06 0.2)"
is "and both are known" changed "$(turn_state 0.06)"

{
    echo '# round trip of a cache line, us: 0.310 to 0.410, median 0.330'
    line hvd/shm allreduce 2 8 1 && line openmpi/shm allreduce 2 8 1
} >"$tmp/made"
run sh "$srcdir/bench/report" "$tmp/made"
like "a file without states has that of its head" '8 B \| 1.0 \| 2.0 \| - \| 1.00: won \| - \|$' "$tmp/out"

while IFS='|' read -r arguments message; do
    # shellcheck disable=SC2086  # words
    bench $arguments
    ok "refused in a line: $arguments" refused bench/run 2 "$message"
done <<'EOF'
--bogus|'--bogus' is not an option
--rounds|option '--rounds' needs a value
--rounds 0|'0' is not a number from 1 to 1000
--rounds 1,2|'1,2' is not a number from 1 to 1000
--sizes 8,x|'x' is not a number
--sizes ,|option '--sizes' ','
--ops allreduce,dance|'dance' is none of
--ranks 65|'65' is not a number from 2 to 64
--peers pvm|'pvm' is none of
--congestion cubic|'cubic' is none of
--out /nowhere/tsv|cannot write '/nowhere/tsv'
EOF
run sh "$srcdir/bench/report" "$tmp/none"
ok "refused in a line: a report of no file" refused bench/report 2 "cannot read '$tmp/none'"
finish
