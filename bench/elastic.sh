#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An elastic job: from a change to the first collective of the next world, and what an elastic job costs without changes.
#
#   [BUILD=build] bench/elastic.sh [-n RANKS] [-H HOSTS] [-r ROUNDS] [-s STEPS] [-k KINDS] [-t] [-o]
#
# RANKS ranks (4) on this machine, ROUNDS rounds (5), STEPS steps of a world (2000). -H: on so many hosts that tests/testbed.sh makes
# (as root), with equally many ranks each. KINDS are words, "step loss" unless given: step (a fixed job beside an elastic one), loss
# (SIGKILL to a rank), and with -H, about the last host: cut (it vanishes from the network, with --heartbeat-timeout 2), appear (the
# discovery script names it) and drain (SIGTERM to its agent). -t: also the elastic agent of torchrun on this machine, by
# /usr/bin/python3 with PyTorch, which ends all ranks and starts them again; in PyTorch 1.13 it looks for a dead rank every 5 s, hence
# a second row where it looks every 0.1 s. -o: also bench/elastic_horovod.py, by the installed hvdrun on libhvd and by horovodrun on
# Horovod, whose ranks wait for a lost one until Gloo's timeout, hence a second row where it is 1 s; /usr/bin/python3 must find hvd and
# Horovod (PYTHONPATH). Prints a TSV: what, launcher, how many, median, least and most; changes in milliseconds;
# steps in microseconds, of which a round is a median already. What fails is shown and left out.
set -u
cd "$(dirname "$0")/.." || exit 1

ranks=4 hosts=0 rounds=5 steps=2000 kinds='step loss' torch='' horovod=''
while getopts n:H:r:s:k:to option; do
    case $option in
    n) ranks=$OPTARG ;;
    H) hosts=$OPTARG ;;
    r) rounds=$OPTARG ;;
    s) steps=$OPTARG ;;
    k) kinds=$OPTARG ;;
    t) torch=1 ;;
    o) horovod=1 ;;
    *) echo "usage: $0 [-n RANKS] [-H HOSTS] [-r ROUNDS] [-s STEPS] [-k KINDS] [-t] [-o]" >&2 && exit 2 ;;
    esac
