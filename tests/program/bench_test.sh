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

bench --quick --rounds 1 --sizes 8,64 --ops allreduce,launch --ranks 2 --transports tcp --peers bound --out "$tmp/tsv"
is "a quick round ends well" 0 "$status"
is "and writes the columns that are promised" "peer op algorithm ranks bytes median_us min_us spread_pct turns" \
    "$(grep -v '^#' "$tmp/tsv" | head -n 1 | tr '\t' ' ')"
is "all lines have them" 9 "$(grep -v '^#' "$tmp/tsv" | awk -F '\t' '{ print NF }' | sort -u)"
is "for libhvd, those beside it, and the machine" "bound/tcp hvd hvd/tcp machine peer " "$(column 1)"
is "with what was asked for" "allreduce launch line op " "$(column 2)"
is "of these sizes" "0 64 8 bytes " "$(column 5)"
like "the table shows the medians" '^ +64 +[0-9.]+ \([0-9.]+\) +[0-9.]+ \([0-9.]+\)' "$tmp/out"
like "and says what else the machine did" '^# the machine did something else' "$tmp/out"

run sh "$srcdir/bench/report" "$tmp/tsv"
is "the table of aims has a line for each" 20 "$(grep -c '^|.*|.*|.*|.*|$' "$tmp/out")"
like "that says what was not measured" '^\| idle world .* \| - \| not measured \|$' "$tmp/out"

printf '%s\t%s\t-\t2\t%d\t%s\t1.0\t0\t1\n' hvd/shm allreduce 65536 5 openmpi/shm allreduce 65536 10 mpich/shm allreduce 65536 20 \
    hvd/shm allreduce 1048576 9.5 openmpi/shm allreduce 1048576 10 hvd/tcp allreduce 1048576 30 gloo/tcp allreduce 1048576 10 >"$tmp/made"
run sh "$srcdir/bench/report" "$tmp/made"
like "what reaches its aim is told" '\| the same, 64 KiB .* \| 0.50 \(5.00 us beside 10 us of openmpi/shm\) \| aim \|' "$tmp/out"
like "what is in between, too" '\| 0.95 \(9.50 us beside 10 us of openmpi/shm\) \| yes \|' "$tmp/out"
like "and what is not there yet" '\| 3.00 \(30 us beside 10 us of gloo/tcp\) \| no \|' "$tmp/out"

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
--peers pvm|'pvm' is none of
--out /nowhere/tsv|cannot write '/nowhere/tsv'
EOF
run sh "$srcdir/bench/report" "$tmp/none"
ok "refused in a line: a report of no file" refused bench/report 2 "cannot read '$tmp/none'"
finish
