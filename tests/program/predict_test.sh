#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/predict as a user calls it: a line for each number of ranks, links from what hvd-bandwidth prints, bad input.
: "${srcdir:=$(dirname "$0")/../..}"
. "$srcdir/tests/tap.sh"

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
predict=$PWD/bench/predict

# refused SENTENCE WORDS ARGUMENT...: one line with the words, and status 2.
refused() {
    sentence=$1 words=$2
    shift 2
    "$predict" "$@" >"$tmp/out" 2>"$tmp/err"
    is "$sentence" "2 1 1" "$? $(wc -l <"$tmp/err") $(grep -c -- "$words" "$tmp/err")"
}

"$predict" --shrink 64 --ranks-per-host 2 resnet50 2,4,8 >"$tmp/out"
is "a heading, and a line for each number of ranks" "ranks 2 4 8" "$(cut -f2 "$tmp/out" | tr '\n' ' ' | sed 's/ $//')"
is "ranks are placed host by host" "hosts 1 2 4" "$(cut -f3 "$tmp/out" | tr '\n' ' ' | sed 's/ $//')"
ok "efficiency lies between 0 and 1" awk 'NR > 1 && !($6 > 0 && $6 <= 1) { exit 1 }' "$tmp/out"

slow=$("$predict" --ranks-per-host 1 --bandwidth 1 allreduce:1000000 2 | awk 'NR == 2 { print $4 }')
fast=$("$predict" --ranks-per-host 1 --bandwidth 10 allreduce:1000000 2 | awk 'NR == 2 { print $4 }')
ok "a slower network takes longer" awk -v slow="$slow" -v fast="$fast" 'BEGIN { exit !(slow > 3 * fast) }'

{
    printf 'operation\tplace\tsize\tcount\ttype\tredop\troot\titers\tavg_us\tmin_us\tmax_us\talgbw\tbusbw\twrong\n'
    printf 'allreduce\tin-place\t8\t2\tfloat\tsum\t-1\t20\t40\t40\t40\t1\t1\t0\n'
    printf 'allreduce\tin-place\t8000000\t2000000\tfloat\tsum\t-1\t20\t68000\t1\t1\t1\t1\t0\n'
} >"$tmp/times"
took=$("$predict" --network-times "$tmp/times" --ranks-per-host 1 allreduce:8000000 2 2>"$tmp/err" | awk 'NR == 2 { print $4 }')
ok "measured links take the measured time" awk -v took="$took" 'BEGIN { exit !(took > 67000 && took < 69000) }'
ok "what was found is told" grep -q 'latency 40.0 us' "$tmp/err"

refused "an unknown model is refused" "MODEL is" resnet51 8
refused "one rank is refused" "RANKS is" resnet50 1
refused "no number is refused" "RANKS is" resnet50 8,x
refused "an unknown network is refused" "tcp25 or roce25" --network wifi resnet50 8
refused "an unknown algorithm is refused" "--algorithm is" --algorithm fastest resnet50 8
refused "a bandwidth of 0 is refused" "--bandwidth is" --bandwidth 0 resnet50 8
refused "a file that is not there is refused" "No such file" --network-times "$tmp/none" resnet50 8
echo nonsense >"$tmp/times"
refused "a file without times is refused" "no allreduce" --network-times "$tmp/times" resnet50 8
finish
