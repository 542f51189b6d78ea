#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Autotuning on real steps: what is tried is in the log, what stays is its last line, and nothing else changes.
. "$srcdir/tests/tap.sh"

train="$SYNTHETIC_BENCHMARK --model resnet50 --shrink 64 --compute sleep:0 --num-warmup-batches 1 --num-batches-per-iter 20 \
    --num-iters 2"
few="--autotune-warmup-samples 1 --autotune-steps-per-sample 1 --autotune-bayes-opt-max-samples 4"
log=$tmp/log.csv

# columns NAME LOG: the values of a column, without its name.
column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$2"
}
all_between() {
    column "$1" "$log" | awk -v low="$2" -v high="$3" '$1 < low || $1 > high { bad = 1 } END { exit bad }'
}

# shellcheck disable=SC2086 # words
run "$HVDRUN" -np 2 --autotune --autotune-log-file "$log" $few --log-level info $train
is "a job that is tuned ends well" 0 "$status"
like "with the same parameters on all ranks" 'identical=yes' "$tmp/out"
like "the log begins with Horovod's columns" \
    '^hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,cycle_time_ms,tensor_fusion_threshold,score' "$log"
lines=$(wc -l <"$log")
ok "a line for each sample, and one for what stays" [ "$lines" -ge 7 -a "$lines" -le 17 ]
is "the first is what there was" "0.000 4.000" "$(column cycle_time_ms "$log" | head -n 1) $(column tensor_fusion_threshold "$log" | head -n 1)"
ok "other waits are tried" [ "$(column cycle_time_ms "$log" | sort -u | wc -l)" -gt 1 ]
ok "within their limits" all_between cycle_time_ms 0 5
ok "as what is fused" all_between tensor_fusion_threshold 0.062 4
ok "what stays was tried before" grep -q "^$(tail -n 1 "$log" | cut -d, -f1-6)," "$log"
like "rank 0 says it, too" '^\[0\]<stderr>:\[.*autotuning: done, this stays: 0,0,0,1,' "$tmp/err"
unlike "and nobody else" '^\[1\].*autotuning' "$tmp/err"

# shellcheck disable=SC2086
run "$HVDRUN" -np 2 --autotune --autotune-log-file "$log" $few --fusion-threshold-mb 1 --cycle-time-ms 0.25 $train
is "what was said stays" "1.000 0.250" "$(column tensor_fusion_threshold "$log" | sort -u) $(column cycle_time_ms "$log" | sort -u)"
ok "the rest is tuned" [ "$(column fused_tensor_max "$log" | sort -u | wc -l)" -gt 1 ]

rm "$log"
# shellcheck disable=SC2086
run "$HVDRUN" -np 2 --no-autotune --autotune-log-file "$log" $few $train
ok "without --autotune there is no log" [ "$status" -eq 0 -a ! -e "$log" ]
# shellcheck disable=SC2086
run "$HVDRUN" -np 2 --autotune --autotune-log-file /no/such/log.csv $train
ok "a log that cannot be made is an error" [ "$status" -ne 0 ]
like "that names it" "log of autotuning '/no/such/log.csv': No such file or directory" "$tmp/err"
finish
