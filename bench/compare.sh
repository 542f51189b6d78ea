#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Allreduce of libhvd beside those of Open MPI and MPICH over TCP, in turn for several rounds in one go.
#
#   [BUILD=build] bench/compare.sh [-n RANKS] [-r ROUNDS] [-u] [-q SECONDS] [BYTES|resnet50...]
#
# Prints, as a TSV, the median over the rounds of what each peer told as its median, in microseconds, and libhvd's ratio to
# the best MPI. "unfused" is libhvd with HOROVOD_FUSION_THRESHOLD=0. BUILD is where "make" was run, or is empty for what is
# installed (hvdrun in PATH; the bench programs are still taken from ./build). A peer that is not installed is left out by name.
# Ranks are pinned to one core each, in turn; -u leaves all to the scheduler. On stderr it says how busy the machine was before
# each turn, and with -q SECONDS it waits so long at most until that is less than a tenth.
set -u
cd "$(dirname "$0")/.." || exit 1

ranks=2 rounds=5 pin=yes quiet_s=0
while getopts n:r:uq: option; do
    case $option in
    n) ranks=$OPTARG ;;
    r) rounds=$OPTARG ;;
    u) pin=no ;;
    q) quiet_s=$OPTARG ;;
    *) echo "usage: $0 [-n RANKS] [-r ROUNDS] [-u] [-q SECONDS] [BYTES|resnet50...]" >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 8 4096 65536 1048576 16777216 67108864 resnet50

build=${BUILD-build}
hvdrun=${build:+$build/src/}hvdrun
programs=${build:-build}/bench
cores=$(nproc)
limit_s=${LIMIT_S:-300}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# What this run compares: each runs one round and prints its samples.
sizes=
gradients=
for what; do
    case $what in
    resnet50) gradients=resnet50 ;;
    *) sizes="$sizes $what" ;;
    esac
done

# shellcheck disable=SC2016  # for the shell of each rank
start='exec taskset -c $((HOROVOD_LOCAL_RANK % '$cores')) "$@"'
bind=core
[ "$ranks" -le "$cores" ] || bind=core:overload-allowed
# shellcheck disable=SC2016
[ $pin = yes ] || start='exec "$@"' bind=none

ours() {
    timeout "$limit_s" "$hvdrun" -np "$ranks" sh -c "$start" sh "$@" >"$tmp/prefixed" || return
    sed -n 's/^\[0\]<stdout>://p' "$tmp/prefixed"
}
run_hvdrun() {
    # shellcheck disable=SC2086  # a list of words
    [ -z "$sizes" ] || ours "$programs/allreduce" 5 $sizes || return
    [ -z "$gradients" ] || ours "$programs/gradients" 3 different
}
run_unfused() {
    HOROVOD_FUSION_THRESHOLD=0 ours "$programs/gradients" 3 different >"$tmp/unfused" || return
    sed 's/^hvdrun/unfused/' "$tmp/unfused"
}
run_openmpi() {
    # shellcheck disable=SC2086
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout "$limit_s" mpirun.openmpi -np "$ranks" --oversubscribe \
        --bind-to $bind --mca btl self,tcp --mca pml ob1 "$tmp/openmpi" openmpi 5 $sizes $gradients
}
run_mpich() {
    # shellcheck disable=SC2086
    UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1 timeout "$limit_s" mpiexec.mpich -np "$ranks" -bind-to "${bind%%:*}" \
        "$tmp/mpich" mpich 5 $sizes $gradients
}

peers="hvdrun${gradients:+ unfused}"
for peer in openmpi mpich; do
    if ! command -v mpicc.$peer >/dev/null; then
        echo "left out: $peer, there is no mpicc.$peer" >&2
    elif mpicc.$peer -std=gnu11 -D_GNU_SOURCE -O2 -I. bench/mpi_allreduce.c bench/support/resnet50.c bench/support/sample.c \
        examples/models/*.c -o "$tmp/$peer"; then
        peers="$peers $peer"
    fi
done

. bench/support/quiet.sh

round=1
while [ "$round" -le "$rounds" ]; do
    for peer in $peers; do
        echo "round $round of $rounds: $peer ($(quiet "$quiet_s") % busy before)" >&2
        "run_$peer" >"$tmp/out" || echo "$peer failed, or took more than $limit_s s" >&2
        grep "^$peer" "$tmp/out" >>"$tmp/all"
    done
    round=$((round + 1))
done

sort -t "$(printf '\t')" -k2,2 -k4,4n -k1,1 -k5,5n "$tmp/all" | awk -F '\t' '
    function close_group() { if (n) { value = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2; report() } n = 0 }
    function report() {
        if (peer == "hvdrun") own[what] = value
        else if (peer != "unfused" && (!(what in best) || value < best[what])) best[what] = value
        if (!(what in seen)) { seen[what] = 1; order[++nwhat] = what }
        lines[what] = lines[what] peer "\t" what "\t" sprintf("%.2f", value) "\t" sprintf("%.2f", least) "\n"
    }
    BEGIN { print "peer\toperation\tranks\tbytes\tmedian_us\tmin_us" }
    { key = $1 "\t" $2 "\t" $4 }
    key != last { close_group(); last = key; peer = $1; what = $2 "\t" $3 "\t" $4; least = $6 }
    { v[++n] = $5; if ($6 < least) least = $6 }
    END {
        close_group()
        for (i = 1; i <= nwhat; i++) {
            what = order[i]
            printf "%s", lines[what]
            if ((what in own) && (what in best)) printf "ratio\t%s\t%.2f\n", what, own[what] / best[what]
        }
    }'
