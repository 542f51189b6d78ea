#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086,SC2154 # arguments and faults are lists of words; they come from elastic_scenarios.sh
#
# Horovod's elastic scenarios (tests/support/elastic_scenarios.sh) under several launchers.
#
#   [BUILD=build] [STOCK=PYTHON] [ONLY=PATTERN] bench/elastic_scenarios.sh [LAUNCHER...]
#
# LAUNCHERS are c (hvdrun and libhvd, of a build), python (hvdrun and hvd.numpy, with PYTHONPATH), stock (hvdrun and Horovod's own
# workers) and horovodrun (Horovod's own); c unless given. STOCK is a Python that imports horovod.torch. ONLY chooses
# scenarios by their sentences. Prints a TSV: scenario, launcher, status, seconds, worlds, sizes of the world at the end of each epoch,
# commits there (32 are all), and "yes" if the log is the expected one, else the log. A job that has not ended after 120 s is killed:
# status "hangs". The last lines on stderr of each job go to stderr.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/elastic_scenarios.sh

build=${BUILD-build} stock=${STOCK-python3} elastic_timeout=10
train=$PWD/tests/python/elastic_scenario.py
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# start_job ARGUMENT...: of the launcher and its options, with the worker behind them. horovodrun waits for a second host unless it
# is told the network interface.
start_job() {
    case $launcher in
    c) "${build:+$build/}hvdrun" $arguments "$build/tests/support/elastic_scenario" "$@" ;;
    python) "${build:+$build/}hvdrun" $arguments python3 "$train" hvd.numpy "$@" ;;
    stock) "${build:+$build/}hvdrun" $arguments $stock "$train" horovod.torch "$@" ;;
    horovodrun)
        $stock -c 'from horovod.runner.launch import run_commandline; run_commandline()' \
            --gloo --network-interface lo $arguments $stock "$train" horovod.torch "$@"
        ;;
    esac
}

# what_is_left: processes of the job, after which the next one must not start.
what_is_left() {
    grep -lsza "^HVD_SCENARIO=$tmp\$" /proc/[0-9]*/environ | cut -d/ -f3 | grep -vx $$
}

scenario() {
    printf '%s\n' "$1" | grep -Eq -e "${ONLY-.}" || return
    scenario_begin "$tmp"
    rm -f "$tmp/status"
    began=$(date +%s%N)
    (
        export HVD_SCENARIO="$tmp" OMP_NUM_THREADS=1
        start_job "$tmp/log" "$epochs" "$sizes" $faults >"$tmp/out" 2>"$tmp/err" </dev/null
        echo $? >"$tmp/status"
    ) &
    until [ -s "$tmp/status" ] || [ $((($(date +%s%N) - began) / 1000000000)) -ge 120 ]; do
        sleep 0.05
    done
    ended=$(date +%s%N) status=$(cat "$tmp/status" 2>/dev/null || echo hangs)
    # shellcheck disable=SC2046 # numbers
    kill -KILL $(what_is_left) 2>/dev/null
    wait 2>/dev/null
    scenario_log_is_expected "$tmp" && is_expected=yes || is_expected=$(paste -sd ';' "$tmp/log")
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$launcher" "$status" \
        "$(((ended - began) / 100000000 / 10)).$(((ended - began) / 100000000 % 10))" "$(tail -n 1 "$tmp/log" | cut -d' ' -f7)" \
        "$(cut -d' ' -f6 "$tmp/log" | tr '\n' ' ')" "$(tail -n 1 "$tmp/log" | cut -d' ' -f2)" "$is_expected"
    tail -n 3 "$tmp/err" | sed "s/^/$launcher, $1: /" >&2
}

printf 'scenario\tlauncher\tstatus\tseconds\tworlds\tsizes\tcommits\texpected\n'
for launcher in "${@:-c}"; do
    [ "$launcher:$build" != c: ] || { echo "$0: launcher c needs a build, and BUILD is empty" >&2; exit 2; }
    scenarios scenario
done
