#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How far bench/predict is from real runs, on hosts that tests/testbed.sh makes (as root): their adapters are limited to a rate, so
# that the network is slower than the machine's processors, which all hosts share.
#
#   [BUILD=build] bench/predict.sh [-r MBIT] [-l RANKSxPERHOST,...] [-m MODEL:SHRINK:COMPUTE_MS,...] [-s BYTES,...]
#
# The link speeds are those that hvd-bandwidth finds between two ranks, on one host and on two. Then each layout runs allreduces of
# each size, and synthetic_benchmark with each model, and is predicted.
# Prints a TSV: what, ranks, hosts, real and predicted ms, the difference in percent, and for models both efficiencies. What the
# update of the parameters takes is taken from the real run: it is the time of a batch that reduces nothing, less COMPUTE_MS.
set -u
cd "$(dirname "$0")/.." || exit 1

rate=1000 layouts=2x1,4x2,4x1,8x2 models=resnet50:4:300,vgg16:16:300 sizes=65536,1048576,16777216
while getopts r:l:m:s: option; do
    case $option in
    r) rate=$OPTARG ;;
    l) layouts=$OPTARG ;;
    m) models=$OPTARG ;;
    s) sizes=$OPTARG ;;
    *) echo "usage: $0 [-r MBIT] [-l RANKSxPERHOST,...] [-m MODEL:SHRINK:COMPUTE_MS,...] [-s BYTES,...]" >&2 && exit 2 ;;
    esac
done
build=${BUILD-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
tmp=$(mktemp -d) || exit 1
TB_NAME=p$$ TB_SELF=$PWD/tests/testbed.sh
. tests/testbed.sh
tb_need || exit 1
trap 'tb_down; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
processors=$(nproc)

# hosts RANKS PERHOST
hosts() { echo $((($1 + $2 - 1) / $2)); }

most=1
for layout in $(echo "$layouts" | tr , ' '); do
    n=$(hosts "${layout%x*}" "${layout#*x}")
    [ "$n" -le "$most" ] || most=$n
done
[ "$most" -gt 1 ] || most=2
tb_up $((most + 1)) >"$tmp/up" 2>&1 || { cat "$tmp/up" >&2; exit 1; }
i=1
while [ $i -le "$most" ]; do
    tb_rate $i "${rate}mbit" || exit 1
    i=$((i + 1))
done

# on RANKS PERHOST COMMAND...: a job whose ranks are placed host by host.
on() {
    n=$1 each=$2 list= k=1
    shift 2
    while [ $k -le "$(hosts "$n" "$each")" ]; do
        list=$list${list:+,}host$k:$each
        k=$((k + 1))
    done
    tb_exec 0 "$build/hvdrun" -np "$n" -H "$list" "$@" </dev/null 2>"$tmp/err" >"$tmp/said" || { tail -n 2 "$tmp/err" >&2; return 1; }
    sed 's/^\[[0-9]*\]<stdout>://' "$tmp/said"
}

predict() { "$build/bench/predict" --processors "$processors" --local-times "$tmp/local" --network-times "$tmp/network" "$@" 2>>"$tmp/err"; }

# row WHAT RANKS HOSTS REAL PREDICTED [EFFICIENCY PREDICTED]: times in ms.
row() {
    awk -v what="$1" -v n="$2" -v hosts="$3" -v real="$4" -v predicted="$5" -v efficiency="${6--}" -v other="${7--}" 'BEGIN {
        printf "%s\t%d\t%d\t%.3f\t%.3f\t%+.0f\t%s\t%s\n", what, n, hosts, real, predicted, 100 * (predicted / real - 1), efficiency, other
    }'
}

# one_allreduce RANKS PERHOST BYTES
one_allreduce() {
    real=$(on "$1" "$2" "$build/hvd-bandwidth" --tsv -b "$3" -e "$3" -c 0 | awk '$1 == "allreduce" && $2 == "in-place" { print $9 / 1000 }')
    predicted=$(predict --ranks-per-host "$2" "allreduce:$3" "$1" | awk 'NR == 2 { print $4 / 1000 }')
    row "allreduce:$3" "$1" "$(hosts "$1" "$2")" "$real" "$predicted"
}

# one_model RANKS PERHOST MODEL SHRINK COMPUTE_MS
one_model() {
    on "$1" "$2" "$build/examples/synthetic_benchmark" --model "$3" --shrink "$4" --compute "sleep:$5" --batch-size 100 \
        --num-warmup-batches 2 --num-iters 1 --num-batches-per-iter 5 --quiet >"$tmp/out" || return
    step=$(sed -n 's/.* images_per_s=\([^ ]*\).*/\1/p' "$tmp/out" | awk -v n="$1" '{ print 100000 * n / $1 }')
    efficiency=$(sed -n 's/.* efficiency=\([^ ]*\).*/\1/p' "$tmp/out")
    update=$(awk -v step="$step" -v efficiency="$efficiency" -v compute="$5" 'BEGIN { u = step * efficiency - compute; print (u > 0.01) ? u : 0.01 }')
    predict --ranks-per-host "$2" --shrink "$4" --compute "$5" --update "$update" "$3" "$1" >"$tmp/predicted"
    row "$3/$4" "$1" "$(hosts "$1" "$2")" "$step" "$(awk 'NR == 2 { print $5 }' "$tmp/predicted")" "$efficiency" \
        "$(awk 'NR == 2 { print $6 }' "$tmp/predicted")"
}

on 2 2 "$build/hvd-bandwidth" --tsv -b 8 -e 8M -f 1000000 -w 5 -c 0 >"$tmp/local" || exit 1
on 2 1 "$build/hvd-bandwidth" --tsv -b 8 -e 8M -f 1000000 -w 5 -c 0 >"$tmp/network" || exit 1
predict allreduce:8 2 >/dev/null || { tail -n 2 "$tmp/err" >&2; exit 1; }
"$build/bench/predict" --local-times "$tmp/local" --network-times "$tmp/network" allreduce:8 2 2>&1 >/dev/null | sed "s|$tmp/||; s/^/# /"

printf 'what\tranks\thosts\treal_ms\tpredicted_ms\tdifference_%%\tefficiency\tpredicted\n'
for layout in $(echo "$layouts" | tr , ' '); do
    for size in $(echo "$sizes" | tr , ' '); do
        one_allreduce "${layout%x*}" "${layout#*x}" "$size"
    done
    for model in $(echo "$models" | tr , ' '); do
        rest=${model#*:}
        one_model "${layout%x*}" "${layout#*x}" "${model%%:*}" "${rest%:*}" "${rest#*:}"
    done
done
