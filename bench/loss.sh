#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How long after a rank was killed in the middle of a collective the others have the error.
#
#   [BUILD=build] bench/loss.sh [-n RANKS] [-r ROUNDS]
#
# RANKS ranks (16) on this machine, over shared memory and over TCP, ROUNDS times each (5). Prints a TSV: transport, how many
# errors there were, median, 99th percentile and worst in milliseconds.
set -u
cd "$(dirname "$0")/.." || exit 1

ranks=16 rounds=5
while getopts n:r: option; do
    case $option in
    n) ranks=$OPTARG ;;
    r) rounds=$OPTARG ;;
    *) echo "usage: $0 [-n RANKS] [-r ROUNDS]" >&2 && exit 2 ;;
    esac
done
build=${BUILD-build}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

printf 'transport\terrors\tmedian_ms\tp99_ms\tworst_ms\n'
for transport in shm tcp; do
    round=0
    while [ $round -lt "$rounds" ]; do
        round=$((round + 1))
        HVD_TRANSPORT=$transport "${build:+$build/}hvdrun" -np "$ranks" "${build:-build}/bench/loss" "$tmp/died" \
            2>/dev/null </dev/null | sed 's/^.*<stdout>://' >>"$tmp/$transport"
    done
    sort -n "$tmp/$transport" | awk -v transport=$transport '
        { us[NR] = $1 }
        END { printf "%s\t%d\t%.1f\t%.1f\t%.1f\n", transport, NR, us[int((NR + 1) / 2)] / 1e3, us[int(NR * 0.99 + 0.999)] / 1e3,
              us[NR] / 1e3 }'
done
