#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a world does that has nothing to do: CPU time and context switches of each rank, all threads, over some seconds.
#
#   [BUILD=build] bench/idle.sh [-n RANKS] [-s SECONDS]
#
# Prints a TSV: rank, CPU time in milliseconds by the kernel's clock ticks (of 10 ms usually) and by the scheduler's count,
# how often it was switched to because it had waited (voluntary) or had been interrupted. What it has done before is subtracted.
set -u
cd "$(dirname "$0")/.." || exit 1

ranks=4 seconds=10
while getopts n:s: option; do
    case $option in
    n) ranks=$OPTARG ;;
    s) seconds=$OPTARG ;;
    *) echo "usage: $0 [-n RANKS] [-s SECONDS]" >&2 && exit 2 ;;
    esac
done

build=${BUILD-build}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

ticks_per_s=$(getconf CLK_TCK)

# counters PID: CPU ticks, scheduled nanoseconds, voluntary and other switches, of all its threads.
counters() {
    ticks=$(sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }')
    scheduled=$(cat /proc/"$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }')
    switches=$(cat /proc/"$1"/task/*/status | awk '/^voluntary_ctxt/ { v += $2 } /^nonvoluntary_ctxt/ { n += $2 }
        END { print v, n }')
    echo "$ticks $scheduled $switches"
}
all_counters() {
    while read -r rank pid; do
        echo "$rank $(counters "$pid")"
    done <"$tmp/ranks"
}

"${build:+$build/}hvdrun" -np "$ranks" "${build:-build}/bench/idle" $((seconds + 5)) >"$tmp/out" &
job=$!
while [ "$(grep -c stdout "$tmp/out")" -lt "$ranks" ] && kill -0 $job 2>/dev/null; do
    sleep 0.1
done
sed 's/^.*<stdout>://' "$tmp/out" | sort -n >"$tmp/ranks"
sleep 2 # for what comes after the first allreduce to calm down

all_counters >"$tmp/before"
sleep "$seconds"
all_counters >"$tmp/after"
paste -d ' ' "$tmp/before" "$tmp/after" | awk -v ticks="$ticks_per_s" '
    BEGIN { printf "rank\tcpu_ms\tscheduled_ms\tvoluntary_switches\tother_switches\n" }
    { printf "%d\t%d\t%.3f\t%d\t%d\n", $1, ($7 - $2) * 1000 / ticks, ($8 - $3) / 1e6, $9 - $4, $10 - $5 }'
wait $job
