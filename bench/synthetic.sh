#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How examples/synthetic_benchmark scales on this machine, by model and ranks, when computing is an accelerator's (sleeping).
#
#   [BUILD=build] bench/synthetic.sh [-n RANKS,RANKS...] [-i ITERS] [-b BATCHES] [-q SECONDS] [MODEL...]
#
# Each model runs with each number of ranks, as it is and with --no-overlap. Prints a TSV: model, ranks, overlap (yes, no), images/s
# of all ranks; of_one, images/s of each rank in parts of those of a world of one; efficiency, the program's own, in parts of what
# the same ranks do beside each other when nothing is reduced (the updates of many ranks on few cores take longer than those of
# one: "of_one" counts that, "efficiency" does not); the part of the communication that is hidden; whether all ranks ended with
# the same parameters. On stderr it says how busy the machine was before each run, and with -q SECONDS it waits so long at most
# until that is less than a tenth.
set -u
cd "$(dirname "$0")/.." || exit 1

ranks=1,2,4,8 iters=3 batches=5 quiet_s=0
while getopts n:i:b:q: option; do
    case $option in
    n) ranks=$OPTARG ;;
    i) iters=$OPTARG ;;
    b) batches=$OPTARG ;;
    q) quiet_s=$OPTARG ;;
    *) echo "usage: $0 [-n RANKS,RANKS...] [-i ITERS] [-b BATCHES] [-q SECONDS] [MODEL...]" >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- resnet50 resnet101 inception3 vgg16

build=${BUILD-build}
hvdrun=${build:+$build/}hvdrun
program=${build:-build}/examples/synthetic_benchmark
limit_s=${LIMIT_S:-600}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. bench/support/quiet.sh

# field NAME: of the result line.
field() { sed -n "s/.* $1=\([^ ]*\).*/\1/p" "$tmp/out"; }

# run MODEL RANKS OVERLAP [OPTION]: one line of the table. $one is what a world of one rank does, or empty.
run() {
    model=$1 n=$2 overlap=$3
    shift 3
    echo "$model, $n ranks, overlap $overlap ($(quiet "$quiet_s") % busy before)" >&2
    timeout "$limit_s" "$hvdrun" -np "$n" "$program" --model "$model" --num-warmup-batches 3 --num-iters "$iters" \
        --num-batches-per-iter "$batches" --quiet "$@" >"$tmp/out" || { echo "failed, or took more than $limit_s s" >&2; return; }
    images_per_s=$(field images_per_s)
    [ "$n" -gt 1 ] || one=$images_per_s
    of_one=$(awk -v all="$images_per_s" -v n="$n" -v one="$one" 'BEGIN { if (one) printf "%.3f", all / n / one }')
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$model" "$n" "$overlap" "$images_per_s" "${of_one:--}" \
        "$(field efficiency)" "$(field hidden)" "$(field identical)"
}

printf 'model\tranks\toverlap\timages_per_s\tof_one\tefficiency\thidden\tidentical\n'
for model; do
    one=
    for n in $(echo "$ranks" | tr , ' '); do
        run "$model" "$n" yes
        [ "$n" -eq 1 ] || run "$model" "$n" no --no-overlap
    done
done
