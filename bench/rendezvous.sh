#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the rendezvous costs: worlds of simulated workers at a hvdrendezvousd, HTTP there, and worlds of real processes under hvdrun.
#
#   [BUILD=build] bench/rendezvous.sh [-r ROUNDS] [-m MAX] [-c CONNECTIONS] [-w RANKS] [join|http|init...]
#
#   join   from the first dial to the last WELCOME of 2, 4, 8 ... MAX (4096) workers, and how that grows; once as they come, and
#          once in jobs that were declared
#   http   requests per second on 64 connections that stay open, with proofs and with the key as it is, beside wrk where it is
#          installed; then CONNECTIONS (10 000) at once, each with one GET; memory of the daemon
#   init   hvdrun with 2, 8, 32, 128 ... RANKS (512) processes that init, barrier and shut down, by wall clock, and with as many
#          that do nothing
#
# Without a word it does all three. Prints TSV. Everything is on 127.0.0.1, the clients share the machine's cores with the daemon.
set -u
cd "$(dirname "$0")/.." || exit 1

rounds=5 max=4096 connections=10000 ranks=512
while getopts r:m:c:w: option; do
    case $option in
    r) rounds=$OPTARG ;;
    m) max=$OPTARG ;;
    c) connections=$OPTARG ;;
    w) ranks=$OPTARG ;;
    *) echo "usage: $0 [-r ROUNDS] [-m MAX] [-c CONNECTIONS] [-w RANKS] [join|http|init...]" >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- join http init

build=${BUILD-build}
hvdrun=${build:+$build/}hvdrun
daemon=${build:+$build/}hvdrendezvousd
bench=${build:-build}/bench
tmp=$(mktemp -d) || exit 1
service=
trap 'service_down; rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

service_up() {
    rm -f "$tmp/port"
    [ -f "$tmp/key" ] || (umask 077 && "$daemon" --new-key "$tmp/key" >/dev/null) || exit 1
    "$daemon" --key-file "$tmp/key" --port-file "$tmp/port" --listen 127.0.0.1:0 2>"$tmp/said" &
    service=$!
    until [ -s "$tmp/port" ]; do
        kill -0 "$service" 2>/dev/null || { cat "$tmp/said" >&2; exit 1; }
        sleep 0.05
    done
    address=127.0.0.1:$(cat "$tmp/port")
    HVD_JOB_KEY=$(cat "$tmp/key")
    export HVD_JOB_KEY
}

service_down() {
    [ -z "$service" ] || { kill "$service" && wait "$service"; } 2>/dev/null
    service=
    unset HVD_JOB_KEY
}

memory() {
    awk -v what="$1" '/^VmHWM/ { printf "# %s: at most %.1f MiB resident\n", what, $2 / 1024 }' "/proc/$service/status"
}

do_join() {
    sizes=
    size=2
    while [ "$size" -le "$max" ]; do
        sizes="$sizes $size"
        size=$((size * 2))
    done
    for how in join join-declared; do
        service_up
        echo "# $how"
        # shellcheck disable=SC2086
        "$bench/rendezvous" $how "$address" "$rounds" $sizes
        memory "the daemon"
        service_down
    done
}

do_http() {
    service_up
    memory "the daemon before"
    "$bench/rendezvous" requests "$address" proof 64 5
    "$bench/rendezvous" requests "$address" bearer 64 5
    if command -v wrk >/dev/null; then
        key=$("$daemon" --key-file "$tmp/key" --job-key bench)
        wrk -t 1 -c 64 -d 5 --latency -H "Authorization: Bearer bench:$key" "http://$address/bench/key" |
            grep -E 'Requests/sec|99%|50%|Non-2xx|Socket errors' | sed 's/^ */# wrk: /'
    fi
    "$bench/rendezvous" gets "$address" "$connections"
    memory "the daemon after"
    service_down
}

# wall_ms COMMAND...: the median of so many rounds, in milliseconds.
wall_ms() {
    for _ in $(seq "$rounds"); do
        begin=$(date +%s%N)
        "$@" >"$tmp/out" 2>&1 </dev/null || { cat "$tmp/out" >&2; exit 1; }
        echo $((($(date +%s%N) - begin) / 1000))
    done | sort -n | awk '{ us[NR] = $1 } END { printf "%.1f", us[int((NR + 1) / 2)] / 1000 }'
}

do_init() {
    printf 'ranks\tinit_barrier_ms\tnothing_ms\n'
    size=2
    while [ "$size" -le "$ranks" ]; do
        printf '%d\t%s\t%s\n' "$size" "$(wall_ms "$hvdrun" -np "$size" "$bench/init")" \
            "$(wall_ms "$hvdrun" -np "$size" true)"
        size=$((size * 4))
    done
}

for part; do
    case $part in
    join | http | init) "do_$part" ;;
    *) echo "$0: '$part': expected join, http or init" >&2 && exit 2 ;;
    esac
done
