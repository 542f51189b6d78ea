#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hvdrendezvousd among unauthenticated clients: how many it serves, what they cost, and what workers notice.
#
#   [BUILD=build] bench/unauthenticated.sh [-c CONNECTIONS] [-j WORLDS] [-d DRIPS] [-s SCANS_PER_SECOND]
#
# Needs tests/support/unauthenticated (make tests/support/unauthenticated). Prints a TSV, times in milliseconds:
#   gets     so many connections at once that have a key, one GET each: failures, p50, p99, max
#   joins    worlds of two, one after the other, with nobody else there: the same
#   crowded  the same among connections that drip a byte a second, and come back when they are sent away, and as many a
#            second that come and go
#   opened   the same among connections that say OPEN and nothing more
#   memory   resident KiB: idle, and the most after all kinds of unauthenticated clients were there for some seconds
# The service may use 256 MiB of addresses, and all may have as many descriptors as the hard limit allows.
set -u
cd "$(dirname "$0")/.." || exit 1

connections=10000 worlds=1000 drips=5000 scans=1000
while getopts c:j:d:s: option; do
    case $option in
    c) connections=$OPTARG ;;
    j) worlds=$OPTARG ;;
    d) drips=$OPTARG ;;
    s) scans=$OPTARG ;;
    *) echo "usage: $0 [-c CONNECTIONS] [-j WORLDS] [-d DRIPS] [-s SCANS_PER_SECOND]" >&2 && exit 2 ;;
    esac
done

build=${BUILD-build}
daemon=${build:+$build/}hvdrendezvousd
unauthenticated=${build:-build}/tests/support/unauthenticated
tmp=$(mktemp -d) || exit 1
trap 'kill $service 2>/dev/null; rm -rf "$tmp"' EXIT
umask 077
prlimit --nofile="$(prlimit --nofile --noheadings -o HARD | tr -d " "):" --pid $$

service=
service_up() {
    rm -f "$tmp/port"
    prlimit --as=268435456 "$daemon" --key-file "$tmp/key" --port-file "$tmp/port" --listen 127.0.0.1:0 \
        --max-jobs 65536 2>"$tmp/service" &
    service=$!
    while [ ! -s "$tmp/port" ] && kill -0 $service; do
        sleep 0.1
    done
    port=$(cat "$tmp/port")
}

service_down() {
    kill $service
    wait $service
}

memory() {
    awk -v name="$1:" '$1 == name { print $2 }' "/proc/$service/status"
}

say() { # COLUMN...
    echo "$@" | tr ' ' '\t'
}

# crowd RATE 'KIND COUNT...'...: until dispersed; each RATE is that of a process of its own
crowd() {
    rm -f "$tmp/enough" "$tmp"/crowd.*
    while [ $# -gt 0 ]; do
        # shellcheck disable=SC2086  # words
        "$unauthenticated" 127.0.0.1 "$port" crowd "$tmp/enough" "$1" - $2 >"$tmp/crowd.$#" &
        crowd=$!
        shift 2
    done
    while grep -L '^crowded$' "$tmp"/crowd.* | grep -q .; do
        sleep 0.1
    done
}

disperse() {
    touch "$tmp/enough"
    wait "$crowd"
    sleep 1 # for the other
    sed 's/^/# /' "$tmp"/crowd.*
}

key() {
    cat "$tmp/key"
}

"$daemon" --new-key "$tmp/key" || exit 1
say what count failures p50_ms p99_ms max_ms
service_up
say gets "$("$unauthenticated" 127.0.0.1 "$port" gets "$(key)" "$connections")"
service_down
service_up
say joins "$("$unauthenticated" 127.0.0.1 "$port" joins "$(key)" "$worlds")"
service_down
service_up
crowd "$drips" "drip $drips" "$scans" "scan $scans"
say crowded "$("$unauthenticated" 127.0.0.1 "$port" joins "$(key)" "$worlds")"
disperse
service_down
service_up
crowd "$scans" "open 2000"
say opened "$("$unauthenticated" 127.0.0.1 "$port" joins "$(key)" "$worlds")"
disperse
service_down
service_up
say joins "$("$unauthenticated" 127.0.0.1 "$port" joins "$(key)" 10)"
idle=$(memory VmHWM)
crowd 2000 'silent 1000 drip 5000 head 1000 frames 1000 open 1000 newlines 200 tls 200 scan 500 upload 50 unread 2000'
sleep 20
disperse
say memory "$idle" "$(memory VmHWM)"
service_down
