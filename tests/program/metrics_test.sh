#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the ranks of a job have counted, at /metrics and /v1/jobs/ID, and which of them are stalled.
. "$srcdir/tests/tap.sh"

# series NAME{LABELS}: its value; nothing if it is not there.
series() {
    curl -sS "$url/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

# each OPERATION FAMILY: the values of all ranks, in order of rank.
each() {
    for rank in 0 1 2 3; do
        series "$2{rank=\"$rank\",operation=\"$1\"}"
    done | paste -sd' '
}

# The ranks that are stalled, and for whom each waits: "0:1 2:1"
stalled() {
    curl -sS "$url/v1/jobs/$id?ask" | grep -oE '"rank":[0-9]+|"waits_for":\[[0-9,]*' | awk -F: '
        /rank/ { rank = $2; next }
        { printf "%s%s:%s", space, rank, substr($2, 2); space = " " }'
}

# who_is_stalled RANKS: is it that?
who_is_stalled() {
    [ "$(stalled)" = "$1" ]
}

# Rank 1 comes late to an allreduce that is named 'next'.
start "$HVDRUN" --verbose -np 4 "$WORLD" init allreduces 5 barriers 3 print up \
    only 1 wait "$tmp/come" shutdown exit 0 all expect PEER_LEFT
for rank in 0 1 2 3; do until_said "\[$rank\].*up"; done
url=$(grep -om1 'http://127[0-9.]*:[0-9]*' "$tmp/err")
id=$(curl -sS "$url/v1/jobs" | sed 's/.*"id":"\([^"]*\)".*/\1/')

is "each rank counts its allreduces" "5 5 5 5" "$(each allreduce hvd_collectives_total)"
is "and their bytes" "20000 20000 20000 20000" "$(each allreduce hvd_collective_bytes_total)"
is "and their latencies" "5 5 5 5" "$(each allreduce hvd_collective_latency_seconds_count)"
is "and its barriers" "3 3 3 3" "$(each barrier hvd_collectives_total)"
is "which have no bytes" "0 0 0 0" "$(each barrier hvd_collective_bytes_total)"
is "nothing is told of what it has never done" '' "$(each alltoall hvd_collectives_total)"
is "the one job has no name there" 0 "$(curl -sS "$url/metrics" | grep -c 'job="')"
curl -sS "$url/metrics?ranks=no" >"$tmp/out"
like "without ranks there are the counters of the rendezvous" '^hvd_jobs' "$tmp/out"
unlike "and no others" 'rank=|_ranks' "$tmp/out"
curl -sS "$url/v1/jobs/$id" >"$tmp/out"
is "the job as JSON has the same numbers" 4 \
    "$(grep -o '"stats":{"collectives":8,"bytes":20000,' "$tmp/out" | wc -l)"

ok "ranks that wait for another are stalled, and it is named" until_true who_is_stalled '0:1 2:1 3:1'
is "they are counted" 3 "$(series hvd_stalled_ranks)"
like "they have waited all the time" '^[3-9]|^[1-9][0-9]' - <<EOF
$(series 'hvd_waiting_seconds_total{rank="2"}')
EOF
rank2=$(survivors | cut -d/ -f3 | while read -r process; do
    ! grep -qz '^HOROVOD_RANK=2$' "/proc/$process/environ" || echo "$process"
done)
kill -STOP "$rank2"
ok "one that is stopped itself is not blamed for that" until_true who_is_stalled '0:1 3:1'
is "and what it had counted is still told" 5 "$(series 'hvd_collectives_total{rank="2",operation="allreduce"}')"
kill -CONT "$rank2"
: >"$tmp/come"
finish_job
is "the job ends as if nobody had looked" 0 "$status"
ok "and nothing is left" no_survivors
finish
