#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What becomes of the output of ranks under hvdrun, mpirun and mpiexec.mpich, side by side: how many lines arrive whole, and how
# fast; what a launcher holds in memory while nobody reads; how a job ends whose output cannot be written.
#
#   [BUILD=build] bench/output.sh [-n RANKS] [-l LINES] [-r ROUNDS] [-s SECONDS]
#
# RANKS ranks (4) print LINES lines each (250000), in ROUNDS turns (3); a stopped reader stays stopped for SECONDS (5). Three TSVs:
#   launcher, whole lines in percent (worst turn), ranks out of order, lines per second (median), ratio to hvdrun
#   launcher, largest memory of its own processes in MiB while its reader was stopped
#   launcher, where stdout goes, exit status; "never" when it had not ended after 20 s
# A launcher that is not installed is left out by name.
set -u
cd "$(dirname "$0")/.." || exit 1

ranks=4 lines=250000 rounds=3 seconds=5
while getopts n:l:r:s: option; do
    case $option in
    n) ranks=$OPTARG ;;
    l) lines=$OPTARG ;;
    r) rounds=$OPTARG ;;
    s) seconds=$OPTARG ;;
    *) echo "usage: $0 [-n RANKS] [-l LINES] [-r ROUNDS] [-s SECONDS]" >&2 && exit 2 ;;
    esac
done
build=${BUILD-build}
hvdrun=${build:+$build/}hvdrun
program=${build:-build}/bench/lines
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# launched WAY COMMAND...: runs it on all ranks.
launched() {
    _way=$1
    shift
    case $_way in
    hvdrun) "$hvdrun" -np "$ranks" "$@" ;;
    mpirun) mpirun --allow-run-as-root --oversubscribe -np "$ranks" "$@" ;;
    mpirun-tagged) mpirun --allow-run-as-root --oversubscribe --tag-output -np "$ranks" "$@" ;;
    mpiexec) mpiexec.mpich -np "$ranks" "$@" ;;
    mpiexec-tagged) mpiexec.mpich -prepend-rank -np "$ranks" "$@" ;;
    esac
}

is_there() {
    case $1 in
    hvdrun) [ -x "$hvdrun" ] || command -v "$hvdrun" ;;
    mpirun*) command -v mpirun ;;
    mpiexec*) command -v mpiexec.mpich ;;
    esac >"$tmp/found"
}

ways=
for way in hvdrun mpirun mpirun-tagged mpiexec mpiexec-tagged; do
    if is_there $way; then ways="$ways $way"; else echo "# $way: not installed" >&2; fi
done

# ---- whole lines, and how fast ----

one_turn() {
    _begin_ns=$(date +%s%N)
    launched "$1" "$program" "$lines" >"$tmp/out" 2>"$tmp/err" </dev/null
    _took_us=$((($(date +%s%N) - _begin_ns) / 1000))
    printf '%s\t%s\n' "$("$program" --check "$ranks" "$lines" <"$tmp/out")" "$_took_us" >>"$tmp/$1"
}

summary() {
    sort -n -k4,4 "$tmp/$1" | awk -v way="$1" -v all=$((ranks * lines)) -v ours="${2-0}" '
        { us[NR] = $4; if (NR == 1 || $1 < whole) whole = $1; if ($3 > wrong) wrong = $3 }
        END { speed = all / us[int((NR + 1) / 2)] * 1e6
              printf "%s\t%.4f\t%d\t%.0f\t%.2f\n", way, 100 * whole / all, wrong, speed, ours ? speed / ours : 1 }'
}

round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    for way in $ways; do one_turn "$way"; done
done
printf 'launcher\twhole_pct\tout_of_order\tlines_per_s\tratio\n'
ours=0
for way in $ways; do
    summary "$way" "$ours" | tee "$tmp/line"
    [ "$way" != hvdrun ] || ours=$(cut -f4 "$tmp/line")
done

# ---- a reader that has stopped ----

# Processes below PID that are not the ranks' own.
launchers_of() {
    echo "$1"
    for _child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
        [ "$(readlink "/proc/$_child/exe")" = "$(readlink -f "$program")" ] || launchers_of "$_child"
    done
}

memory_mib() {
    for _pid in $(launchers_of "$1"); do
        awk '/^VmRSS:/ { print $2 }' "/proc/$_pid/status" 2>/dev/null
    done | awk '{ sum += $1 } END { printf "%.1f", sum / 1024 }'
}

printf '\nlauncher\tstopped_reader_MiB\n'
for way in $ways; do
    mkfifo "$tmp/pipe"
    # shellcheck disable=SC2217  # it only holds the pipe open
    sleep $((seconds + 2)) <"$tmp/pipe" &
    reader=$!
    (launched "$way" "$program" 20000000 >"$tmp/pipe" 2>"$tmp/err" </dev/null) &
    job=$! worst=0 elapsed=0
    while [ $elapsed -lt $((seconds * 5)) ]; do
        sleep 0.2
        elapsed=$((elapsed + 1)) now=$(memory_mib $job)
        worst=$(printf '%s\n' "$worst" "$now" | sort -n | tail -n 1)
    done
    printf '%s\t%s\n' "$way" "$worst"
    for pid in $(launchers_of $job); do kill -KILL "$pid" 2>/dev/null; done
    kill $reader 2>/dev/null
    wait 2>/dev/null
    rm -f "$tmp/pipe"
    sleep 1 # ranks whose pipe is broken
done

# ---- output that cannot be written ----

# ended WAY SINK COMMAND...: the status of a launcher whose stdout is a full device, closed, or a reader that goes away.
ended() {
    (
        export way="$1" sink="$2"
        shift 2
        case $sink in
        full) exec >/dev/full ;;
        closed) exec >&- ;;
        head) exec >"$tmp/pipe" ;;
        esac
        launched "$way" "$@"
    )
}

printf '\nlauncher\tstdout\tstatus\n'
for way in $ways; do
    for sink in full closed head; do
        rm -f "$tmp/pipe" && mkfifo "$tmp/pipe"
        [ $sink != head ] || head -n 1 <"$tmp/pipe" >"$tmp/head" &
        ended "$way" "$sink" "$program" 20000 2>"$tmp/err" </dev/null &
        job=$! left=200
        while kill -0 $job 2>/dev/null && [ $left -gt 0 ]; do
            sleep 0.1
            left=$((left - 1))
        done
        status=never
        if [ $left -gt 0 ]; then
            status=0
            wait $job || status=$?
        else
            for pid in $(launchers_of $job); do kill -KILL "$pid" 2>/dev/null; done
        fi
        printf '%s\t%s\t%s\n' "$way" "$sink" "$status"
    done
done
