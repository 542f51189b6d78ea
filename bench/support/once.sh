# SPDX-License-Identifier: Apache-2.0
# What bench/run measures once, with scripts that have rounds of their own: an idle world, joining, starting over ssh. Their
# figures become lines as support/peer.h says; those of "idle" are wake-ups per second of the rank that has most.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154  # the variables are bench/run's

# once WHAT COMMAND...: without a limit of time, but ended by a failure.
once() {
    round=$rounds
    do_turn "$@"
    [ "$status" = 0 ] || leave_out "$1: failed: $(tail -n 1 "$tmp/said" | cut -c 1-200)"
}

once_idle() {
    _seconds=10
    [ "$preset" = full ] || _seconds=3
    once idle env BUILD="$build" bench/idle.sh -n 4 -s $_seconds || return
    awk -F '\t' -v seconds=$_seconds 'NR > 1 { rate = $4 / seconds; if (rate > most) most = rate }
        END { if (NR > 1) printf "hvd\tidle\t-\t4\t0\t%.2f\t%.2f\t%.2f\n", most, most, most }' "$tmp/out" | keep_lines
}

once_join() {
    once join env BUILD="$build" bench/rendezvous.sh -r 3 -m 8192 join || return
    awk -F '\t' '/^# join/ { how = $0 == "# join" ? "-" : "declared" }
        $1 ~ /^[0-9]+$/ { printf "hvd\tjoin\t%s\t%d\t0\t%.0f\t%.0f\t%.0f\n", how, $1, 1000 * $2, 1000 * $3, 1000 * $2 }
        ' "$tmp/out" | keep_lines
}

once_ssh() {
    for _hosts in 4 16; do
        once "ssh to $_hosts hosts" env BUILD="$build" bench/hosts.sh start -n $_hosts -r "$rounds" || return
        awk -F '\t' -v hosts=$_hosts '
            BEGIN { name["hvdrun"] = "hvd"; name["mpirun"] = "openmpi"; name["mpiexec.mpich"] = "mpich"; name["ssh"] = "ssh" }
            $1 in name { printf "%s\tssh\t-\t%d\t0\t%.0f\t%.0f\t%.0f\n", name[$1], hosts, 1000 * $2, 1000 * $2, 1000 * $3 }
            ' "$tmp/out" | keep_lines
    done
}

# ---- the head of the TSV ----

# lowest, middle and highest of the numbers in a column of the lines read.
range() {
    sort -n | awk '{ v[NR] = $1 } END { if (NR) printf "%s to %s, median %s", v[1], v[NR], v[int((NR + 1) / 2)] }'
}

describe() {
    echo "# $("$hvdrun" --version 2>/dev/null || echo hvdrun) at $commit, $(date -u +%Y-%m-%dT%H:%MZ)"
    echo "# $cores cores, $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), Linux $(uname -r)"
    echo "# the machine did something else during the turns: $(range <"$tmp/others") % of its cores, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
    echo "# round trip of a cache line, us: $(awk -F '\t' '$2 == "line" { print $6 }' "$tmp/samples" | range)"
    echo "# state of the machine, turns: $(sort "$tmp/states" | uniq -c | awk '{ print $2 " " $1 }' | paste -sd , -)"
    echo "# congestion control of TCP: $(cat /proc/sys/net/ipv4/tcp_congestion_control 2>/dev/null || echo unknown)"
    sed 's/^/# /' "$tmp/left_out"
}
