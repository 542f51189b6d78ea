# SPDX-License-Identifier: Apache-2.0
# For tests of elastic jobs, behind tests/tap.sh: a job of tests/support/elastic_worker.c, whose workers print "world EPOCH rank R
# of SIZE worker W pid P" for each world that they join.

# shellcheck shell=sh
export LD_LIBRARY_PATH="$STAGE$LIBDIR"

# elastic ARGUMENT...: starts a job whose workers go on until end_job.
elastic() {
    rm -f "$tmp/end"
    start "$HVDRUN" --grace 1 "$@" "$ELASTIC_WORKER" "$tmp"
}

# all_joined EPOCH WORKER...: waits until the world has these workers, in order of rank, and no others.
all_joined() {
    _epoch=$1
    shift
    _rank=0
    for _worker in "$@"; do
        until_said "world $_epoch rank $_rank of $# worker $_worker pid " || return 1
        _rank=$((_rank + 1))
    done
}

# pid_of WORKER
pid_of() {
    sed -n "s/.*worker $1 pid \([0-9]*\)\$/\1/p" "$tmp/out" | head -n 1
}

kill_worker() {
    kill -KILL "$(pid_of "$1")"
}

# end_job: lets the workers end well, and waits for hvdrun.
end_job() {
    : >"$tmp/end"
    finish_job
}

# workers_of PROGRAM: the numbers of the workers that run it, or have started it, in order.
workers_of() {
    survivors | cut -d/ -f3 | while read -r _process; do
        [ "$(cat "/proc/$_process/comm" 2>/dev/null)" = "$1" ] || continue
        tr '\0' '\n' <"/proc/$_process/environ" 2>/dev/null | sed -n 's/^HVD_WORKER=//p'
    done | sort -n | tr '\n' ' ' | sed 's/ $//'
}

workers_are() {
    [ "$(workers_of elastic_worker)" = "$*" ]
}

# report_worlds: the workers of each world in $tmp/report, worlds between blanks.
report_worlds() {
    tr -d '\n\t ' <"$tmp/report" | grep -o '"workers":\[[0-9,]*\]' | sed 's/.*\[//; s/\]//' | tr '\n' ' ' | sed 's/ $//'
}