done
build=${BUILD-build}
case $build in '' | /*) ;; *) build=$PWD/$build ;; esac
loss=${build:-$PWD/build}/bench/elastic_loss
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
list=localhost:$ranks on_host_0=

if [ "$hosts" -gt 0 ]; then
    # shellcheck disable=SC2034  # for testbed.sh
    TB_NAME=b$$ TB_SELF=$PWD/tests/testbed.sh
    . tests/testbed.sh
    tb_need || exit 1
    trap 'tb_down; rm -rf "$tmp"' EXIT
    trap 'exit 1' HUP INT TERM
    tb_up "$hosts" || exit 1
    each=$((ranks / hosts)) last=$((hosts - 1))
    list=$(seq -f "host%g:$each" -s , 0 $last)
    on_host_0="tb_exec 0"
fi

# take FILE WHAT COMMAND...: adds the number that the command has printed behind WHAT to the file.
take() {
    _file=$tmp/$1 _what=$2
    shift 2
    if ! grep -o "$_what [0-9.]*\$" "$tmp/out" | grep -o '[0-9.]*$' >>"$_file"; then
        echo "$0: no $_what of $*" >&2
        cat "$tmp/err" >&2
    fi
}

# measure FILE WHAT COMMAND...
measure() {
    _measured=$1 _number=$2
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    take "$_measured" "$_number" "$@"
}

# measure_hvdrun FILE WHAT DEATH OPTION...: a job of bench/elastic_loss.
measure_hvdrun() {
    _to=$1 _of=$2 _death=$3
    shift 3
    # shellcheck disable=SC2086  # words
    measure "$_to" "$_of" $on_host_0 "${build:+$build/}hvdrun" -np "$ranks" -H "$list" "$@" \
        "$loss" "$_death" "$steps"
}

# measure_change FILE CHANGE OPTION...: a job whose hosts the function CHANGE changes when the ranks have made their steps.
measure_change() {
    _to=$1 _change=$2
    shift 2
    : >"$tmp/out"
    # shellcheck disable=SC2086  # words
    $on_host_0 timeout 60 "${build:+$build/}hvdrun" --min-np 1 "$@" "$loss" "$tmp/then" "$steps" wait >"$tmp/out" 2>"$tmp/err" </dev/null &
    until grep -q 'step [0-9.]*$' "$tmp/out" || ! kill -0 $! 2>/dev/null; do
        sleep 0.02
    done
    "$loss" "$tmp/then" now
    "$_change"
    wait $!
    take "$_to" reset "$_change" "$@"
}

cut_last() {
    tb_cut "$last"
}

name_all() {
    seq -f "host%g:$each" 0 "$last" >"$tmp/hosts.new"
    mv "$tmp/hosts.new" "$tmp/hosts"
}

drain_last() {
    pkill -TERM -x hvdagent --ns "$(tb_pid "$last")" --nslist pid
}

# measure_kind KIND
measure_kind() {
    case $1 in
    step)
        measure_hvdrun fixed step -
        measure_hvdrun elastic step - --min-np 1
        ;;
    loss) measure_hvdrun loss reset "$tmp/then" --min-np 1 ;;
    cut)
        measure_change cut cut_last --heartbeat-timeout 2 -np "$ranks" -H "$list"
        tb_mend "$last"
        ;;
    appear)
        seq -f "host%g:$each" 0 $((last - 1)) >"$tmp/hosts"
        measure_change appear name_all -np $((ranks - each)) --host-discovery-script "cat '$tmp/hosts'"
        ;;
    drain) measure_change drain drain_last -np "$ranks" -H "$list" ;;
    esac
}

# measure_torchrun FILE SECONDS: a job of bench/elastic_torch.py, whose agent looks at its ranks so often. PyTorch 1.13 does not take
# its own default, "0", of --redirects and --tee with Python 3.11, hence the files for stderr.
measure_torchrun() {
    measure "$1" reset env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo timeout 60 /usr/bin/python3 -m torch.distributed.run --nnodes=1:1 \
        --nproc_per_node="$ranks" --max_restarts=1 --monitor_interval="$2" --rdzv_backend=c10d --rdzv_endpoint=localhost:0 \
        --redirects=2 --tee=2 --log_dir="$tmp/torch" bench/elastic_torch.py "$tmp/then" "$steps"
}

# measure_python FILE COMMAND...: a job of bench/elastic_horovod.py.
measure_python() {
    _job=$1
    shift
    measure "$_job" reset env OMP_NUM_THREADS=1 timeout 120 "$@" /usr/bin/python3 bench/elastic_horovod.py "$tmp/then" "$steps"
}

# measure_horovodrun FILE TIMEOUT: Gloo's timeout in seconds. A lost rank takes its host with it, and there must be two.
measure_horovodrun() {
    printf '#!/bin/sh\necho localhost:%d\necho 127.0.0.1:%d\n' $((ranks / 2)) $((ranks / 2)) >"$tmp/two_hosts"
    chmod +x "$tmp/two_hosts"
    measure_python "$1" env HOROVOD_GLOO_TIMEOUT_SECONDS="$2" /usr/bin/python3 -c \
        'from horovod.runner.launch import run_commandline; run_commandline()' \
        --gloo -np "$ranks" --min-np 1 --host-discovery-script "$tmp/two_hosts"
}

# row WHAT LAUNCHER FILE FACTOR
row() {
    sort -n "$tmp/$3" 2>/dev/null | awk -v what="$1" -v launcher="$2" -v factor="$4" '
        { value[NR] = $1 * factor }
        END {
            middle = (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2
            if (NR) printf "%s\t%s\t%d\t%.1f\t%.1f\t%.1f\n", what, launcher, NR, middle, value[1], value[NR]
        }'
}

round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    for kind in $kinds; do
        measure_kind "$kind"
    done
    [ -z "$torch" ] || measure_torchrun torch_5 5
    [ -z "$torch" ] || measure_torchrun torch_01 0.1
    [ -z "$horovod" ] || measure_python libhvd hvdrun --horovod libhvd -np "$ranks" --min-np 1 -H localhost:"$ranks"
    [ -z "$horovod" ] || measure_horovodrun horovod_30 30
    [ -z "$horovod" ] || measure_horovodrun horovod_1 1
done
printf 'what\tlauncher\tcount\tmedian\tleast\tmost\n'
row step hvdrun fixed 1
row step "hvdrun --min-np" elastic 1
for kind in loss cut appear drain; do
    row "$kind" "hvdrun --min-np" $kind 0.001
done
[ -z "$torch" ] || row loss torchrun torch_5 0.001
[ -z "$torch" ] || row loss "torchrun --monitor_interval=0.1" torch_01 0.001
[ -z "$horovod" ] || row loss "hvdrun --min-np --horovod libhvd" libhvd 0.001
[ -z "$horovod" ] || row loss horovodrun horovod_30 0.001
[ -z "$horovod" ] || row loss "horovodrun, HOROVOD_GLOO_TIMEOUT_SECONDS=1" horovod_1 0.001
